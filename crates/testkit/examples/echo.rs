//! The echo server that benches measure: `echo [stdio | http ADDR] [--tools N] [--events]`.
//!
//! `--tools` makes it offer so many tools, all of which echo; the first is `echo`, the others are
//! `echo_00001` and so on. `--events` adds `echo_events`, which reports progress before it
//! answers: to a client that asked for progress its answer comes as an event stream.

use carrick::server::Tool;
use carrick::transport::http::{HttpServer, HttpServerOptions};
use carrick::transport::{LineTransport, stdio};
use carrick::{Args, Context, Server, tool, tools};
use std::error::Error;

/// The largest message taken, so that texts of 64 MiB can be measured too.
const LARGEST: usize = 256 << 20;

/// Echo the message back
#[tool]
async fn echo(message: String) -> String {
    message
}

/// Echo the message back, after a report of progress
#[tool]
async fn echo_events(message: String, context: Context) -> String {
    context.progress(1.0, None, None);
    message
}

/// The arguments of the further tools.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Echo {
    message: String,
}

/// The tools behind the first.
fn further(count: usize) -> impl Iterator<Item = Tool> {
    let echo = |Args(Echo { message }): Args<Echo>| async move { message };
    (1..count).map(move |number| {
        Tool::new(format!("echo_{number:05}"), echo).description("Echo the message back")
    })
}

#[expect(clippy::print_stderr, reason = "says where it listens")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut server = Server::builder("echo", "1.0.0").tools(tools![echo]);
    let mut words = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--tools" => {
                let count = arguments.next().ok_or("--tools needs a number")?;
                server = server.tools(further(count.parse()?));
            }
            "--events" => server = server.tools(tools![echo_events]),
            _ => words.push(argument),
        }
    }
    let server = server.build();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] | [] => {
            let (input, output) = stdio::take()?;
            carrick::serve(&server, LineTransport::new(input, output).limit(LARGEST)).await?;
        }
        ["http", address] => {
            let mut options = HttpServerOptions::default();
            // As many as a benchmark wants to leave idle.
            options.max_sessions = 1 << 20;
            options.max_body_bytes = LARGEST;
            let http = HttpServer::bind(server, address.parse()?, options).await?;
            eprintln!("listening on http://{}/mcp", http.local_addr());
            http.serve(std::future::pending()).await?;
        }
        _ => return Err("usage: echo [stdio | http ADDR] [--tools N] [--events]".into()),
    }
    Ok(())
}
