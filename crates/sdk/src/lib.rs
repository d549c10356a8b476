//! Carrick's SDK: Model Context Protocol servers and clients for every
//! revision and transport.
//!
//! A server is written as functions:
//!
//! ```
//! use carrick::{Server, ToolError, tool, tools};
//!
//! /// Adds two numbers.
//! #[tool]
//! async fn add(a: i64, #[default(1)] b: i64) -> Result<String, ToolError> {
//!     a.checked_add(b).map(|sum| sum.to_string()).ok_or(ToolError::new("the sum is too large"))
//! }
//!
//! let server = Server::builder("calculator", "1.0.0").tools(tools![add]).build();
//! assert_eq!(server.tools().len(), 1);
//! ```
//!
//! and served with [`serve`] over any [`transport::Transport`]. The other side
//! is [`Client`].

// The macros name the crate by its public name, in its own tests too.
#[cfg(test)]
extern crate self as carrick;

pub mod client;
#[cfg(test)]
mod counted;
mod drive;
pub mod net;
mod open_files;
pub mod server;
mod tally;
pub mod transport;
#[cfg(feature = "validate")]
pub mod validate;

pub use carrick_macros::{prompt, resource, tool};
pub use carrick_proto as proto;
pub use carrick_proto::types;
pub use client::Client;
// Types of it stand in what handlers are given.
pub use http;

pub use drive::{ServeError, ServeOptions, serve, serve_until, serve_with};
pub use open_files::raise_open_file_limit;
pub use server::{Args, Context, Server, State, ToolError};

// The code in the pages for readers is compiled with the rest.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/server-guide.md")]
    struct ServerGuide;
    #[doc = include_str!("../../../docs/client-guide.md")]
    struct ClientGuide;
}

// What the macros name, so that their users need no such dependencies.
#[doc(hidden)]
pub use {schemars, serde};
