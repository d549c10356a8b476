//! Streams that a server closes before the answer, for its client to come back
//! (2025-11-25 `basic/transports`, Sending Messages to the Server).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use carrick::client::{CallError, CallRelay, Forward, Relay, Reply, ServerAsk};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::{Limits, Message, Scanned, scan};
use tokio::sync::mpsc;

use crate::client::legacy;
use crate::scripted::*;

/// What is heard of a call that is passed on.
#[derive(Debug)]
enum Heard {
    StreamClosed(Option<Duration>),
    Done(Result<(), CallError>),
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
        self.0.send(Heard::Done(result.map(drop))).unwrap();
    }
}

/// What is heard of a call whose stream begins with `first`; the rest of it is
/// the answer.
async fn heard(first: &str) -> Vec<Heard> {
    let id = Mutex::new(String::new());
    let first = first.to_owned();
    let (_server, client) = legacy(move |seen| {
        let mut id = id.lock().unwrap();
        if seen.verb == "POST" {
            *id = seen.id();
            return first.clone();
        }
        events(&format!("data: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n\n"))
    })
    .await;
    let line = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#;
    let Ok(Scanned::One(message)) = scan(line.into(), Limits::default()) else { panic!() };
    let (ear, mut heard) = mpsc::unbounded_channel();
    let forward = Forward::new(message, Revision::V2025_11_25);
    let _call = client.forward(forward, Arc::new(Ear(ear)));
    let mut all = Vec::new();
    loop {
        let next = heard.recv().await.unwrap();
        let done = matches!(next, Heard::Done(_));
        all.push(next);
        if done {
            return all;
        }
    }
}

#[tokio::test]
async fn a_stream_that_is_closed_in_good_order_is_told_of_with_its_retry_time() {
    let heard = [
        heard(&events("id: 1\nretry: 55\ndata:\n\n")).await,
        heard(&events("id: 1\ndata:\n\n")).await,
    ];
    for (heard, retry) in heard.iter().zip([Some(Duration::from_millis(55)), None]) {
        let [Heard::StreamClosed(told), Heard::Done(Ok(()))] = heard[..] else {
            panic!("{heard:?}");
        };
        assert_eq!(told, retry);
    }
}

#[tokio::test]
async fn a_stream_that_broke_or_cannot_go_on_is_not_told_of() {
    let broken = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 99\r\n\
                  Connection: close\r\n\r\nid: 1\ndata:\n\n";
    let heard_of_broken = heard(broken).await;
    assert!(matches!(heard_of_broken[..], [Heard::Done(Ok(()))]), "{heard_of_broken:?}");
    let without_id = heard(&events("retry: 55\ndata:\n\n")).await;
    assert!(matches!(without_id[..], [Heard::Done(Err(_))]), "{without_id:?}");
}
