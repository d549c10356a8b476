//! Ending in good order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use carrick::transport::http::{HttpServer, HttpServerOptions};
use carrick::{Context, Server, State, tool, tools};
use tokio::sync::{Notify, oneshot, watch};

use crate::legacy::{call, open};
use crate::raw::*;

#[derive(Default)]
struct Gate {
    started: Notify,
    open: Notify,
}

/// Waits for the test.
#[tool]
async fn gated(gate: State<Arc<Gate>>) -> String {
    gate.started.notify_one();
    gate.open.notified().await;
    "finished".into()
}

async fn bind(gate: &Arc<Gate>, grace: Duration) -> HttpServer {
    let server = Server::builder("g", "1").state(Arc::clone(gate)).tools(tools![gated]).build();
    let mut options = HttpServerOptions::default();
    options.grace = grace;
    HttpServer::bind(server, ([127, 0, 0, 1], 0).into(), options).await.unwrap()
}

#[tokio::test]
async fn d130_calls_finish_and_streams_end() {
    let gate = Arc::new(Gate::default());
    let server = bind(&gate, Duration::from_secs(3600)).await;
    let address = server.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(async {
        drop(stopped.await);
    }));

    let initialize = format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{LEGACY}"}}}}"#
    );
    let answer = exchange(address, request("POST", address, &[], &initialize)).await;
    let session = format!("Mcp-Session-Id: {}", answer.headers["mcp-session-id"]);
    let mut listener = Wire::open(address).await;
    let get = request("GET", address, &[&session, "Accept: text/event-stream"], "");
    listener.write(get).await;
    listener.head().await;
    listener.event().await.unwrap();

    let mut caller = Wire::open(address).await;
    caller.write(modern_call(address, "gated", "{}", &[])).await;
    gate.started.notified().await;

    stop.send(()).unwrap();
    assert_eq!(listener.event().await, None);
    gate.open.notify_one();
    assert!(caller.answer().await.body.contains("finished"));
    serving.await.unwrap().unwrap();
    assert!(caller.is_closed().await);
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
}

#[derive(Default)]
struct Crowd {
    started: AtomicUsize,
    open: watch::Sender<bool>,
}

/// Says that it has begun, waits for the test, and says its number.
#[tool]
async fn numbered(number: usize, crowd: State<Arc<Crowd>>, context: Context) -> String {
    context.progress(1.0, None, None);
    crowd.started.fetch_add(1, Ordering::SeqCst);
    // The sender lives as long as the server.
    drop(crowd.open.subscribe().wait_for(|open| *open).await);
    context.progress(2.0, None, None);
    format!("finished {number}!")
}

#[tokio::test]
async fn d130_a_drain_loses_nothing_of_many_streams() {
    const COUNT: usize = 60;
    let crowd = Arc::new(Crowd::default());
    let built = Server::builder("g", "1").state(Arc::clone(&crowd)).tools(tools![numbered]);
    let mut options = HttpServerOptions::default();
    options.grace = Duration::from_secs(3600);
    let server = HttpServer::bind(built.build(), ([127, 0, 0, 1], 0).into(), options);
    let server = server.await.unwrap();
    let address = server.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(async {
        drop(stopped.await);
    }));

    let session = open(address).await;
    let mut wires = Vec::new();
    for number in 0..COUNT {
        let arguments = format!(r#"{{"number":{number}}}"#);
        let post = if number % 2 == 0 {
            let id = u32::try_from(number).unwrap() + 1;
            request("POST", address, &[&session], &call(id, "numbered", &arguments))
        } else {
            modern_call(address, "numbered", &arguments, &[])
        };
        let mut wire = Wire::open(address).await;
        wire.write(post).await;
        wires.push(wire);
    }
    // In a session the progress was asked for, and says that the call is running.
    for wire in wires.iter_mut().step_by(2) {
        wire.head().await;
        while !wire.event().await.unwrap().data.contains("notifications/progress") {}
    }
    while crowd.started.load(Ordering::SeqCst) < COUNT {
        tokio::task::yield_now().await;
    }
    stop.send(()).unwrap();
    // Once no connection is taken any more the shutdown has begun.
    while tokio::net::TcpStream::connect(address).await.is_ok() {}
    crowd.open.send_replace(true);
    for (number, mut wire) in wires.into_iter().enumerate() {
        let expected = format!("finished {number}!");
        if number % 2 == 0 {
            let mut texts = Vec::new();
            while let Some(event) = wire.event().await {
                texts.push(event.data);
            }
            assert_eq!(texts.len(), 2, "{texts:?}");
            assert!(texts[1].contains(&expected), "{texts:?}");
        } else {
            let answer = wire.answer().await;
            assert!(answer.body.contains(&expected), "{answer:?}");
        }
    }
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn d130_calls_that_do_not_finish_are_cut() {
    let gate = Arc::new(Gate::default());
    let server = bind(&gate, Duration::ZERO).await;
    let address = server.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(async {
        drop(stopped.await);
    }));
    let mut caller = Wire::open(address).await;
    caller.write(modern_call(address, "gated", "{}", &[])).await;
    gate.started.notified().await;
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
    assert!(caller.is_closed().await);
}

#[tokio::test]
async fn d130_a_stream_of_2024_11_05_ends_once_its_calls_have() {
    let gate = Arc::new(Gate::default());
    let server = Server::builder("g", "1").state(Arc::clone(&gate)).tools(tools![gated]).build();
    let mut options = HttpServerOptions::default();
    options.grace = Duration::from_secs(3600);
    options.sse_path = Some("/sse".into());
    let server = HttpServer::bind(server, ([127, 0, 0, 1], 0).into(), options).await.unwrap();
    let address = server.local_addr();
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(async {
        drop(stopped.await);
    }));

    let mut stream = Wire::open(address).await;
    stream
        .write(format!("GET /sse HTTP/1.1\r\nHost: {address}\r\nAccept: text/event-stream\r\n\r\n"))
        .await;
    stream.head().await;
    let path = stream.event().await.unwrap().data;
    let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    for body in [initialize, ready, &call(1, "gated", "{}")] {
        let post = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        assert_eq!(exchange(address, post).await.status, 202);
    }
    gate.started.notified().await;
    assert!(stream.event().await.unwrap().data.contains("protocolVersion"));

    stop.send(()).unwrap();
    while tokio::net::TcpStream::connect(address).await.is_ok() {}
    gate.open.notify_one();
    assert!(stream.event().await.unwrap().data.contains("finished"));
    let end = tokio::time::timeout(Duration::from_secs(30), stream.event()).await;
    assert_eq!(end.expect("it ends"), None);
    serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_whose_session_ends_before_anything_was_said_is_answered_by_404() {
    let gate = Arc::new(Gate::default());
    let server = Server::builder("g", "1").state(Arc::clone(&gate)).tools(tools![gated]).build();
    let mut options = HttpServerOptions::default();
    options.quiet = Duration::from_secs(3600);
    let server = start(server, options).await;
    let address = server.address;
    let session = open(address).await;
    let mut caller = Wire::open(address).await;
    caller.write(request("POST", address, &[&session], &call(1, "gated", "{}"))).await;
    gate.started.notified().await;
    let deleted = exchange(address, request("DELETE", address, &[&session], "")).await;
    assert!(deleted.status < 300, "{deleted:?}");
    assert_eq!(caller.answer().await.status, 404);
}
