//! The limit of a gateway over HTTP: a proxy on hyper that reads no JSON.
//! `bare-proxy ADDRESS http://UPSTREAM`, on one thread.

use std::io;
use std::net::SocketAddr;

use hyper::body::Incoming;
use hyper::header::HOST;
use hyper::http::uri::{Authority, Scheme};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::{TcpListener, TcpStream};

type Upstream = Client<HttpConnector, Incoming>;

fn main() -> io::Result<()> {
    let usage = || io::Error::other("usage: bare-proxy ADDRESS http://UPSTREAM");
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().and_then(|text| text.parse::<SocketAddr>().ok());
    let upstream = arguments.next().and_then(|text| text.parse::<Uri>().ok());
    let (address, upstream) = address.zip(upstream).ok_or_else(usage)?;
    let authority = upstream.authority().ok_or_else(usage)?.clone();
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build()?.block_on(async move {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        let client: Upstream = Client::builder(TokioExecutor::new()).build(connector);
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(serve(stream, client.clone(), authority.clone()));
        }
    })
}

async fn serve(stream: TcpStream, client: Upstream, authority: Authority) {
    let service = service_fn(move |request| client.request(redirected(request, &authority)));
    // A client that goes away in the middle concerns nobody here.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// The same request to another host.
fn redirected(mut request: Request<Incoming>, authority: &Authority) -> Request<Incoming> {
    let mut parts = std::mem::take(request.uri_mut()).into_parts();
    parts.scheme = Some(Scheme::HTTP);
    parts.authority = Some(authority.clone());
    *request.uri_mut() = Uri::from_parts(parts).unwrap_or_default();
    request.headers_mut().remove(HOST);
    request
}
