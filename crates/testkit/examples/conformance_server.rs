//! The server that the conformance suite tests: `conformance_server [stdio | ADDR]`.

use carrick::transport::http::HttpServer;
use carrick::transport::{LineTransport, stdio};
use carrick_testkit::conformance;
use std::error::Error;

#[expect(clippy::print_stderr, reason = "says where it listens")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let server = conformance::server();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["stdio"] | [] => {
            let (input, output) = stdio::take()?;
            carrick::serve(&server, LineTransport::new(input, output)).await?;
        }
        [address] => {
            let http = HttpServer::bind(server, address.parse()?, Default::default()).await?;
            eprintln!("listening on http://{}/mcp", http.local_addr());
            http.serve(std::future::pending()).await?;
        }
        _ => return Err("usage: conformance_server [stdio | ADDR]".into()),
    }
    Ok(())
}
