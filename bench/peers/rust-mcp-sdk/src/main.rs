//! An echo server on rust-mcp-sdk, which knows only the newest revision.
//!
//! - `stdio`, `http ADDRESS`: as its README writes it. Answers over HTTP are event streams.
//! - `stdio-tuned`, `http-tuned ADDRESS`: on a single thread; over HTTP plain JSON, and
//!   without the older kind of transport beside it.

use std::sync::Arc;

use async_trait::async_trait;
use rust_mcp_axum::{AxumServerOptions, create_axum_server};
use rust_mcp_sdk::mcp_server::{McpServerOptions, ServerHandler, server_runtime};
use rust_mcp_sdk::schema::{
    CallToolError, CallToolRequestParams, CallToolResult, Implementation, ListToolsResult,
    ListToolsResultCacheScope, PaginatedRequestParams, RpcError, ServerCapabilities,
    ServerCapabilitiesTools, ServerResult, TextContent,
};
use rust_mcp_sdk::{
    McpServer, RequestContext, ServerDetails, StdioTransport, ToMcpServerHandler as _,
    TransportOptions, macros,
};
use serde_json::Value;
use tokio::runtime::Builder;

/// Room for the largest echo, with what JSON adds.
const BODY_BYTES: usize = 16 << 20;

/// What its own results say of themselves.
const COMPLETE: &str = "complete";

#[macros::mcp_tool(name = "echo", description = "Echo the message back")]
#[derive(Debug, serde::Deserialize, serde::Serialize, macros::JsonSchema)]
struct Echo {
    message: String,
}

struct Handler;

#[async_trait]
impl ServerHandler for Handler {
    async fn handle_list_tools_request(
        &self,
        _: Option<PaginatedRequestParams>,
        _: &RequestContext,
        _: Arc<dyn McpServer>,
    ) -> Result<ListToolsResult, RpcError> {
        Ok(ListToolsResult {
            tools: vec![Echo::tool()],
            cache_scope: ListToolsResultCacheScope::Private,
            result_type: COMPLETE.to_owned(),
            ttl_ms: 0,
            meta: None,
            next_cursor: None,
        })
    }

    async fn handle_call_tool_request(
        &self,
        call: CallToolRequestParams,
        _: &RequestContext,
        _: Arc<dyn McpServer>,
    ) -> Result<ServerResult, CallToolError> {
        if call.name != Echo::tool_name() {
            return Err(CallToolError::unknown_tool(call.name));
        }
        let arguments = Value::Object(call.arguments.unwrap_or_default());
        let Echo { message } = serde_json::from_value(arguments).map_err(CallToolError::new)?;
        Ok(ServerResult::CallToolResult(CallToolResult {
            content: vec![TextContent::new(message, None, None).into()],
            result_type: COMPLETE.to_owned(),
            is_error: None,
            meta: None,
            structured_content: None,
        }))
    }
}

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_tuned = arguments.first().is_some_and(|mode| mode.ends_with("-tuned"));
    let mut runtime =
        if is_tuned { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    runtime.enable_all().build()?.block_on(run(&arguments))
}

async fn run(arguments: &[&str]) -> Result<(), Failure> {
    match *arguments {
        ["stdio" | "stdio-tuned"] => {
            let options = McpServerOptions {
                server_details: details(),
                transport: StdioTransport::new(TransportOptions::default())?,
                handler: Handler.to_mcp_server_handler(),
                message_observer: None,
            };
            server_runtime::create_server(options).start().await?;
        }
        ["http", address] => serve(address, AxumServerOptions::default()).await?,
        ["http-tuned", address] => {
            let options = AxumServerOptions {
                enable_json_response: Some(true),
                sse_support: false,
                ..AxumServerOptions::default()
            };
            serve(address, options).await?;
        }
        _ => {
            return Err("usage: peer-rust-mcp-sdk stdio | stdio-tuned | http ADDRESS | \
                        http-tuned ADDRESS"
                .into());
        }
    }
    Ok(())
}

async fn serve(address: &str, options: AxumServerOptions) -> Result<(), Failure> {
    let (host, port) = address.rsplit_once(':').ok_or("ADDRESS is HOST:PORT")?;
    let options = AxumServerOptions {
        host: host.to_owned(),
        port: port.parse()?,
        max_request_body_size: Some(BODY_BYTES),
        ..options
    };
    create_axum_server(details(), Handler.to_mcp_server_handler(), options).start().await?;
    Ok(())
}

fn details() -> ServerDetails {
    ServerDetails {
        server_info: Implementation {
            name: "peer-rust-mcp-sdk".to_owned(),
            version: "0.0.0".to_owned(),
            title: None,
            description: None,
            icons: Vec::new(),
            website_url: None,
        },
        capabilities: ServerCapabilities {
            tools: Some(ServerCapabilitiesTools { list_changed: None }),
            ..ServerCapabilities::default()
        },
        instructions: None,
        meta: None,
    }
}
