//! What a server asks its client, and on which stream.

use std::sync::Arc;

use bytes::Bytes;
use carrick::proto::http::ParamHeader;
use carrick::proto::peer::{AskPlace, Call, Identity, Reply};
use carrick::proto::revision::Revision;
use carrick::proto::rpc::{Limits, Scanned, scan};
use carrick::server::{CallInfo, Connection, ConnectionInfo, Dispatch, Outbox, PassedAsk, Service};
use carrick::transport::http::HttpServerOptions;
use carrick::types::RpcError;
use carrick::{Context, Server, ToolError, tool, tools};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use crate::raw::*;

/// Asks for the client's folders.
#[tool]
async fn folders(context: Context) -> Result<String, ToolError> {
    let roots = context.roots().await?;
    Ok(roots.into_iter().map(|root| root.uri).collect())
}

fn server() -> Server {
    Server::builder("asks", "1").tools(tools![folders]).build()
}

type Asked = oneshot::Receiver<Result<Reply, RpcError>>;

/// Asks something of its own, that belongs to no call, whenever it is called.
struct Nosy {
    server: Server,
    asked: mpsc::UnboundedSender<Asked>,
}

struct NosyConnection {
    inner: Box<dyn Connection>,
    outbox: Arc<dyn Outbox>,
    asked: mpsc::UnboundedSender<Asked>,
}

impl Service for Nosy {
    fn identity(&self) -> Arc<Identity> {
        self.server.identity()
    }

    fn connect(&self, info: Arc<ConnectionInfo>, outbox: Arc<dyn Outbox>) -> Box<dyn Connection> {
        let inner = self.server.connect(info, outbox.clone());
        Box::new(NosyConnection { inner, outbox, asked: self.asked.clone() })
    }

    fn mirrored(&self, _: &str) -> Option<Arc<[ParamHeader]>> {
        None
    }
}

impl Connection for NosyConnection {
    fn call(&mut self, call: Call, info: &CallInfo) -> Dispatch {
        let question = Bytes::from_static(br#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#);
        let Ok(Scanned::One(message)) = scan(question, Limits::default()) else {
            panic!("it is a message")
        };
        let (answer, asked) = oneshot::channel();
        let place = AskPlace::Connection;
        let from = Revision::NEWEST_HANDSHAKE;
        self.outbox.pass_ask(PassedAsk { place, message, from, answer });
        self.asked.send(asked).unwrap();
        self.inner.call(call, info)
    }
}

/// Opens a session whose client has folders; the header that names it.
async fn open(running: &Running, version: &str) -> String {
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        { "protocolVersion": version, "capabilities": { "roots": {} } } });
    let answer = post(running, &[], &hello.to_string()).await;
    let session = format!("Mcp-Session-Id: {}", answer.headers["mcp-session-id"]);
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(post(running, &[&session], ready).await.status, 202);
    session
}

async fn post(running: &Running, headers: &[&str], body: &str) -> Answer {
    exchange(running.address, request("POST", running.address, headers, body)).await
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"folders"}}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;

fn told(id: &serde_json::Value) -> String {
    let roots = json!([{ "uri": "file:///工作" }]);
    json!({ "jsonrpc": "2.0", "id": id, "result": { "roots": roots } }).to_string()
}

async fn next(wire: &mut Wire) -> serde_json::Value {
    loop {
        let event = wire.event().await.unwrap();
        if !event.data.is_empty() {
            return serde_json::from_str(&event.data).unwrap();
        }
    }
}

#[tokio::test]
async fn d134_a_question_that_no_stream_can_carry_is_refused_at_once() {
    let (sender, mut asked) = mpsc::unbounded_channel();
    let nosy = Nosy { server: server(), asked: sender };
    let running = serve_any(nosy, HttpServerOptions::default()).await;
    for version in ["2025-03-26", "2025-06-18", LEGACY] {
        let session = open(&running, version).await;
        assert_eq!(post(&running, &[&session], LIST).await.status, 200);
        let refused = asked.recv().await.unwrap().await.unwrap();
        let text = refused.map(|_| ()).unwrap_err().message;
        assert!(text.contains("cannot be asked") && text.contains("no stream open"), "{text}");

        let mut stream = Wire::open(running.address).await;
        let accept = "Accept: text/event-stream";
        stream.write(request("GET", running.address, &[&session, accept], "")).await;
        stream.head().await;
        assert_eq!(post(&running, &[&session], LIST).await.status, 200);
        let question = next(&mut stream).await;
        assert_eq!(question["method"], "roots/list", "what was refused is not asked after all");
        assert_eq!(post(&running, &[&session], &told(&question["id"])).await.status, 202);
        assert!(!asked.recv().await.unwrap().await.unwrap().unwrap().is_error());
    }
}

#[tokio::test]
async fn d134_a_handler_asks_on_the_stream_of_its_call() {
    let running = start(server(), HttpServerOptions::default()).await;
    for (version, body) in [
        ("2025-03-26", format!("[{LIST},{CALL}]")),
        ("2025-06-18", CALL.into()),
        (LEGACY, CALL.into()),
    ] {
        // There is no other stream.
        let session = open(&running, version).await;
        let mut wire = Wire::open(running.address).await;
        wire.write(request("POST", running.address, &[&session], &body)).await;
        wire.head().await;
        let question = next(&mut wire).await;
        assert_eq!(question["method"], "roots/list", "{version}");
        assert_eq!(post(&running, &[&session], &told(&question["id"])).await.status, 202);
        let answer = next(&mut wire).await;
        assert!(answer.to_string().contains("file:///工作"), "{version}: {answer}");
        assert_eq!(answer.is_array(), body.starts_with('['));
        assert_eq!(wire.event().await, None);
    }
}

#[tokio::test]
async fn d134_without_a_session_nobody_waits() {
    let mut options = HttpServerOptions::default();
    options.sessions = false;
    let running = start(server(), options).await;
    let able = r#"/clientCapabilities":{"roots":{}}"#;
    let body = modern_body("tools/call", r#""name":"folders","arguments":{}"#)
        .replace(r#"/clientCapabilities":{}"#, able);
    let version = format!("MCP-Protocol-Version: {VERSION}");
    let headers = [version.as_str(), "Mcp-Method: tools/call", "Mcp-Name: folders"];
    let answer = post(&running, &headers, &body).await;
    assert_eq!(answer.json()["result"]["resultType"], "input_required", "{answer:?}");
    // A session, in which a question would need a stream, cannot be opened at all.
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        { "protocolVersion": LEGACY, "capabilities": { "roots": {} } } });
    assert_eq!(post(&running, &[], &hello.to_string()).await.status, 400);
}

#[tokio::test]
async fn d133_what_a_client_cannot_do_is_named_with_status_400() {
    let running = start(server(), HttpServerOptions::default()).await;
    let call = modern_call(running.address, "folders", "{}", &[]);
    let answer = exchange(running.address, call).await;
    assert_eq!((answer.status, answer.error_code()), (400, -32021));
    let data = &answer.json()["error"]["data"];
    assert_eq!(data, &json!({ "requiredCapabilities": { "roots": {} } }));
}

/// What the last questions of a server became is not kept for ever.
#[tokio::test]
async fn a_call_that_is_given_up_takes_its_question_back() {
    let running = start(server(), HttpServerOptions::default()).await;
    let session = open(&running, LEGACY).await;
    let mut wire = Wire::open(running.address).await;
    wire.write(request("POST", running.address, &[&session], CALL)).await;
    wire.head().await;
    let question = next(&mut wire).await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    assert_eq!(post(&running, &[&session], cancel).await.status, 202);
    let taken_back = next(&mut wire).await;
    assert_eq!(taken_back["method"], "notifications/cancelled");
    assert_eq!(taken_back["params"]["requestId"], question["id"]);
    assert_eq!(wire.event().await, None);
}
