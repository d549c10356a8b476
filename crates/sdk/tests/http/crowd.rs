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

const ROUNDS: usize = 2000;

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
                // A client may have enough of it.
                while wire.try_write(&more).await {}
            }
            (_, Some(name)) => wire.write(named(&seen, name)).await,
            _ => panic!("{}", seen.body),
        }
    }
}

/// An answer that repeats the name of the tool, in one of the forms that an answer may have.
fn named(seen: &Seen, name: &str) -> String {
    let result = result(seen, &TOOL_OK.replace("ok", name));
    let stream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
    match name.len() % 3 {
        0 => json(200, &[], &result),
        1 => {
            let event = format!("data: {result}\n\n");
            let length = event.len();
            let head = format!("{stream}Transfer-Encoding: chunked\r\n\r\n");
            format!("{head}3\r\n: \n\r\n{length:x}\r\n{event}\r\n0\r\n\r\n")
        }
        _ => events(&format!("data: {result}\n\n")),
    }
}

async fn plain_calls_beside(repeated: &'static str, is_given_up: bool) {
    let (url, _server) = flooding(repeated).await;
    let client = Client::connect(transport(&url), config(Some(Era::Modern)), None).await.unwrap();
    let flood = client.clone();
    let flood = tokio::spawn(async move { flood.call_tool("flood", b"{}").await.map(drop) });
    for _ in 0..100 {
        let call = client.call_tool("echo", br#"{"t":"x"}"#);
        // Else the other stream holds it up.
        timeout(STUCK, call).await.unwrap().unwrap();
    }
    if is_given_up {
        let error = timeout(STUCK, flood).await.unwrap().unwrap().unwrap_err();
        assert!(error.to_string().contains("no message"), "{error}");
    } else {
        assert!(!flood.is_finished());
        flood.abort();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_comments_does_not_hold_other_calls_up() {
    plain_calls_beside(": nothing\n\n", true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_messages_does_not_hold_other_calls_up() {
    let repeated = concat!(
        r#"data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#,
        "\n\n"
    );
    plain_calls_beside(repeated, false).await;
}

/// Calls that are given up at any point do no harm to others, whose answers stay theirs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_calls_of_which_some_are_given_up_each_gets_its_own_answer() {
    let (url, _server) = flooding("").await;
    let client = Client::connect(transport(&url), config(Some(Era::Modern)), None).await.unwrap();
    let mut calls = JoinSet::new();
    for number in 0..ROUNDS {
        let client = client.clone();
        let call = calls.spawn(async move {
            let name = "t".repeat(1 + number % 7) + &number.to_string();
            let result = client.call_tool(&name, b"{}").await.unwrap();
            let result = serde_json::to_value(&result).unwrap();
            assert_eq!(result["content"][0]["text"], *name);
        });
        if number % 5 == 0 {
            tokio::spawn(async move {
                for _ in 0..number % 64 {
                    tokio::task::yield_now().await;
                }
                call.abort();
            });
        }
        while calls.len() > 64 {
            ended(timeout(STUCK, calls.join_next()).await.expect("a call is stuck").unwrap());
        }
    }
    while let Some(call) = timeout(STUCK, calls.join_next()).await.expect("a call is stuck") {
        ended(call);
    }
}

#[track_caller]
fn ended(call: Result<(), tokio::task::JoinError>) {
    assert!(call.is_ok() || call.is_err_and(|error| error.is_cancelled()));
}
