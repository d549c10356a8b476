//! The client against servers scripted byte by byte.

mod cut;
mod reuse;

use std::error::Error as _;
use std::io;
use std::sync::Arc;

use futures_util::future::join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::*;

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    (listener, base)
}

/// Reads one request up to the end of its head plus `Content-Length` bytes.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut got = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&got).to_lowercase();
        if let Some(end) = text.find("\r\n\r\n") {
            let length = text
                .lines()
                .find_map(|line| line.strip_prefix("content-length: "))
                .map_or(0, |length| length.parse().unwrap());
            if got.len() >= end + 4 + length {
                return String::from_utf8(got).unwrap();
            }
        }
        assert_ne!(stream.read_buf(&mut got).await.unwrap(), 0, "request cut");
    }
}

/// Serves one connection: for each answer, reads a request and writes the answer; then closes.
fn serve(
    listener: TcpListener,
    answers: Vec<&'static str>,
) -> tokio::task::JoinHandle<Vec<String>> {
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut requests = Vec::new();
        for answer in answers {
            requests.push(read_request(&mut stream).await);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        requests
    })
}

fn get(url: &str) -> Request<Bytes> {
    Request::get(url).body(Bytes::new()).unwrap()
}

fn client() -> HttpClient {
    HttpClient::new(Options::default())
}

#[tokio::test]
async fn two_requests_share_one_connection() {
    let (listener, base) = listen().await;
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    let server = serve(listener, vec![answer, answer]);
    let client = client();
    let post = Request::post(format!("{base}/a?q=1")).body(Bytes::from_static(b"body")).unwrap();
    let first = client.send(post).await.unwrap();
    assert_eq!(first.into_body().collect(10).await.unwrap(), "hi");
    // A clone uses the same pool.
    let second = client.clone().send(get(&base)).await.unwrap();
    assert_eq!(second.into_body().collect(10).await.unwrap(), "hi");
    let requests = server.await.unwrap();
    assert!(requests[0].starts_with("POST /a?q=1 HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(requests[0].ends_with("\r\n\r\nbody"));
    assert!(requests[0].contains(base.trim_start_matches("http://")), "Host is sent");
}

/// As many connections are kept as were needed at a time.
#[tokio::test]
async fn requests_side_by_side_do_not_connect_anew() {
    const AT_ONCE: usize = 32;
    let (listener, base) = listen().await;
    let all_there = Arc::new(Barrier::new(AT_ONCE));
    let server = tokio::spawn(async move {
        let mut connections = JoinSet::new();
        let mut accepted = 0;
        loop {
            tokio::select! {
                connection = listener.accept() => {
                    let (mut stream, _) = connection.unwrap();
                    let all_there = Arc::clone(&all_there);
                    accepted += 1;
                    connections.spawn(async move {
                        for _ in 0..2 {
                            read_request(&mut stream).await;
                            all_there.wait().await;
                            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
                            stream.write_all(answer.as_bytes()).await.unwrap();
                        }
                    });
                }
                Some(ended) = connections.join_next() => {
                    ended.unwrap();
                    if connections.is_empty() {
                        return accepted;
                    }
                }
            }
        }
    });
    let client = client();
    for _ in 0..2 {
        let one = || async {
            let response = client.send(get(&base)).await.unwrap();
            response.into_body().collect(10).await.unwrap()
        };
        let answers = join_all((0..AT_ONCE).map(|_| one())).await;
        assert!(answers.iter().all(|answer| answer == "hi"));
        // The connections come back to the pool by themselves.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    assert_eq!(server.await.unwrap(), AT_ONCE);
}

#[tokio::test]
async fn chunks_arrive_before_the_body_ends() {
    let (listener, base) = listen().await;
    let (go_on, wait) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n";
        stream.write_all(head.as_bytes()).await.unwrap();
        wait.await.unwrap();
        stream.write_all(b"3\r\ntwo\r\n0\r\n\r\n").await.unwrap();
    });
    let mut body = client().send(get(&base)).await.unwrap().into_body();
    assert_eq!(body.chunk().await.unwrap().unwrap(), "one");
    go_on.send(()).unwrap();
    assert_eq!(body.chunk().await.unwrap().unwrap(), "two");
    assert_eq!(body.chunk().await.unwrap(), None);
    server.await.unwrap();
}

#[tokio::test]
async fn collect_stops_at_its_limit() {
    // Announced, in one chunk, and grown over several.
    let answers = [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\nabcdef\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\ndef\r\n",
    ];
    for answer in answers {
        let (listener, base) = listen().await;
        let server = serve(listener, vec![answer]);
        let response = client().send(get(&base)).await.unwrap();
        let error = response.into_body().collect(5).await.unwrap_err();
        assert_eq!(error.kind(), NetErrorKind::TooLarge);
        assert!(error.to_string().contains("5 bytes"), "{error}");
        server.await.unwrap();
    }
    let (listener, base) = listen().await;
    let server = serve(listener, vec!["HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde"]);
    let response = client().send(get(&base)).await.unwrap();
    assert_eq!(response.into_body().collect(5).await.unwrap(), "abcde");
    server.await.unwrap();
}

#[tokio::test]
async fn a_refused_connection_names_the_host_but_not_the_query() {
    let (listener, base) = listen().await;
    drop(listener);
    let error = client().send(get(&format!("{base}/p?key=secret"))).await.unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Connect);
    assert!(error.never_sent());
    let text = error.to_string();
    assert!(text.contains(base.trim_start_matches("http://")), "{text}");
    assert!(!text.contains("secret"), "{text}");
    let mut deepest = error.source().unwrap();
    while let Some(next) = deepest.source() {
        deepest = next;
    }
    let io = deepest.downcast_ref::<io::Error>().unwrap();
    assert_eq!(io.kind(), io::ErrorKind::ConnectionRefused);
}

#[tokio::test]
async fn tls_to_a_plain_server_is_a_tls_error() {
    let (listener, base) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        let mut rest = Vec::new();
        // Whether the client closes or resets is its own affair.
        let _ = stream.read_to_end(&mut rest).await;
    });
    let error = client().send(get(&base.replace("http:", "https:"))).await.unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Tls, "{error}");
    assert!(error.never_sent());
    server.await.unwrap();
}

#[tokio::test]
async fn an_unknown_host_is_a_dns_error() {
    // A label of 64 letters is refused without asking any server.
    let host = format!("{}.invalid", "x".repeat(64));
    let error = client().send(get(&format!("http://{host}/"))).await.unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Dns, "{error}");
    assert_eq!(error.host(), host);
}

#[tokio::test]
async fn broken_answers_are_told_apart() {
    let cases = [
        ("garbage\r\n\r\n", NetErrorKind::Exchange),
        ("", NetErrorKind::Exchange),
        ("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort", NetErrorKind::Body),
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", NetErrorKind::Body),
    ];
    for (answer, kind) in cases {
        let (listener, base) = listen().await;
        let server = serve(listener, vec![answer]);
        let error = match client().send(get(&base)).await {
            Ok(response) => response.into_body().collect(100).await.unwrap_err(),
            Err(error) => error,
        };
        assert_eq!(error.kind(), kind, "{answer:?}: {error}");
        assert!(!error.never_sent());
        server.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_times_out() {
    let (listener, base) = listen().await;
    let options = Options {
        connect_timeout: Duration::from_secs(60),
        read_timeout: Some(Duration::from_secs(30)),
        ..Options::default()
    };
    let error = HttpClient::new(options).send(get(&base)).await.unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Timeout);
    assert!(error.to_string().contains("30s"), "{error}");
    drop(listener);
}

#[tokio::test]
async fn unusable_urls_are_refused_without_repeating_their_secrets() {
    for url in ["/path", "ftp://host/", "http://user:hunter2@host/"] {
        let error = client().send(get(url)).await.unwrap_err();
        assert_eq!(error.kind(), NetErrorKind::InvalidUrl, "{url}");
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }
}

/// A server that closes a connection between two requests costs nothing but a new one.
#[tokio::test]
async fn a_connection_that_the_server_has_closed_is_not_used_again() {
    let (listener, base) = listen().await;
    let server = tokio::spawn(async move {
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let request = read_request(&mut stream).await;
            assert!(request.ends_with("\r\n\r\nbody"), "{request}");
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    let client = client();
    for _ in 0..2 {
        let post = Request::post(&base).body(Bytes::from_static(b"body")).unwrap();
        let response = client.send(post).await.unwrap();
        assert_eq!(response.into_body().collect(10).await.unwrap(), "hi");
        // What the server does comes to be known as soon as the runtime waits.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }
    server.await.unwrap();
}

/// What is given back is closed in time, even if nobody asks again.
#[tokio::test(start_paused = true)]
async fn an_unused_connection_is_closed_after_its_time() {
    let (listener, base) = listen().await;
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(answer.as_bytes()).await.unwrap();
        // The end of what the client sends.
        stream.read(&mut [0]).await.unwrap()
    });
    let options = Options { keep_idle: Duration::from_secs(30), ..Options::default() };
    let client = HttpClient::new(options);
    let response = client.send(get(&base)).await.unwrap();
    assert_eq!(response.into_body().collect(10).await.unwrap(), "hi");
    assert_eq!(server.await.unwrap(), 0);
}

/// A body that nobody reads to its end takes its connection with it.
#[tokio::test]
async fn a_body_that_is_dropped_closes_its_connection() {
    let (listener, base) = listen().await;
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome").await.unwrap();
        stream.read(&mut [0]).await.unwrap_or(0)
    });
    let mut body = client().send(get(&base)).await.unwrap().into_body();
    assert_eq!(body.chunk().await.unwrap().unwrap(), "some");
    drop(body);
    assert_eq!(server.await.unwrap(), 0);
}

/// A request that is given up half way leaves nothing that could mix with the next one.
#[tokio::test]
async fn a_request_that_is_given_up_closes_its_connection() {
    let (listener, base) = listen().await;
    let (seen, wait) = tokio::sync::oneshot::channel();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        seen.send(()).unwrap();
        stream.read(&mut [0]).await.unwrap_or(0)
    });
    let client = client();
    tokio::select! {
        response = client.send(get(&base)) => panic!("an answer: {response:?}"),
        seen = wait => seen.unwrap(),
    }
    assert_eq!(server.await.unwrap(), 0);
}

/// Hosts are told apart by scheme, name and port, and are named as browsers do.
#[test]
fn a_host_is_named_without_its_usual_port() {
    let pool = Pool::new(&Options::default());
    for (url, named) in [
        ("http://h.example:80/a", "h.example"),
        ("https://h.example:443", "h.example"),
        ("https://h.example:80/", "h.example:80"),
        ("http://[::1]:8080/a?b", "[::1]:8080"),
        ("http://[::1]/", "[::1]"),
    ] {
        let host = pool.host(&url.parse().unwrap()).unwrap();
        let sent = host.prepare(get(url));
        assert_eq!(sent.headers()["host"], named, "{url}");
        assert!(sent.uri().authority().is_none() && sent.uri().path().starts_with('/'), "{url}");
    }
    let same = |one: &str, other: &str| {
        let host = |url: &str| pool.host(&url.parse().unwrap()).unwrap();
        Arc::ptr_eq(&host(one), &host(other))
    };
    assert!(same("http://h.example/a", "http://H.example/b"));
    assert!(!same("http://h.example/a", "https://h.example/a"));
    assert!(!same("http://h.example/a", "http://h.example:8080/a"));
}
