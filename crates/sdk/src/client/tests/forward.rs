//! Passing on requests of somebody else's.

use super::super::{CallRelay, Forward, Relay, Reply, ServerAsk};
use super::*;
use carrick_proto::peer::CallError;
use carrick_proto::revision::Revision;
use carrick_proto::rpc::{Limits, Message, Scanned, scan};
use std::sync::Mutex;
use tokio::sync::mpsc;

/// Hears what comes of a request.
struct Ear {
    done: mpsc::UnboundedSender<Result<Reply, CallError>>,
    notices: Mutex<Vec<Message>>,
}

impl Relay for Ear {
    fn notice(&self, message: Message, _: Revision) {
        self.notices.lock().unwrap().push(message);
    }

    fn asked(&self, ask: ServerAsk) {
        panic!("nobody asks here: {ask:?}");
    }
}

impl CallRelay for Ear {
    fn done(self: Arc<Self>, result: Result<Reply, CallError>) {
        self.done.send(result).unwrap();
    }
}

type Done = mpsc::UnboundedReceiver<Result<Reply, CallError>>;

fn ear() -> (Arc<Ear>, Done) {
    let (done, heard) = mpsc::unbounded_channel();
    (Arc::new(Ear { done, notices: Mutex::default() }), heard)
}

fn request(tool: &str) -> Forward {
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"{tool}","arguments":{{"a":2}}}}}}"#
    );
    let Ok(Scanned::One(message)) = scan(line.into(), Limits::default()) else { panic!() };
    Forward::new(message, Revision::NEWEST_HANDSHAKE)
}

#[tokio::test]
async fn what_is_passed_on_is_answered_unless_it_is_given_up() {
    for era in [Era::Legacy, Era::Modern] {
        let client = connect(Some(era)).await;
        let (ear, mut done) = ear();
        let kept = client.forward(request("add"), ear.clone());
        let reply = done.recv().await.unwrap().unwrap();
        let body = String::from_utf8_lossy(reply.message().body_bytes()).into_owned();
        assert!(body.contains(r#""text":"3""#), "{body}");
        assert_eq!(reply.revision(), client.server().revision);
        drop(kept);
        let given_up = client.forward(request("never"), ear.clone());
        drop(given_up);
        let left = client.forward(request("never"), ear.clone());
        client.close().await;
        let error = done.recv().await.unwrap().unwrap_err();
        assert!(matches!(error, CallError::Closed(_)), "{error}");
        assert!(done.try_recv().is_err(), "nothing is heard of what was given up");
        drop(left);
        // Without a connection it ends at once.
        let _late = client.forward(request("add"), ear);
        assert!(done.recv().await.unwrap().is_err());
    }
}
