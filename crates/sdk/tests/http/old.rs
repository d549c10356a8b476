//! HTTP+SSE, as 2024-11-05 has it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use carrick::client::{CallError, Client, ClientConfig, ClientError, Era, Handlers, LaneEnd};
use carrick::net::{HttpClient, Options};
use carrick::proto::revision::Revision;
use carrick::transport::http::{Form, HttpOptions, HttpServerOptions, HttpTransport};
use carrick::types::Implementation;
use serde_json::json;

use crate::raw::{Running, exchange, start, start_fixture};
use crate::scripted::*;

fn transport(url: &str, form: Form) -> HttpTransport {
    let mut options = HttpOptions::default();
    options.form = form;
    let http = HttpClient::new(Options::default());
    HttpTransport::new(http, url, [("Authorization", "Bearer t")], options).unwrap()
}

fn config(revision: Option<Revision>) -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("t", "0"));
    config.revision = revision;
    config.era = Some(Era::Legacy);
    config
}

async fn connect(url: &str, form: Form) -> Result<Client, ClientError> {
    Client::connect(transport(url, form), config(None), None).await
}

async fn serving() -> (Running, String) {
    let mut options = HttpServerOptions::default();
    options.sse_path = Some("/sse".into());
    let server = start(carrick_testkit::fixture::server(), options).await;
    let url = format!("http://{}/sse", server.address);
    (server, url)
}

#[tokio::test]
async fn every_revision_with_a_handshake_is_spoken_over_it() {
    let (_server, url) = serving().await;
    for &revision in Revision::ALL.iter().filter(|revision| revision.is_legacy()) {
        let transport = transport(&url, Form::Sse);
        let client = Client::connect(transport, config(Some(revision)), None).await.unwrap();
        assert_eq!(client.server().revision, revision);
        assert!(client.list_tools().await.unwrap().len() > 5);
        let calls = (0..20).map(|n| {
            let client = client.clone();
            async move {
                let arguments = json!({ "t": n.to_string() }).to_string();
                client.call_tool("echo", arguments.as_bytes()).await.unwrap()
            }
        });
        for (n, result) in futures_util::future::join_all(calls).await.iter().enumerate() {
            assert_eq!(result.content[0].as_text(), Some(&*n.to_string()));
        }
        client.close().await;
    }
}

#[tokio::test]
async fn a_client_of_streamable_http_finds_it_by_itself() {
    let (server, url) = serving().await;
    for era in [None, Some(Era::Legacy)] {
        let mut config = config(None);
        config.era = era;
        let client = Client::connect(transport(&url, Form::Any), config, None).await.unwrap();
        assert_eq!(client.server().era(), Era::Legacy);
        assert!(client.call_tool("echo", br#"{"t":"x"}"#).await.is_ok());
        client.close().await;
    }
    assert!(connect(&url, Form::Streamable).await.is_err(), "only where it may");
    let new = format!("http://{}/mcp", server.address);
    assert!(connect(&new, Form::Any).await.is_ok(), "and both at one server");
    let error = connect(&new, Form::Sse).await.err().unwrap();
    assert!(matches!(error.call(), Some(CallError::Exchange(LaneEnd::Status { status: 400, .. }))));
    // By default there is no such path.
    let plain = start_fixture().await;
    let error = connect(&format!("http://{}/sse", plain.address), Form::Any).await.err().unwrap();
    assert!(matches!(error.call(), Some(CallError::Exchange(LaneEnd::Status { status: 404, .. }))));
}

#[tokio::test]
async fn the_server_asks_over_its_stream() {
    #[carrick::tool]
    async fn whereabouts(context: carrick::Context) -> Result<String, carrick::ToolError> {
        let roots = context.roots().await.map_err(|e| carrick::ToolError::new(e.to_string()))?;
        Ok(roots.into_iter().map(|root| root.uri).collect())
    }
    let server = carrick::Server::builder("s", "1").tools(carrick::tools![whereabouts]).build();
    let mut options = HttpServerOptions::default();
    options.sse_path = Some("/sse".into());
    let server = start(server, options).await;
    let handlers = Handlers::new().roots(|| async {
        Ok(serde_json::from_value(json!([{ "uri": "file:///here" }])).unwrap())
    });
    let url = format!("http://{}/sse", server.address);
    let client = Client::connect(transport(&url, Form::Sse), config(None), handlers).await.unwrap();
    let result = client.call_tool("whereabouts", b"{}").await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("file:///here"));
}

/// An old server of which a test says only what differs.
async fn scripted(stream: String) -> (Scripted, Result<Client, ClientError>) {
    let server = Scripted::start(move |seen| match seen.verb.as_str() {
        "GET" => events(&stream),
        _ => empty(405),
    })
    .await;
    let client = connect(&server.url, Form::Any).await;
    (server, client)
}

#[tokio::test]
async fn credentials_stay_at_their_origin() {
    let elsewhere = Scripted::start(|_| empty(202)).await;
    let to = |target: &str| format!("event: endpoint\ndata: {target}\n\n");
    let foreign = [to(&elsewhere.url), to("http://other.example/m"), to("//other.example/m")];
    for stream in foreign.into_iter().chain(["data: x\n\n".to_owned(), String::new()]) {
        let (server, client) = scripted(stream).await;
        let error = client.err().unwrap();
        // What the client is told is the refusal of its handshake.
        assert!(
            matches!(error.call(), Some(CallError::Exchange(LaneEnd::Status { status: 405, .. }))),
            "{error}"
        );
        assert_eq!(server.methods(), ["initialize", "GET"]);
    }
    assert!(elsewhere.seen().is_empty());
    // It listens and would have been reached.
    assert!(connect(&elsewhere.url, Form::Sse).await.is_err());
    assert!(!elsewhere.seen().is_empty());
}

#[tokio::test]
async fn a_modern_refusal_or_another_status_is_none_of_an_old_server() {
    const MODERN: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"no"}}"#;
    let none = [(400, MODERN), (401, ""), (403, ""), (500, ""), (503, "")].map(|one| (one, false));
    // What an old server does answer is followed by a GET.
    for ((status, body), old) in none.into_iter().chain([((405, ""), true)]) {
        let server = Scripted::start(move |_| json(status, &[], body)).await;
        assert!(connect(&server.url, Form::Any).await.is_err());
        assert_eq!(server.methods().contains(&"GET".to_owned()), old, "{status}");
    }
}

#[tokio::test]
async fn the_end_of_the_stream_is_the_end_of_the_connection() {
    let count = Arc::new(AtomicUsize::new(0));
    let posts = Arc::clone(&count);
    let server = Scripted::start(move |seen| match seen.verb.as_str() {
        "GET" => events("event: endpoint\ndata: messages?x=1\n\n"),
        _ => {
            posts.fetch_add(1, Ordering::SeqCst);
            empty(202)
        }
    })
    .await;
    let error = connect(&server.url, Form::Sse).await.err().unwrap();
    assert!(matches!(error.call(), Some(CallError::Closed(how)) if how.contains("stream ended")));
    for post in server.seen().iter().filter(|seen| seen.verb == "POST") {
        assert_eq!(post.path, "/messages?x=1");
        assert_eq!(post.header("authorization"), Some("Bearer t"));
    }
}

#[tokio::test]
async fn a_login_that_the_stream_needs_keeps_its_challenge() {
    let challenge = "WWW-Authenticate: Bearer resource_metadata=\"https://x.example/m\"";
    let server = Scripted::start(move |_| json(401, &[challenge], "{}")).await;
    match connect(&server.url, Form::Sse).await.err().unwrap().call() {
        Some(CallError::Exchange(LaneEnd::Status { status: 401, challenge, .. })) => {
            assert!(challenge.as_deref().unwrap().contains("resource_metadata"));
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn messages_of_no_session_are_refused() {
    let (server, _) = serving().await;
    for (query, status) in [("", 400), ("?x=1", 400), ("?sessionId=", 404), ("?sessionId=ab", 404)]
    {
        let request = format!(
            "POST /sse{query} HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{{}}",
            server.address
        );
        assert_eq!(exchange(server.address, &request).await.status, status, "{query}");
    }
}

#[tokio::test]
async fn d036_streams_are_bounded_and_leave_nothing_behind() {
    let mut options = HttpServerOptions::default();
    options.sse_path = Some("/sse".into());
    options.max_sessions = 2;
    options.keep_alive = std::time::Duration::from_millis(5);
    let server = start(carrick_testkit::fixture::server(), options).await;
    let url = format!("http://{}/sse", server.address);
    let one = connect(&url, Form::Sse).await.unwrap();
    let two = connect(&url, Form::Sse).await.unwrap();
    let error = connect(&url, Form::Sse).await.err().unwrap();
    assert!(matches!(error.call(), Some(CallError::Exchange(LaneEnd::Status { status: 503, .. }))));
    one.close().await;
    // The server sees that the stream is gone when it next writes to it.
    let three = loop {
        match connect(&url, Form::Sse).await {
            Ok(client) => break client,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    assert!(two.call_tool("echo", br#"{"t":"x"}"#).await.is_ok());
    assert!(three.call_tool("echo", br#"{"t":"x"}"#).await.is_ok());
}
