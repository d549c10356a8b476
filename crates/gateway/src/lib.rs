//! A gateway: one MCP server offered to clients of any revision.
//!
//! [`Gateway`] is a [`Service`](carrick::server::Service), so that the drivers
//! that serve a [`carrick::Server`] serve it too. Between a client and a server
//! of one revision messages pass as the bytes they came as, but for ids and
//! progress tokens; between revisions they are translated, and what one era
//! says by requests of the server's the other says by rounds of questions.
//! What that costs, feature by feature, is in [`fidelity`].
//!
//! What one client sent, was asked or answered never reaches another: each
//! connection to a server of sessions has an owner, and carries nothing of
//! anybody else's.

mod backend;
mod error;
pub mod fidelity;
mod options;
mod questions;
mod router;
mod upstream;

pub use carrick::client::managed::{ConnectError, Connector};
pub use options::{GatewayOptions, Sharing};
pub use router::Gateway;
pub use upstream::Upstream;
