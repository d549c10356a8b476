//! An echo server on turbomcp.
//!
//! - `stdio`, `http ADDRESS`: as its README writes it.
//! - `stdio-tuned`, `http-tuned ADDRESS`: the same on a single thread. It has no option of
//!   its own that would make a call cheaper.

use tokio::runtime::Builder;
use turbomcp::http::{HttpConfig, ServeHttp as _};
use turbomcp::prelude::*;

/// Room for the largest echo, with what JSON adds.
const BODY_BYTES: usize = 16 << 20;

#[derive(Clone)]
struct Echo;

#[server(name = "peer-turbomcp", version = "0.0.0")]
impl Echo {
    #[tool(description = "Echo the message back")]
    async fn echo(&self, message: String) -> McpResult<String> {
        Ok(message)
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
        ["stdio" | "stdio-tuned"] => Echo.run_stdio().await?,
        ["http" | "http-tuned", address] => {
            let config = HttpConfig::new().max_body_bytes(BODY_BYTES);
            Echo.into_server().run_http(address.parse()?, config).await?;
        }
        _ => {
            return Err(
                "usage: peer-turbomcp stdio | stdio-tuned | http ADDRESS | http-tuned ADDRESS"
                    .into(),
            );
        }
    }
    Ok(())
}
