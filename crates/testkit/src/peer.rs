//! The servers of this crate as one program: what tests configure as child servers.
//!
//! | arguments | what is served |
//! |---|---|
//! | `fixture` | [`crate::fixture`] on stdin and stdout |
//! | `fixture http ADDR` | the same over Streamable HTTP; says where on stderr |
//! | `crossing REVISION` | [`crate::crossing`] on stdin and stdout, in one revision |
//! | `docs` | [`docs`](crate::fixture::docs) on stdin and stdout |
//! | `weather` | [`crate::weather`] on stdin and stdout |
//! | `faulty FAULT …` | [`crate::faulty`], a server that misbehaves |

use crate::{crossing, faulty, fixture, weather};
use carrick::Server;
use carrick::transport::http::HttpServer;
use carrick::transport::{LineTransport, stdio};
use std::error::Error;
use std::process::ExitCode;

/// Runs the program with these arguments, without its own name.
///
/// # Errors
/// When the arguments name no server, or it cannot be served.
pub fn main(arguments: &[String]) -> Result<ExitCode, Box<dyn Error>> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["fixture"] => run(on_stdio(&fixture::server())),
        ["fixture", "http", address] => run(on_http(fixture::server(), address)),
        ["crossing", date] => {
            let server = crossing::server(crossing::revision(date)?);
            run(on_stdio(&server))
        }
        ["docs"] => run(on_stdio(&fixture::docs())),
        ["weather"] => run(on_stdio(&weather::server())),
        ["faulty", fault, ref rest @ ..] => Ok(faulty::run(fault.parse()?, rest)?),
        _ => Err(format!("no such server: {words:?}").into()),
    }
}

fn run(
    served: impl Future<Output = Result<(), Box<dyn Error>>>,
) -> Result<ExitCode, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(served)?;
    Ok(ExitCode::SUCCESS)
}

async fn on_stdio(server: &Server) -> Result<(), Box<dyn Error>> {
    let (input, output) = stdio::take()?;
    carrick::serve(server, LineTransport::new(input, output)).await?;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "says where it listens")]
async fn on_http(server: Server, address: &str) -> Result<(), Box<dyn Error>> {
    let http = HttpServer::bind(server, address.parse()?, Default::default()).await?;
    eprintln!("listening on http://{}/mcp", http.local_addr());
    http.serve(std::future::pending()).await?;
    Ok(())
}
