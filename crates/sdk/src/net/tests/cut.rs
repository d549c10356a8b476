//! Exchanges that are dropped, or whose runtime is, wherever they are.

use std::future::poll_fn;
use std::task::Poll;

use tokio::runtime::Builder;

use super::*;

/// Answers each request by its path, byte by byte.
async fn dribble(listener: TcpListener) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        tokio::spawn(async move {
            let mut got = Vec::new();
            loop {
                while !got.ends_with(b"\r\n\r\n") {
                    // Given up by the client, it ends with any error.
                    let Ok(1..) = stream.read_buf(&mut got).await else { return };
                }
                let path = String::from_utf8_lossy(&got).split(' ').nth(1).unwrap().to_owned();
                got.clear();
                let answer = match path.len() % 2 {
                    0 => format!("content-length: {}\r\n\r\n{path}", path.len()),
                    _ => {
                        let (first, rest) = path.split_at(1);
                        let length = rest.len();
                        let head = "transfer-encoding: chunked\r\n\r\n1\r\n";
                        format!("{head}{first}\r\n{length:x}\r\n{rest}\r\n0\r\n\r\n")
                    }
                };
                for byte in format!("HTTP/1.1 200 OK\r\n{answer}").bytes() {
                    if stream.write_all(&[byte]).await.is_err() {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            }
        });
    }
}

/// Nothing of an exchange that is given up is taken for what belongs to the next one.
#[tokio::test]
async fn wherever_an_exchange_is_dropped_the_next_gets_its_own_answer() {
    let (listener, base) = listen().await;
    let server = tokio::spawn(dribble(listener));
    let client = client();
    let ask = |path: String| {
        let exchange = client.send(get(&format!("{base}/{path}")));
        async move { exchange.await.unwrap().into_body().collect(100).await.unwrap() }
    };
    let mut through = 0;
    for polls in 0.. {
        let mut exchange = Box::pin(ask("x".repeat(20 + polls % 2)));
        let mut left = polls;
        // Polled so often, each time after it was woken, and dropped.
        let ended = poll_fn(|cx| {
            if left == 0 {
                return Poll::Ready(None);
            }
            left -= 1;
            exchange.as_mut().poll(cx).map(Some)
        });
        through += usize::from(ended.await.is_some());
        drop(exchange);
        let path = format!("{polls}");
        assert_eq!(ask(path.clone()).await, format!("/{path}"));
        if through == 4 {
            assert!(polls > 4, "it was never dropped half way");
            break;
        }
    }
    server.abort();
}

/// A body whose runtime is gone says so, to whoever goes on reading in another one.
#[test]
fn a_body_does_not_wait_for_a_runtime_that_has_ended() {
    let runtime = || Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let mut body = first.block_on(async {
        let (listener, base) = listen().await;
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome").await.unwrap();
            std::future::pending::<()>().await;
        });
        let mut body = client().send(get(&base)).await.unwrap().into_body();
        assert_eq!(body.chunk().await.unwrap().unwrap(), "some");
        body
    });
    drop(first);
    let error = runtime().block_on(body.chunk()).unwrap_err();
    assert_eq!(error.kind(), NetErrorKind::Body);
}

#[tokio::test]
async fn a_host_may_be_an_address_of_the_sixth_version() {
    let Ok(listener) = TcpListener::bind("[::1]:0").await else { return };
    let base = format!("http://{}", listener.local_addr().unwrap());
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi";
    let server = serve(listener, vec![answer, answer]);
    let client = client();
    for _ in 0..2 {
        let response = client.send(get(&base)).await.unwrap();
        assert_eq!(response.into_body().collect(10).await.unwrap(), "hi");
    }
    server.await.unwrap();
}
