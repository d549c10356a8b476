//! The driver against scripted servers, by way of both providers.

use std::error::Error as _;

use super::script::{KEY, Reply, ask, connection, read_request, serve};
use super::*;
use crate::model::anthropic::AnthropicMessages;
use crate::model::openai::{OpenAiChat, Service};
use crate::model::{Message, Model, Request, Secret};

const HELLO: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
const HELLO_EVENTS: &str = "text hello\nstop End";

fn openai(base: &str, limits: Limits) -> OpenAiChat {
    let connection = Connection { limits, ..connection(base) };
    OpenAiChat::new(Service::OpenAi, "gpt", connection).unwrap()
}

fn question() -> Request {
    Request::new("be brief", vec![Message::user("hi")])
}

async fn run(replies: Vec<Reply>) -> (String, Option<ModelError>, usize) {
    let (base, server) = serve(replies).await;
    let (events, failure) = ask(&openai(&base, Limits::default()), &question()).await;
    // Only as many replies as are asked for are given; a rest would leave the server waiting.
    let requests = server.await.unwrap().len();
    (events, failure, requests)
}

fn busy(headers: &str) -> Reply {
    Reply::status(429, headers, r#"{"error":{"message":"slow down"}}"#)
}

#[tokio::test]
async fn rounds_share_one_connection_and_send_the_key_once_each() {
    let (base, server) = serve(vec![Reply::stream(&[HELLO]), Reply::stream(&[HELLO])]).await;
    let model = openai(&base, Limits::default());
    for _ in 0..2 {
        let (events, failure) = ask(&model, &question()).await;
        assert_eq!((events.as_str(), failure.is_none()), (HELLO_EVENTS, true));
    }
    for request in server.await.unwrap() {
        assert!(request.head.starts_with("post /v1/chat/completions http/1.1\r\n"));
        assert!(request.head.contains(&format!("authorization: bearer {KEY}")));
        assert_eq!(request.connection, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_asked_again() {
    let unavailable = Reply::status(503, "", "try later");
    let replies = vec![busy("retry-after: 7\r\n"), unavailable, Reply::stream(&[HELLO])];
    let (events, failure, requests) = run(replies).await;
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!((events.as_str(), requests), (HELLO_EVENTS, 3));
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_without_an_answer_is_tried_again() {
    let (events, failure, requests) = run(vec![Reply::hang_up(), Reply::stream(&[HELLO])]).await;
    assert!(failure.is_none(), "{failure:?}");
    assert_eq!((events.as_str(), requests), (HELLO_EVENTS, 2));
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_waited_for_in_full() {
    let (base, server) = serve(vec![busy("retry-after: 7\r\n"), Reply::stream(&[HELLO])]).await;
    let before = tokio::time::Instant::now();
    let (_, failure) = ask(&openai(&base, Limits::default()), &question()).await;
    assert!(failure.is_none());
    // On the paused clock: nothing else in this test takes seconds.
    assert!(before.elapsed() >= Duration::from_secs(7));
    server.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn retries_are_bounded_and_the_last_error_is_given() {
    let (events, failure, requests) = run((0..4).map(|_| busy("")).collect()).await;
    let failure = failure.unwrap();
    assert_eq!((events.as_str(), requests), ("", 4));
    assert_eq!((failure.kind(), failure.status()), (ModelErrorKind::RateLimited, Some(429)));
    assert_eq!(failure.message(), "slow down");
}

#[tokio::test]
async fn a_long_wait_is_told_instead_of_taken() {
    let (_, failure, requests) = run(vec![busy("retry-after: 3600\r\n")]).await;
    let failure = failure.unwrap();
    assert_eq!((requests, failure.retry_after()), (1, Some(Duration::from_secs(3600))));
    assert!(failure.to_string().contains("try again in 3600 s"), "{failure}");
}

#[tokio::test]
async fn a_refused_key_is_explained_and_not_repeated() {
    // Some servers repeat the key.
    let refusal = format!(r#"{{"error":{{"message":"Incorrect API key {KEY} provided"}}}}"#);
    let (base, server) = serve(vec![Reply::status(401, "", &refusal)]).await;
    let model = openai(&base, Limits::default());
    let (_, failure) = ask(&model, &question()).await;
    let failure = failure.unwrap();
    assert_eq!(failure.kind(), ModelErrorKind::Auth);
    let host = base.trim_start_matches("http://");
    assert_eq!(
        failure.to_string(),
        format!(
            "openai ({host}): access denied (HTTP 401): Incorrect API key [key] provided; check OPENAI_API_KEY"
        )
    );
    assert!(!format!("{failure:?} {model:?}").contains(KEY));
    assert_eq!(server.await.unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_overload_inside_the_stream_is_retried_only_before_the_first_event() {
    let overloaded = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n";
    let start =
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":3}}}\n\n";
    let text = "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n";
    let replies =
        vec![Reply::stream(&[start, overloaded]), Reply::stream(&[start, text, overloaded])];
    let (base, server) = serve(replies).await;
    let model = AnthropicMessages::new("claude", connection(&base)).unwrap();
    let (events, failure) = ask(&model, &question()).await;
    assert_eq!(events, "text a");
    assert_eq!(failure.unwrap().kind(), ModelErrorKind::Overloaded);
    let requests = server.await.unwrap();
    assert_eq!(requests.len(), 2);
    assert!(requests[0].head.starts_with("post /v1/messages http/1.1\r\n"));
    assert!(requests[0].head.contains(&format!("x-api-key: {KEY}")));
    assert!(requests[0].head.contains("anthropic-version: 2023-06-01"));
}

#[tokio::test]
async fn a_broken_connection_gives_what_came_and_then_an_error() {
    let half = "data: {\"choices\":[{\"delta\":{\"content\":\"hel\"}}]}\n\n";
    let (events, failure, _) = run(vec![Reply::stream(&[half]).cut()]).await;
    let failure = failure.unwrap();
    assert_eq!((events.as_str(), failure.kind()), ("text hel", ModelErrorKind::Unreachable));
    assert!(failure.source().is_some());
    let (events, failure, _) = run(vec![Reply::stream(&[half])]).await;
    assert_eq!((events.as_str(), failure.unwrap().kind()), ("text hel", ModelErrorKind::Protocol));
}

#[tokio::test]
async fn an_unreachable_server_names_the_remedy() {
    let (base, server) = serve(vec![]).await;
    server.await.unwrap();
    let model = OpenAiChat::new(Service::Ollama, "llama", connection(&base)).unwrap();
    let (_, failure) = ask(&model, &question()).await;
    let failure = failure.unwrap();
    assert_eq!(failure.kind(), ModelErrorKind::Unreachable);
    assert!(failure.to_string().contains("ollama serve"), "{failure}");
}

#[tokio::test]
async fn the_form_of_the_answer_is_found_whatever_its_declared_type() {
    let whole = r#"{"choices":[{"message":{"content":"hello"},"finish_reason":"stop"}]}"#;
    let json = "content-type: application/json; charset=utf-8\r\n";
    for (headers, body) in [
        (json, whole),
        ("", whole),
        ("content-type: text/plain\r\n", HELLO),
        ("", HELLO),
        // No blank line after the last event.
        ("content-type: text/event-stream\r\n", HELLO.trim_end()),
    ] {
        let (events, failure, _) = run(vec![Reply::status(200, headers, body)]).await;
        assert!(failure.is_none(), "{headers} {body}: {failure:?}");
        assert_eq!(events, HELLO_EVENTS, "{headers} {body}");
    }
    for (headers, body, words) in [
        ("content-type: text/html\r\n", "<!doctype html>", "a web page"),
        ("", "", "empty"),
        (json, "{\"choices\":[]}", "no choices"),
        (json, "{\"choices\":", "not a completion"),
    ] {
        let (_, failure, _) = run(vec![Reply::status(200, headers, body)]).await;
        let failure = failure.unwrap();
        assert_eq!(failure.kind(), ModelErrorKind::Protocol);
        assert!(failure.to_string().contains(words), "{failure}");
    }
    let (_, failure, _) = run(vec![Reply::status(301, "location: /elsewhere\r\n", "")]).await;
    assert!(failure.unwrap().to_string().contains("it redirects"));
}

#[tokio::test]
async fn limits_end_the_answer_and_name_themselves() {
    let line = format!(
        "data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n",
        "x".repeat(500)
    );
    let events = Limits { event_bytes: 100, ..Limits::default() };
    let answer = Limits { answer_bytes: 1200, ..Limits::default() };
    for (limits, name, text) in [(events, "max_event_bytes", 0), (answer, "answer_bytes", 1000)] {
        let (base, server) = serve(vec![Reply::stream(&[&line; 4])]).await;
        let (events, failure) = ask(&openai(&base, limits), &question()).await;
        let failure = failure.unwrap();
        assert_eq!(failure.kind(), ModelErrorKind::Protocol);
        assert!(failure.to_string().contains(name), "{failure}");
        assert!(events.len() >= text, "{}", events.len());
        server.await.unwrap();
    }
}

#[tokio::test]
async fn d124_dropping_the_stream_closes_the_connection() {
    use futures_util::StreamExt;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await.unwrap();
        let piece = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        let sent = format!("{head}{:x}\r\n{piece}\r\n", piece.len());
        stream.write_all(sent.as_bytes()).await.unwrap();
        let mut rest = Vec::new();
        // Ends only when the client closes.
        let _ = stream.read_to_end(&mut rest).await;
    });
    let mut stream = openai(&base, Limits::default()).stream(&question());
    assert!(matches!(stream.next().await, Some(Ok(Event::Text(text))) if text == "a"));
    drop(stream);
    server.await.unwrap();
}

#[test]
fn waits_grow_and_stay_bounded() {
    for attempt in 0..40 {
        let full = Duration::from_millis(500) * (1 << attempt.min(4));
        let wait = backoff(attempt);
        assert!(wait >= full / 2 && wait <= full, "{attempt}: {wait:?}");
    }
}

#[test]
fn an_unusable_base_url_or_key_is_refused_at_once() {
    let bad_url = Connection { base_url: "nowhere".into(), ..connection("http://h") };
    let error = OpenAiChat::new(Service::OpenAi, "m", bad_url).unwrap_err();
    assert!(error.to_string().contains("base URL"), "{error}");
    let bad_key = Connection { key: Secret::new("a\nb"), ..connection("http://h") };
    let error = AnthropicMessages::new("m", bad_key).unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Auth);
}
