//! The server that the conformance suite tests: `conformance_server [stdio | ADDR] [REVISION]`,
//! in all revisions unless one is named.

use carrick::proto::revision::Revision;
use carrick::transport::http::HttpServer;
use carrick::transport::{LineTransport, stdio};
use carrick_testkit::conformance;
use std::error::Error;

#[expect(clippy::print_stderr, reason = "says where it listens")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    const USAGE: &str = "usage: conformance_server [stdio | ADDR] [REVISION]";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (place, revisions) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => ("stdio", Revision::ALL.to_vec()),
        [place] => (place, Revision::ALL.to_vec()),
        [place, date] => (place, vec![Revision::from_date(date).ok_or(USAGE)?]),
        _ => return Err(USAGE.into()),
    };
    let server = conformance::server(revisions);
    match place {
        "stdio" => {
            let (input, output) = stdio::take()?;
            carrick::serve(&server, LineTransport::new(input, output)).await?;
        }
        address => {
            let http = HttpServer::bind(server, address.parse()?, Default::default()).await?;
            eprintln!("listening on http://{}/mcp", http.local_addr());
            http.serve(std::future::pending()).await?;
        }
    }
    Ok(())
}
