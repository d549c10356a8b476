//! The echo server that benches measure: `echo stdio` or `echo http ADDR`.

use carrick::transport::http::{HttpServer, HttpServerOptions};
use carrick::transport::{LineTransport, stdio};
use carrick::{Server, tool, tools};
use std::error::Error;

/// Echo the message back
#[tool]
async fn echo(message: String) -> String {
    message
}

#[expect(clippy::print_stderr, reason = "says where it listens")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::builder("echo", "1.0.0").tools(tools![echo]).build();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] | [] => {
            let (input, output) = stdio::take()?;
            carrick::serve(&server, LineTransport::new(input, output)).await?;
        }
        ["http", address] => {
            let mut options = HttpServerOptions::default();
            // As many as a benchmark wants to leave idle.
            options.max_sessions = 1 << 20;
            let http = HttpServer::bind(server, address.parse()?, options).await?;
            eprintln!("listening on http://{}/mcp", http.local_addr());
            http.serve(std::future::pending()).await?;
        }
        _ => return Err("usage: echo [stdio | http ADDR]".into()),
    }
    Ok(())
}
