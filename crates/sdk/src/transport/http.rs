//! Streamable HTTP, client and server side, with sessions and without
//! (`basic/transports/streamable-http`).
//!
//! ```no_run
//! # async fn run(server: carrick::Server) -> std::io::Result<()> {
//! use carrick::transport::http::{HttpServer, HttpServerOptions};
//!
//! let address = ([127, 0, 0, 1], 8000).into();
//! let http = HttpServer::bind(server, address, HttpServerOptions::default()).await?;
//! println!("http://{}/mcp", http.local_addr());
//! http.serve(std::future::pending()).await
//! # }
//! ```

mod client;
mod header;
mod server;

pub use client::{Form, HttpOptions, HttpTransport, HttpTransportError, Retry};
pub use server::{
    Denied, EventLimits, EventStore, HttpServer, HttpServerOptions, Identify, MemoryEventStore,
    ReplayError, StoredEvent, StreamKey,
};
#[cfg(feature = "event-store-sqlite")]
pub use server::{SqliteEventStore, SqliteStoreError};

pub use carrick_proto::http::{AccessRules, Hosts};
