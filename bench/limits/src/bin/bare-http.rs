//! The limit over HTTP: hyper and the same parse. `bare-http ADDRESS` has one thread,
//! `bare-http ADDRESS mt` tokio's own number; options as `bare-stdio` has them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use limits::{Answers, Kind};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;

static SESSIONS: AtomicU64 = AtomicU64::new(0);

fn main() -> io::Result<()> {
    let arguments = limits::CommandLine::read()?;
    let answers: &'static Answers = Box::leak(Box::new(arguments.answers()?));
    let address = arguments.words.first().and_then(|text| text.parse::<SocketAddr>().ok());
    let usage = "usage: bare-http ADDRESS [mt] [--only legacy|modern] [--tools FILE]";
    let address = address.ok_or_else(|| io::Error::other(usage))?;
    let mut runtime = if arguments.words.get(1).is_some_and(|word| word == "mt") {
        Builder::new_multi_thread()
    } else {
        Builder::new_current_thread()
    };
    runtime.enable_all().build()?.block_on(async move {
        let listener = TcpListener::bind(address).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(serve(answers, stream));
        }
    })
}

async fn serve(answers: &'static Answers, stream: TcpStream) {
    let service = service_fn(|request| respond(answers, request));
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // A client that goes away in the middle concerns nobody here.
    let _ = connection.await;
}

async fn respond(
    answers: &Answers,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    if request.method() != Method::POST {
        return Ok(empty(StatusCode::METHOD_NOT_ALLOWED));
    }
    let Ok(body) = request.into_body().collect().await else {
        return Ok(empty(StatusCode::BAD_REQUEST));
    };
    let body = body.to_bytes();
    let mut out = Vec::with_capacity(body.len() + 128);
    let kind = answers.answer(&body, &mut out);
    if kind == Kind::Notification {
        return Ok(empty(StatusCode::ACCEPTED));
    }
    let mut response = Response::new(Full::new(Bytes::from(out)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if kind == Kind::Refused {
        *response.status_mut() = StatusCode::BAD_REQUEST;
    }
    if kind == Kind::Initialize {
        let number = SESSIONS.fetch_add(1, Ordering::Relaxed);
        if let Ok(session) = HeaderValue::from_str(&format!("session-{number:032x}")) {
            response.headers_mut().insert("mcp-session-id", session);
        }
    }
    Ok(response)
}

fn empty(status: StatusCode) -> Response<Full<Bytes>> {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}
