//! Answers that hold no response, and what the client says of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use carrick::Client;
use carrick::client::{ClientEvent, Era, EventHandler};
use carrick::net::{HttpClient, Options};
use carrick::transport::http::{HttpOptions, HttpTransport};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::client::{answer_in_session, call, config, connect, legacy, modern, transport};
use crate::scripted::*;

/// What connecting to a server says that answers everything so.
async fn connecting(answer: impl Fn(&Seen) -> String + Send + Sync + 'static) -> String {
    let server = Scripted::start(answer).await;
    let error = connect(&server, None).await.unwrap_err();
    text(&error)
}

/// An error with all its causes.
fn text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

fn typed(media: &str, body: &str) -> String {
    json(200, &[], body).replace("Content-Type: application/json\r\n", media)
}

#[tokio::test]
async fn f28_a_type_that_is_none_of_ours_is_named_and_its_body_is_not() {
    for (media, named) in [
        ("Content-Type: application/jsonp\r\n", "\"application/jsonp\""),
        ("Content-Type: text/html; charset=utf-8\r\n", "\"text/html; charset=utf-8\""),
        ("", "names no type"),
    ] {
        let said = connecting(move |seen| {
            let body = if seen.method() == "initialize" { INITIALIZED } else { DISCOVERED };
            typed(media, &result(seen, body))
        })
        .await;
        assert!(said.contains(named) && said.contains("text/event-stream"), "{said}");
        assert!(!said.contains("capabilities"), "{said}");
    }
    // Both bodies have the word that is looked for.
    assert!([INITIALIZED, DISCOVERED].iter().all(|body| body.contains("capabilities")));
}

#[tokio::test]
async fn f28_a_redirect_says_where_to() {
    for status in [301, 302, 303] {
        let said = connecting(move |_| json(status, &["Location: /v2/mcp?key=secret"], "")).await;
        assert!(said.contains(&format!("{status}")) && said.contains("/v2/mcp;"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
    for status in [302, 307, 308] {
        let location = "Location: https://u:secret@other.example/mcp?key=secret";
        let said = connecting(move |_| json(status, &[location], "")).await;
        assert!(said.contains("https://other.example/mcp"), "{said}");
        assert!(said.contains("trust") && !said.contains("secret"), "{said}");
    }
    let said = connecting(|_| json(308, &["Location: /mcp"], "")).await;
    assert!(said.contains("without end"), "{said}");
}

#[tokio::test]
async fn f28_a_wrong_path_says_which_is_usual() {
    for body in ["", r#"{"detail":"Not Found"}"#, "<html><h1>404</h1></html>"] {
        let said = connecting(move |_| json(404, &[], body)).await;
        assert!(
            said.contains("HTTP status 404") && said.contains("most servers use /mcp"),
            "{said}"
        );
        assert!(!said.contains('{') && !said.contains('<'), "{said}");
    }
    let said = connecting(|_| empty(405)).await;
    assert!(said.contains("sse"), "{said}");
    // Later it is what the server says of the call.
    let (_server, client) = modern(|_| json(500, &[], r#"{"message":"database is down"}"#)).await;
    let said = call(&client).await.unwrap_err().to_string();
    assert!(said.contains("HTTP status 500: database is down") && !said.contains('{'), "{said}");
}

#[tokio::test]
async fn f28_a_port_that_speaks_no_tls_and_one_that_speaks_nothing_else() {
    let plain = Scripted::start(|_| empty(400)).await;
    // It answers as soon as there is a line.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/mcp", listener.local_addr().unwrap());
    let answering = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).await.unwrap();
        let refusal = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
        stream.write_all(refusal).await.unwrap();
    });
    let error = Client::connect(transport(&url), config(None), None).await.unwrap_err();
    let said = text(&error);
    assert!(said.contains("no TLS there") && said.contains("http://"), "{said}");
    answering.await.unwrap();
    drop(plain);

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 16];
            stream.read_exact(&mut request).await.unwrap();
            // An alert of TLS.
            stream.write_all(&[21, 3, 1, 0, 2, 2, 70]).await.unwrap();
        }
    });
    let error = Client::connect(transport(&url), config(None), None).await.unwrap_err();
    let said = text(&error);
    assert!(said.contains("https://"), "{said}");
}

#[tokio::test]
async fn f27_nothing_coded_is_asked_for_and_what_is_coded_is_named() {
    let gzip = |status| {
        move |seen: &Seen| {
            assert_eq!(seen.header("accept-encoding"), Some("identity"));
            let body = "\u{1f}garbled";
            json(status, &["Content-Encoding: gzip"], body)
        }
    };
    let (_server, client) = modern(gzip(200)).await;
    let said = call(&client).await.unwrap_err().to_string();
    assert!(said.contains("gzip") && !said.contains("garbled"), "{said}");
    let (_server, client) = modern(gzip(500)).await;
    let said = call(&client).await.unwrap_err().to_string();
    assert!(said.contains("500") && said.contains("gzip") && !said.contains("garbled"), "{said}");
    let events = |_: &Seen| {
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: br\r\n\
         Connection: close\r\n\r\ngarbled"
            .to_owned()
    };
    let (_server, client) = modern(events).await;
    let said = call(&client).await.unwrap_err().to_string();
    assert!(said.contains("br") && !said.contains("garbled"), "{said}");
    let (_server, client) = modern(|seen| {
        answer(seen, TOOL_OK).replacen("\r\n", "\r\nContent-Encoding: identity\r\n", 1)
    })
    .await;
    assert_eq!(call(&client).await.unwrap(), r#""ok""#);
}

/// A client in a session whose GET is answered by `get`, and what it hears.
async fn listening(
    get: impl Fn(usize) -> String + Send + Sync + 'static,
) -> (Scripted, Client, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let count = Mutex::new(0);
    let others = answer_in_session(|seen| answer(seen, TOOL_OK));
    let server = Scripted::start(move |seen| match seen.verb.as_str() {
        "GET" => {
            let mut count = count.lock().unwrap();
            *count += 1;
            get(*count)
        }
        _ => others(seen),
    })
    .await;
    let (told, hears) = tokio::sync::mpsc::unbounded_channel();
    let events: EventHandler = Arc::new(move |event| {
        if let ClientEvent::ListenEnded(why) = event {
            told.send(why).unwrap();
        }
    });
    let transport = transport(&server.url);
    let client = Client::connect(transport, config(Some(Era::Legacy)), Some(events)).await.unwrap();
    (server, client, hears)
}

fn gets(server: &Scripted) -> usize {
    server.seen().iter().filter(|seen| seen.verb == "GET").count()
}

#[tokio::test]
async fn f29_a_stream_that_ends_for_good_is_told() {
    for status in [429, 503] {
        let (server, client, mut hears) =
            listening(move |_| json(status, &["Retry-After: 0"], "")).await;
        let why = hears.recv().await.unwrap();
        assert!(why.contains(&status.to_string()), "{why}");
        assert_eq!(gets(&server), 3, "the first, and two more");
        assert_eq!(call(&client).await.unwrap(), r#""ok""#, "calls go on");
    }
}

#[tokio::test]
async fn f29_what_is_not_implemented_is_not_asked_for_again() {
    let (server, client, mut hears) = listening(|_| empty(501)).await;
    server.wait_until(|seen| seen.iter().any(|seen| seen.verb == "GET")).await;
    for _ in 0..5 {
        assert_eq!(call(&client).await.unwrap(), r#""ok""#);
    }
    assert_eq!(gets(&server), 1);
    assert!(hears.try_recv().is_err());
}

#[tokio::test]
async fn f29_a_broken_stream_is_asked_for_again_when_the_server_says() {
    let (count, asked) = (Mutex::new(0), Mutex::new(String::new()));
    let (server, client) = legacy(move |seen| match seen.verb.as_str() {
        "GET" => {
            let mut count = count.lock().unwrap();
            *count += 1;
            match *count {
                1 => json(429, &["Retry-After: 0"], ""),
                _ => events(&format!("id: 2\ndata: {}\n\n", asked.lock().unwrap())),
            }
        }
        _ => {
            *asked.lock().unwrap() = result(seen, TOOL_OK);
            events("id: 1\ndata:\n\n")
        }
    })
    .await;
    assert_eq!(call(&client).await.unwrap(), r#""ok""#);
    let again = |seen: &&Seen| seen.header("last-event-id").is_some();
    assert_eq!(server.seen().iter().filter(again).count(), 2, "a refusal, and the stream");
}

#[tokio::test]
async fn f32_a_stream_of_comments_without_end_is_given_up() {
    let flood = |_: &Seen| events(&": nothing\n\n".repeat(200_000));
    let (_server, client) = legacy(flood).await;
    let said = call(&client).await.unwrap_err().to_string();
    assert!(said.contains("no message"), "{said}");
    let (_server, _client, mut hears) =
        listening(|_| events(&"event: ping\ndata: x\n\n".repeat(800_000))).await;
    let why = hears.recv().await.unwrap();
    assert!(why.contains("no message"), "{why}");
    // A message among many comments is heard.
    let (_server, client) = legacy(|seen| {
        let message = result(seen, TOOL_OK);
        events(&format!("{}data: {message}\n\n", ": nothing\n\n".repeat(1000)))
    })
    .await;
    assert_eq!(call(&client).await.unwrap(), r#""ok""#);
}

#[tokio::test]
async fn f29_the_time_to_come_back_is_told() {
    let (_server, client) = modern(|_| json(503, &["Retry-After: 20"], "")).await;
    let said = call(&client).await.unwrap_err().to_string();
    assert!(said.contains("20 s"), "{said}");
    let mut options = HttpOptions::default();
    options.retry.base = Duration::from_millis(1);
    let http = HttpClient::new(Options::default());
    let headers = [("Accept-Encoding", "identity")];
    assert!(HttpTransport::new(http, "http://localhost/mcp", headers, options).is_ok());
}
