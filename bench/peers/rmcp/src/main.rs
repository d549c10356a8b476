//! An echo server on rmcp, as its documentation has it and at its best.
//!
//! - `stdio`, `http ADDRESS`: as the README and the examples write it. HTTP has sessions
//!   and answers as event streams.
//! - `stdio-tuned`, `http-tuned ADDRESS`: all that its options allow. A single thread,
//!   non-blocking pipes, a tool router that is kept instead of made anew for every call; over
//!   HTTP plain JSON, no sessions and no delay for small packets.

use std::sync::Arc;

use axum::serve::ListenerExt as _;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::io::stdio_pipes;
use rmcp::transport::stdio;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt as _, schemars, tool, tool_handler, tool_router};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

#[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
struct EchoArguments {
    message: String,
}

/// As in the examples.
#[derive(Debug, Clone)]
struct Echo;

#[tool_router(server_handler)]
impl Echo {
    #[tool(description = "Echo the message back")]
    fn echo(&self, Parameters(EchoArguments { message }): Parameters<EchoArguments>) -> String {
        message
    }
}

/// With a router that is kept.
#[derive(Clone)]
struct Tuned(Arc<ToolRouter<Tuned>>);

#[tool_router]
impl Tuned {
    #[tool(description = "Echo the message back")]
    fn echo(&self, Parameters(EchoArguments { message }): Parameters<EchoArguments>) -> String {
        message
    }
}

#[tool_handler(router = self.0)]
impl ServerHandler for Tuned {}

impl Tuned {
    fn new() -> Tuned {
        Tuned(Arc::new(Tuned::tool_router()))
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let (mode, address) = (arguments.next().unwrap_or_default(), arguments.next());
    let is_tuned = mode.ends_with("-tuned");
    let mut runtime =
        if is_tuned { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    runtime.enable_all().build()?.block_on(run(&mode, address))
}

async fn run(mode: &str, address: Option<String>) -> Result<(), Failure> {
    match (mode, address) {
        ("stdio", None) => drop(Echo.serve(stdio()).await?.waiting().await?),
        ("stdio-tuned", None) => drop(Tuned::new().serve(stdio_pipes()).await?.waiting().await?),
        ("http", Some(address)) => {
            let service = StreamableHttpService::new(
                || Ok(Echo),
                sessions().into(),
                StreamableHttpServerConfig::default(),
            );
            let router = axum::Router::new().nest_service("/mcp", service);
            axum::serve(TcpListener::bind(address).await?, router).await?;
        }
        ("http-tuned", Some(address)) => {
            let config = StreamableHttpServerConfig::default()
                .with_json_response(true)
                .with_legacy_session_mode(false);
            let server = Tuned::new();
            let service =
                StreamableHttpService::new(move || Ok(server.clone()), sessions().into(), config);
            let router = axum::Router::new().nest_service("/mcp", service);
            let listener =
                TcpListener::bind(address).await?.tap_io(|stream| drop(stream.set_nodelay(true)));
            axum::serve(listener, router).await?;
        }
        _ => {
            return Err(
                "usage: peer-rmcp stdio | stdio-tuned | http ADDRESS | http-tuned ADDRESS".into()
            );
        }
    }
    Ok(())
}

/// Sessions that never expire, so that idle ones can be measured.
fn sessions() -> LocalSessionManager {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = None;
    sessions
}
