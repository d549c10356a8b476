//! An echo server on tower-mcp, and a gateway made of its `McpProxy`.
//!
//! - `stdio`, `http ADDRESS`: as its README writes it. Its pipes are non-blocking and its
//!   answers over HTTP plain JSON by themselves.
//! - `stdio-tuned`, `http-tuned ADDRESS`: the same on a single thread, which its guide to
//!   local runtimes describes.
//! - `proxy ADDRESS URL`, `proxy-tuned ADDRESS URL`: one server behind it, whose tools get the
//!   prefix `b_`; tuned, on a single thread.

use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Builder;
use tower_mcp::client::HttpClientTransport;
use tower_mcp::proxy::McpProxy;
use tower_mcp::{BoxError, CallToolResult, HttpTransport, McpRouter, StdioTransport, ToolBuilder};

/// So that idle sessions can be measured.
const SESSIONS: usize = 1 << 20;
/// Room for the largest echo, with what JSON adds.
const BODY_BYTES: usize = 16 << 20;

#[derive(Debug, Deserialize, JsonSchema)]
struct EchoArguments {
    message: String,
}

fn main() -> Result<(), BoxError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_tuned = arguments.first().is_some_and(|mode| mode.ends_with("-tuned"));
    let mut runtime =
        if is_tuned { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    runtime.enable_all().build()?.block_on(run(&arguments))
}

async fn run(arguments: &[&str]) -> Result<(), BoxError> {
    match *arguments {
        ["stdio" | "stdio-tuned"] => StdioTransport::new(router()).run().await?,
        ["http" | "http-tuned", address] => {
            serve(HttpTransport::new(router()), address).await?;
        }
        ["proxy" | "proxy-tuned", address, url] => {
            let proxy = McpProxy::builder("proxy-tower-mcp", "0.0.0")
                .backend("b", HttpClientTransport::new(url))
                .await
                .build_strict()
                .await?;
            serve(HttpTransport::from_service(proxy), address).await?;
        }
        _ => {
            return Err("usage: peer-tower-mcp stdio | stdio-tuned | http ADDRESS | \
                        http-tuned ADDRESS | proxy ADDRESS URL | proxy-tuned ADDRESS URL"
                .into());
        }
    }
    Ok(())
}

fn router() -> McpRouter {
    let echo = ToolBuilder::new("echo")
        .description("Echo the message back")
        .handler(|arguments: EchoArguments| async { Ok(CallToolResult::text(arguments.message)) })
        .build();
    McpRouter::new().server_info("peer-tower-mcp", "0.0.0").tool(echo)
}

async fn serve(transport: HttpTransport, address: &str) -> Result<(), BoxError> {
    transport.max_sessions(SESSIONS).max_body_size(BODY_BYTES).serve(address).await?;
    Ok(())
}
