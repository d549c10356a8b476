//! When a connection may carry another request, and when not.

use std::io::{Read, Write};

use tokio::runtime::Builder;
use tokio::time::{advance, timeout};

use super::*;

const HI: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";

/// Serves connections one after the other. On each it reads requests for as long as there are
/// answers for it, then waits for the client to close it, unless the last answer is empty: then it
/// closes it itself. Gives the paths of all requests, by connection.
fn serve_each(
    listener: TcpListener,
    connections: Vec<Vec<&'static str>>,
) -> tokio::task::JoinHandle<Vec<Vec<String>>> {
    tokio::spawn(async move {
        let mut seen = Vec::new();
        for answers in connections {
            let (mut stream, _) = listener.accept().await.unwrap();
            let waits = answers.last() != Some(&"");
            let mut paths = Vec::new();
            for answer in answers {
                let request = read_request(&mut stream).await;
                paths.push(request.split(' ').nth(1).unwrap().to_owned());
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
            if waits {
                // Whether the client closes or resets is its own affair.
                assert!(matches!(stream.read(&mut [0]).await, Ok(0) | Err(_)));
            }
            seen.push(paths);
        }
        seen
    })
}

async fn text(client: &HttpClient, url: String) -> Bytes {
    client.send(get(&url)).await.unwrap().into_body().collect(100).await.unwrap()
}

/// After this answer the next request goes to a new connection.
async fn is_the_last(first: &'static str) {
    let (listener, base) = listen().await;
    let server = serve_each(listener, vec![vec![first], vec![HI]]);
    let client = client();
    text(&client, format!("{base}/1")).await;
    assert_eq!(text(&client, format!("{base}/2")).await, "hi", "{first}");
    drop(client);
    assert_eq!(server.await.unwrap(), [["/1"], ["/2"]]);
}

/// What comes behind an answer is not the answer to the next request.
#[tokio::test]
async fn a_second_answer_in_one_write_answers_nothing() {
    for first in [
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\njunk",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\nHTTP/1.1 200 OK\r\n",
        "HTTP/1.1 204 No\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\njunk",
        "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n\r\njunk",
    ] {
        is_the_last(first).await;
    }
}

/// These end with their connection, whether the server closes it or not.
#[tokio::test]
async fn an_answer_that_closes_is_the_last() {
    for first in [
        "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    ] {
        is_the_last(first).await;
    }
    // Without a length, the end of the connection is that of the body.
    let (listener, base) = listen().await;
    let server = serve(listener, vec!["HTTP/1.1 200 OK\r\n\r\nto the end"]);
    assert_eq!(text(&client(), base).await, "to the end");
    server.await.unwrap();
}

/// Interim answers are none, and an old server may keep its connections.
#[tokio::test]
async fn an_answer_after_interim_ones_keeps_the_connection() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n\
                   HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    let old = "HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 2\r\n\r\nhi";
    let chunked =
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\na: b\r\n\r\n";
    let (listener, base) = listen().await;
    let server = serve_each(listener, vec![vec![interim, old, chunked, HI]]);
    let client = client();
    for path in 1..5 {
        assert_eq!(text(&client, format!("{base}/{path}")).await, "hi");
    }
    drop(client);
    assert_eq!(server.await.unwrap(), [["/1", "/2", "/3", "/4"]]);
}

/// A server that has read a request may have acted on it, also on a connection that was used
/// before.
#[tokio::test]
async fn what_a_server_may_have_seen_is_not_sent_again() {
    let (listener, base) = listen().await;
    let server = serve_each(listener, vec![vec![HI, ""], vec![HI]]);
    let client = client();
    text(&client, format!("{base}/1")).await;
    let post = Request::post(format!("{base}/2")).body(Bytes::from_static(b"once")).unwrap();
    let error = client.send(post).await.unwrap_err();
    assert_eq!((error.kind(), error.never_sent()), (NetErrorKind::Exchange, false));
    text(&client, format!("{base}/3")).await;
    drop(client);
    assert_eq!(server.await.unwrap(), [vec!["/1", "/2"], vec!["/3"]]);
}

/// An answer may come before its request has been read, and be all that comes.
#[tokio::test]
async fn an_early_answer_is_taken_and_its_connection_left() {
    for refusal in [
        "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno",
        "HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n",
    ] {
        let (listener, base) = listen().await;
        let server = tokio::spawn(async move {
            let (mut first, _) = listener.accept().await.unwrap();
            first.read_exact(&mut [0; 100]).await.unwrap();
            first.write_all(refusal.as_bytes()).await.unwrap();
            let (mut second, _) = listener.accept().await.unwrap();
            read_request(&mut second).await;
            second.write_all(HI.as_bytes()).await.unwrap();
        });
        let client = client();
        let large = Request::post(&base).body(Bytes::from(vec![0; 64 << 20])).unwrap();
        let response = client.send(large).await.unwrap();
        assert_eq!(response.status(), 413);
        response.into_body().collect(100).await.unwrap();
        assert_eq!(text(&client, base).await, "hi");
        server.await.unwrap();
    }
}

/// What is younger than that when it is looked at may be older when it is asked for.
#[tokio::test(start_paused = true)]
async fn a_connection_is_not_used_after_its_time() {
    let (listener, base) = listen().await;
    let server = serve_each(listener, vec![vec![HI, HI], vec![HI]]);
    let options = Options { keep_idle: Duration::from_secs(4), ..Options::default() };
    let client = HttpClient::new(options);
    for (path, wait) in [(1, 1), (2, 5), (3, 0)] {
        assert_eq!(text(&client, format!("{base}/{path}")).await, "hi");
        advance(Duration::from_secs(wait)).await;
    }
    drop(client);
    assert_eq!(server.await.unwrap(), [vec!["/1", "/2"], vec!["/3"]]);
}

#[tokio::test]
async fn none_is_kept_where_none_may_be() {
    let keep = |keep_idle, max_idle_per_host| Options {
        keep_idle: Duration::from_secs(keep_idle),
        max_idle_per_host,
        ..Options::default()
    };
    for (options, connections) in [(keep(0, 9), 2), (keep(9, 0), 2), (keep(9, 1), 1)] {
        let (listener, base) = listen().await;
        let answers = match connections {
            1 => vec![vec![HI, HI]],
            _ => vec![vec![HI], vec![HI]],
        };
        let server = serve_each(listener, answers);
        let client = HttpClient::new(options);
        text(&client, base.clone()).await;
        text(&client, base).await;
        drop(client);
        assert_eq!(server.await.unwrap().len(), connections);
    }
}

/// A client outlives a runtime, whose connections and tasks end at once.
#[test]
fn a_client_goes_on_in_another_runtime() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let mut ends = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            stream.write_all(HI.as_bytes()).unwrap();
            ends.push(stream);
        }
        // Both are closed, though nobody asks again: one by the end of its runtime.
        ends.iter_mut().map(|stream| stream.read(&mut [0]).unwrap()).collect::<Vec<_>>()
    });
    let options = Options { keep_idle: Duration::from_millis(10), ..Options::default() };
    let client = HttpClient::new(options);
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    assert_eq!(first.block_on(text(&client, base.clone())), "hi");
    drop(first);
    runtime().block_on(async {
        assert_eq!(text(&client, base).await, "hi");
        tokio::task::spawn_blocking(|| assert_eq!(server.join().unwrap(), [0, 0])).await.unwrap();
    });
}

/// Whoever goes on reading is woken, not the one who began to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_may_be_awaited_by_another_task() {
    let (listener, base) = listen().await;
    let (go_on, wait) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        wait.await.unwrap();
        stream.write_all(HI.as_bytes()).await.unwrap();
    });
    let client = client();
    let mut sending = Box::pin(async move { client.send(get(&base)).await });
    // Long enough to be connected, and to have asked.
    for _ in 0..3 {
        let _ = timeout(Duration::from_millis(1), &mut sending).await;
    }
    let reading = tokio::spawn(async move {
        let mut body = sending.await.unwrap().into_body();
        assert_eq!(body.chunk().await.unwrap().unwrap(), "hi");
        tokio::spawn(async move { body.chunk().await.unwrap() }).await.unwrap()
    });
    tokio::task::yield_now().await;
    go_on.send(()).unwrap();
    assert_eq!(reading.await.unwrap(), None);
    server.await.unwrap();
}

/// Each gets its own answer, and large ones go both ways at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_very_many_at_a_time_each_gets_its_own_answer() {
    let (listener, base) = listen().await;
    let server = tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let (mut reader, mut writer) = stream.split();
                let mut head = Vec::new();
                loop {
                    head.clear();
                    while !head.ends_with(b"\r\n\r\n") {
                        match reader.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    let text = String::from_utf8_lossy(&head).to_lowercase();
                    let length =
                        text.lines().find_map(|line| line.strip_prefix("content-length: "));
                    let length: u64 = length.map_or(0, |length| length.parse().unwrap());
                    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n");
                    writer.write_all(answer.as_bytes()).await.unwrap();
                    // Back while it still comes.
                    tokio::io::copy(&mut (&mut reader).take(length), &mut writer).await.unwrap();
                }
            });
        }
    });
    let client = client();
    let mut exchanges = JoinSet::new();
    for number in 0..1000_usize {
        let (client, base) = (client.clone(), base.clone());
        exchanges.spawn(async move {
            for round in 0..3 {
                let size = if number == 0 { 8 << 20 } else { number * 7 + 1 };
                let body = Bytes::from(vec![(number + round) as u8; size]);
                let post = Request::post(&base).body(body.clone()).unwrap();
                let response = client.send(post).await.unwrap();
                assert!(response.into_body().collect(size).await.unwrap() == body, "{number}");
            }
        });
    }
    while let Some(done) = exchanges.join_next().await {
        done.unwrap();
    }
    server.abort();
}

/// The version of a request is of no concern: it is sent as HTTP/1.1.
#[tokio::test]
async fn a_request_of_any_version_is_sent() {
    for version in [http::Version::HTTP_09, http::Version::HTTP_10, http::Version::HTTP_3] {
        let (listener, base) = listen().await;
        let server = serve(listener, vec![HI]);
        let mut request = get(&base);
        *request.version_mut() = version;
        client().send(request).await.unwrap();
        assert!(server.await.unwrap()[0].starts_with("GET / HTTP/1.1\r\n"));
    }
}

/// Hosts do not pile up.
#[test]
fn hosts_without_connections_are_forgotten() {
    let pool = Pool::new(&Options::default());
    let kept = pool.host(&"http://h.example/".parse().unwrap()).unwrap();
    for port in 1..2000 {
        pool.host(&format!("http://h.example:{port}/").parse().unwrap()).unwrap();
    }
    assert!(pool.len() <= 257, "{}", pool.len());
    let again = pool.host(&"http://h.example/".parse().unwrap()).unwrap();
    assert!(Arc::ptr_eq(&kept, &again), "one in use is kept");
}
