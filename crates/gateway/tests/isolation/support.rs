//! The gateway under test, and the addresses at which it is reached.

use carrick::net::{HttpClient, Options};
use carrick::server::Service;
use carrick::transport::http::{HttpServer, HttpServerOptions};
use carrick::types::Implementation;
use carrick_gateway::{Gateway, GatewayOptions, Sharing, Upstream};
use std::time::Duration;

/// After this long nothing waits any more.
pub(crate) const LONGEST: Duration = Duration::from_secs(120);

/// A gateway whose bounds are low, so that cases come to them.
pub(crate) async fn gateway(upstream: impl Upstream, sharing: Sharing) -> Gateway {
    let mut options = GatewayOptions::new(Implementation::new("gateway", "1"));
    options.call.timeout = LONGEST / 2;
    options.call.max_total = LONGEST;
    options.parked.lifetime = LONGEST / 4;
    options.sharing = sharing;
    options.max_processes = 6;
    options.max_sessions = 6;
    options.session_idle = LONGEST / 2;
    options.owner_idle = LONGEST / 2;
    options.wait = Duration::from_secs(5);
    Gateway::open(upstream, options).await.unwrap()
}

pub(crate) async fn listen(service: impl Service) -> String {
    let options = HttpServerOptions::default();
    let http = HttpServer::bind(service, ([127, 0, 0, 1], 0).into(), options).await.unwrap();
    let url = format!("http://{}/mcp", http.local_addr());
    tokio::spawn(http.serve(std::future::pending()));
    url
}

pub(crate) fn http_client() -> HttpClient {
    HttpClient::new(Options::default())
}
