//! The plainest gateway that rmcp can make: its server in front, its client behind.
//!
//! - `http ADDRESS URL`: as its documentation writes both sides. HTTP has sessions and
//!   answers as event streams, and the client opens a connection for every call.
//! - `http-tuned ADDRESS URL`: in front plain JSON, no sessions and no delay for small
//!   packets; behind a client that keeps its connections. On a single thread.

use std::sync::Arc;

use axum::serve::ListenerExt as _;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientConfig, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleClient, RoleServer, ServerHandler, ServiceExt as _};
use tokio::net::TcpListener;
use tokio::runtime::Builder;

/// Hands every request to the client.
#[derive(Clone)]
struct Proxy(Arc<RunningService<RoleClient, ClientConfig>>);

impl ServerHandler for Proxy {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        self.0.list_tools(request).await.map_err(passed_on)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(self.0.call_tool(request).await.map_err(passed_on)?.into())
    }
}

/// A server's own refusals go through as they are.
fn passed_on(error: ServiceError) -> ErrorData {
    match error {
        ServiceError::McpError(refusal) => refusal,
        other => ErrorData::internal_error(other.to_string(), None),
    }
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["http", address, url] => {
            Builder::new_multi_thread().enable_all().build()?.block_on(plain(address, url))
        }
        ["http-tuned", address, url] => {
            Builder::new_current_thread().enable_all().build()?.block_on(tuned(address, url))
        }
        _ => Err("usage: proxy-rmcp http ADDRESS URL | http-tuned ADDRESS URL".into()),
    }
}

async fn plain(address: &str, url: &str) -> Result<(), Failure> {
    let behind = StreamableHttpClientTransport::from_uri(url);
    let proxy = Proxy(Arc::new(ClientConfig::default().serve(behind).await?));
    let router = router(proxy, StreamableHttpServerConfig::default());
    Ok(axum::serve(TcpListener::bind(address).await?, router).await?)
}

async fn tuned(address: &str, url: &str) -> Result<(), Failure> {
    let behind = StreamableHttpClientTransport::with_client(
        reqwest::Client::new(),
        StreamableHttpClientTransportConfig::with_uri(url),
    );
    let proxy = Proxy(Arc::new(ClientConfig::default().serve(behind).await?));
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_legacy_session_mode(false);
    let listener =
        TcpListener::bind(address).await?.tap_io(|stream| drop(stream.set_nodelay(true)));
    Ok(axum::serve(listener, router(proxy, config)).await?)
}

fn router(proxy: Proxy, config: StreamableHttpServerConfig) -> axum::Router {
    let sessions = LocalSessionManager::default();
    let service = StreamableHttpService::new(move || Ok(proxy.clone()), sessions.into(), config);
    axum::Router::new().nest_service("/mcp", service)
}
