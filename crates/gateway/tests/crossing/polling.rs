//! A server that closes the stream of a call before its answer
//! (2025-11-25 `basic/transports`, Sending Messages to the Server).

use crate::support::{Over, client, gateway};
use carrick::client::{
    CallError, CallRelay, Forward, Forwarded, Handlers, Relay, Reply, ServerAsk,
};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::{Limits, Message, Scanned, scan};
use carrick::{Client, Context, Server, State, tool, tools};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Notify, mpsc};

const RETRY: Duration = Duration::from_millis(60);

/// Closes its stream, and answers when the test says so.
#[tool]
async fn leaves(go: State<Arc<Notify>>, context: Context) -> String {
    context.close_stream(Some(RETRY));
    go.notified().await;
    "back".into()
}

fn server(go: Arc<Notify>) -> Server {
    Server::builder("leaving", "1")
        .state(go)
        .tools(tools![leaves])
        .revisions([Revision::V2025_11_25])
        .build()
}

/// What is heard of a call.
#[derive(Debug)]
enum Heard {
    StreamClosed(Option<Duration>),
    Done(Result<String, CallError>),
}

struct Ear(mpsc::UnboundedSender<Heard>);

impl Relay for Ear {
    fn notice(&self, _: Message, _: Revision) {}

    fn asked(&self, ask: ServerAsk) {
        panic!("nobody asks here: {ask:?}");
    }
}

impl CallRelay for Ear {
    fn stream_closed(&self, retry: Option<Duration>) {
        self.0.send(Heard::StreamClosed(retry)).unwrap();
    }

    fn done(self: Arc<Self>, result: Result<Reply, CallError>) {
        let text =
            |reply: Reply| String::from_utf8_lossy(reply.message().body_bytes()).into_owned();
        self.0.send(Heard::Done(result.map(text))).unwrap();
    }
}

fn call(client: &Client, revision: Revision) -> (Forwarded, mpsc::UnboundedReceiver<Heard>) {
    let mut params = json!({ "name": "leaves", "arguments": {} });
    if revision == Revision::NEWEST {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": revision.date(),
            "io.modelcontextprotocol/clientCapabilities": {},
        });
    }
    let line = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let Ok(Scanned::One(message)) = scan(line.to_string().into(), Limits::default()) else {
        panic!()
    };
    let (ear, heard) = mpsc::unbounded_channel();
    (client.forward(Forward::new(message, revision), Arc::new(Ear(ear))), heard)
}

#[tokio::test]
async fn a_stream_that_the_server_closes_is_closed_for_the_client_too() {
    let go = Arc::new(Notify::new());
    let gateway = gateway(server(go.clone()), Over::Http).await;
    let revision = Revision::V2025_11_25;
    let client = client(gateway, Over::Http, revision, Handlers::new()).await;
    let (_call, mut heard) = call(&client, revision);
    let first = heard.recv().await.unwrap();
    assert!(matches!(first, Heard::StreamClosed(Some(RETRY))), "{first:?}");
    go.notify_one();
    let answer = heard.recv().await.unwrap();
    assert!(matches!(&answer, Heard::Done(Ok(text)) if text.contains("back")), "{answer:?}");
}

#[tokio::test]
async fn a_client_that_cannot_come_back_keeps_its_stream() {
    for revision in [Revision::V2025_06_18, Revision::NEWEST] {
        let go = Arc::new(Notify::new());
        let gateway = gateway(server(go.clone()), Over::Http).await;
        let client = client(gateway, Over::Http, revision, Handlers::new()).await;
        let (_call, mut heard) = call(&client, revision);
        go.notify_one();
        let answer = heard.recv().await.unwrap();
        assert!(matches!(&answer, Heard::Done(Ok(text)) if text.contains("back")), "{answer:?}");
    }
}
