//! Calls of one client side by side, some of whose streams never end.

use std::time::Duration;

use carrick::Client;
use carrick::client::Era;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::client::{config, transport};
use crate::raw::Wire;
use crate::scripted::*;

/// Longer than anything here takes, unless something is stuck.
const STUCK: Duration = Duration::from_secs(20);

/// A modern server: the tool `flood` is answered by an event stream that repeats the same bytes
/// for as long as they are read, all else at once.
async fn flooding(repeated: &'static str) -> (String, JoinSet<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            connections.spawn(serve(stream, repeated));
        }
    });
    (url, tasks)
}

async fn serve(stream: TcpStream, repeated: &'static str) {
    let mut wire = Wire::over(stream);
    while !wire.is_closed().await {
        let (_, headers, body) = wire.message().await;
        let seen = Seen { verb: String::new(), path: String::new(), headers, body };
        match (seen.method().as_str(), seen.header("mcp-name")) {
            ("server/discover", _) => wire.write(answer(&seen, DISCOVERED)).await,
            (_, Some("flood")) => {
                let more = repeated.repeat(1 + (64 << 10) / repeated.len());
                wire.write(events("")).await;
                loop {
                    wire.write(&more).await;
                }
            }
            _ => wire.write(answer(&seen, TOOL_OK)).await,
        }
    }
}

async fn plain_calls_beside(repeated: &'static str) {
    let (url, _server) = flooding(repeated).await;
    let client = Client::connect(transport(&url), config(Some(Era::Modern)), None).await.unwrap();
    let flood = client.clone();
    let flood = tokio::spawn(async move { flood.call_tool("flood", b"{}").await.map(drop) });
    for _ in 0..100 {
        let answer = timeout(STUCK, client.call_tool("echo", br#"{"t":"x"}"#)).await;
        answer.expect("the other stream holds it up").unwrap();
    }
    assert!(!flood.is_finished());
    flood.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_comments_does_not_hold_other_calls_up() {
    plain_calls_beside(": nothing\n\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_messages_does_not_hold_other_calls_up() {
    plain_calls_beside(concat!(
        r#"data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#,
        "\n\n"
    ))
    .await;
}
