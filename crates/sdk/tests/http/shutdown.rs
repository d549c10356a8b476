//! Ending in good order.

use std::sync::Arc;
use std::time::Duration;

use carrick::transport::http::{HttpServer, HttpServerOptions};
use carrick::{Server, State, tool, tools};
use tokio::sync::{Notify, oneshot};

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
