//! Which request has brought which call.

use http::Request;

use carrick_proto::rpc;

use crate::server::{CallInfo, Server, TransportKind};
use crate::{tool, tools};

use bytes::Bytes;

use super::super::budget::Budget;
use super::*;

/// Says which request has brought the call.
#[tool]
async fn number(info: CallInfo) -> String {
    info.headers().map_or("none".into(), |headers| format!("{:?}", headers["n"]))
}

fn frame(text: &str, request: Option<&'static str>) -> Frame {
    let messages = rpc::scan(Bytes::copy_from_slice(text.as_bytes()), Limits::default()).unwrap();
    let request = request.map(|n| {
        let request = Request::builder().header("n", n).body(()).unwrap();
        Arc::new(request.into_parts().0)
    });
    Frame { messages, request }
}

/// All that it says until it waits.
fn said(conversation: &mut Conversation) -> Vec<String> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut all = Vec::new();
    while let Poll::Ready(said) = conversation.poll_next(&mut cx) {
        let Said::Message(_, message) = said else { continue };
        all.push(String::from_utf8(message.bytes.to_vec()).unwrap());
    }
    all
}

#[test]
fn frames_that_wait_for_each_other_keep_their_requests() {
    let server = Server::builder("s", "1").tools(tools![number]).build();
    let info = Arc::new(ConnectionInfo::new(TransportKind::Http));
    let mut conversation =
        Conversation::new(&server, info, Limits::default(), 8, Budget::new(1 << 20).whole());
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{}}}"#;
    conversation.take(Lane::Exchange(0), frame(hello, None));
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    conversation.take(Lane::Connection, frame(ready, None));
    said(&mut conversation);
    let call = |id: u32| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"number"}}}}"#
        )
    };
    conversation.take(Lane::Exchange(1), frame(&call(1), Some("one")));
    conversation.take(Lane::Exchange(2), frame(&format!("[{},{}]", call(2), call(3)), Some("two")));
    conversation.take(Lane::Exchange(3), frame(&call(4), None));
    let all = said(&mut conversation);
    assert_eq!(all.len(), 3, "{all:?}");
    for (answer, number) in all.iter().zip(["one", "two", "none"]) {
        assert!(answer.contains(number), "{answer}");
    }
    assert!(!all[1].contains("one") && !all[1].contains("none"), "{all:?}");
    // Nothing of a request is kept once its calls are answered.
    assert!(conversation.info.http().is_none() && conversation.waiting.is_empty());
}

#[tokio::test]
async fn what_only_work_needs_is_given_back_when_there_is_none() {
    /// Answers later.
    #[tool]
    async fn slow() -> String {
        tokio::task::yield_now().await;
        "done".into()
    }

    let server = Server::builder("s", "1").tools(tools![slow]).build();
    let info = Arc::new(ConnectionInfo::new(TransportKind::Http));
    let mut conversation =
        Conversation::new(&server, info, Limits::default(), 8, Budget::new(1 << 20).whole());
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    conversation.take(Lane::Exchange(0), frame(hello, None));
    conversation.take(Lane::Connection, frame(ready, None));
    said(&mut conversation);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow"}}"#;
    conversation.take(Lane::Exchange(1), frame(call, None));
    assert!(said(&mut conversation).is_empty() && conversation.running.is_some());
    conversation.shrink();
    assert!(conversation.running.is_some(), "it is at work");
    let answer = std::future::poll_fn(|cx| conversation.poll_next(cx)).await;
    assert!(matches!(answer, Said::Message(Lane::Exchange(1), _)));
    conversation.shrink();
    assert!(conversation.running.is_none());
}
