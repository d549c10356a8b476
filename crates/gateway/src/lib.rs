//! A gateway: one MCP server offered to clients of any revision.
//!
//! [`Gateway`] is a [`Service`](carrick::server::Service), so that the drivers
//! that serve a [`carrick::Server`] serve it too. Between a client and a server
//! of one revision messages pass as the bytes they came as, but for ids and
//! progress tokens; between revisions they are translated, and what one era
//! says by requests of the server's the other says by rounds of questions.
//! What that costs, feature by feature, is in [`fidelity`].

mod asks;
mod bridge;
mod call;
mod error;
pub mod fidelity;
mod front;
mod gateway;
mod identity;
mod line;
mod options;
mod pace;
mod pool;
mod rounds;
mod session;
mod shared;
mod upstream;
mod watch;

pub use gateway::Gateway;
pub use options::GatewayOptions;
pub use upstream::{ConnectError, Upstream};
