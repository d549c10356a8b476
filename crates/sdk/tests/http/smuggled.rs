//! Requests that could be read in two ways, and the one way in which they are.

use carrick::transport::http::HttpServerOptions;

use crate::raw::*;

fn list(address: std::net::SocketAddr) -> String {
    modern(address, "tools/list")
}

/// A request of these header lines beside those of a modern list, and its body in one chunk.
fn chunked(address: std::net::SocketAddr, lines: &str) -> String {
    let (head, body) = list(address).split_once("\r\n\r\n").map(own).unwrap();
    let head: Vec<&str> = head.lines().filter(|line| !line.starts_with("Content-Length")).collect();
    format!("{}\r\n{lines}\r\n{:x}\r\n{body}\r\n0\r\n\r\n", head.join("\r\n"), body.len())
}

fn own((head, body): (&str, &str)) -> (String, String) {
    (head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn f26_a_body_is_coded_in_chunks_or_not_at_all() {
    let server = start_fixture().await;
    let address = server.address;
    for (coding, status) in [
        ("Transfer-Encoding: chunked\r\n", 200),
        ("transfer-encoding: Chunked\r\n", 200),
        ("Transfer-Encoding: chunked, chunked\r\n", 400),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400),
        ("Transfer-Encoding: ,chunked\r\n", 501),
        ("Transfer-Encoding: gzip, chunked\r\n", 501),
        ("Transfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n", 501),
        ("Transfer-Encoding: chunked, identity\r\n", 400),
        ("Transfer-Encoding: xchunked\r\n", 400),
        ("Transfer-Encoding: \"chunked\"\r\n", 400),
        ("Transfer-Encoding : chunked\r\n", 400),
    ] {
        let answer = exchange(address, chunked(address, coding)).await;
        assert_eq!(answer.status, status, "{coding:?} {answer:?}");
        let closes = answer.headers.get("connection").is_some_and(|value| value == "close");
        assert!(closes, "{coding:?}");
    }
}

#[tokio::test]
async fn f26_what_follows_a_request_with_two_lengths_is_not_answered() {
    let server = start_fixture().await;
    let address = server.address;
    for lines in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    ] {
        let mut wire = Wire::open(address).await;
        wire.write(chunked(address, lines) + &list(address)).await;
        wire.answer().await;
        assert!(wire.is_closed().await, "{lines:?}");
    }
    for lengths in [
        "Content-Length: 3\r\nContent-Length: 4",
        "Content-Length: 3, 3",
        "Content-Length: +3",
        "Content-Length: -1",
        "Content-Length: 99999999999999999999",
    ] {
        let request = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\n{lengths}\r\n\r\n{{}} ");
        let mut wire = Wire::open(address).await;
        wire.write(request + &list(address)).await;
        assert_eq!(wire.answer().await.status, 400, "{lengths:?}");
        assert!(wire.is_closed().await, "{lengths:?}");
    }
}

#[tokio::test]
async fn f26_broken_chunks_end_the_connection() {
    let server = start_fixture().await;
    let address = server.address;
    let (head, body) = list(address).split_once("\r\n\r\n").map(own).unwrap();
    let head: Vec<&str> = head.lines().filter(|line| !line.starts_with("Content-Length")).collect();
    let head = head.join("\r\n") + "\r\nTransfer-Encoding: chunked\r\n\r\n";
    let size = format!("{:x}", body.len());
    let extension = "x".repeat(20_000);
    for chunks in [
        format!("-{size}\r\n{body}\r\n0\r\n\r\n"),
        format!("0x{size}\r\n{body}\r\n0\r\n\r\n"),
        format!("{size}zz\r\n{body}\r\n0\r\n\r\n"),
        format!("fffffffffffffffff\r\n{body}\r\n0\r\n\r\n"),
        format!("\r\n{body}\r\n0\r\n\r\n"),
        format!("{size}\r\n{body}00\r\n\r\n"),
        format!("{size};{extension}\r\n{body}\r\n0\r\n\r\n"),
        format!("{size}\r\n{body}\r\n0\r\nx: {extension}{extension}{extension}{extension}\r\n\r\n"),
    ] {
        let mut wire = Wire::open(address).await;
        wire.write(format!("{head}{chunks}{}", list(address))).await;
        let answer = wire.answer().await;
        assert_eq!(answer.status, 400, "{chunks:.60} {answer:?}");
        assert!(wire.is_closed().await, "{chunks:.60}");
    }
    // Trailers and extensions of some bytes have no meaning.
    let chunks = format!("{size};a=b\r\n{body}\r\n0\r\nMcp-Method: x\r\n\r\n");
    assert_eq!(exchange(address, head.clone() + &chunks).await.status, 200);
}

#[tokio::test]
async fn f26_a_host_stands_once_in_every_request() {
    let server = start_fixture().await;
    let address = server.address;
    let request = |target: &str, hosts: &str| {
        let (_, rest) = list(address).split_once("\r\n").map(own).unwrap();
        let (_, rest) = rest.split_once("\r\n").map(own).unwrap();
        format!("POST {target} HTTP/1.1\r\n{hosts}{rest}")
    };
    let own = format!("Host: {address}\r\n");
    let absolute = format!("http://{address}/mcp");
    for (target, hosts, status) in [
        ("/mcp", own.as_str(), 200),
        ("/mcp", "", 400),
        ("/mcp", &format!("{own}{own}"), 400),
        ("/mcp", "Host:\r\n", 403),
        (&absolute, &own, 200),
        (&absolute, "", 400),
        (&absolute, &format!("{own}{own}"), 400),
        (&absolute, &format!("{own}Host: evil.example\r\n"), 400),
        ("http://evil.example/mcp", &own, 403),
    ] {
        let answer = exchange(address, request(target, hosts)).await;
        assert_eq!(answer.status, status, "{target} {hosts:?} {answer:?}");
    }
}

#[tokio::test]
async fn f26_a_head_has_its_bound_and_its_grammar() {
    let server = start_fixture().await;
    let address = server.address;
    let with =
        |line: &str| list(address).replacen("Content-Type", &format!("{line}\r\nContent-Type"), 1);
    for (line, status) in [
        (format!("X-A: {}", "a".repeat(60_000)), 200),
        (format!("X-A: {}", "a".repeat(80_000)), 431),
        (format!("X-A: {}", "a".repeat(64 << 10)), 431),
        ("X-A: b\r\n".repeat(200) + "X-A: b", 431),
        ("X-A: b\r\n folded".into(), 400),
        ("X-A: b\rX-B: c".into(), 400),
        ("X-A: b\0c".into(), 400),
        ("X\0A: b".into(), 400),
        ("X A: b".into(), 400),
        (" X-A: b".into(), 400),
        ("X-A : b".into(), 400),
        (": b".into(), 400),
        ("no colon".into(), 400),
    ] {
        let mut wire = Wire::open(address).await;
        wire.write(with(&line)).await;
        assert_eq!(wire.answer().await.status, status, "{line:.40}");
    }
    let old =
        chunked(address, "Transfer-Encoding: chunked\r\n").replacen("HTTP/1.1", "HTTP/1.0", 1);
    assert_eq!(exchange(address, old).await.status, 400);
}

#[tokio::test]
async fn f26_what_may_stand_once_does_not_stand_twice() {
    let server = start_fixture().await;
    let address = server.address;
    let session = crate::legacy::open(address).await;
    let list = r#"{"jsonrpc":"2.0","id":5,"method":"tools/list"}"#;
    let twice = [session.as_str(), session.as_str()];
    let lower = session.replacen("Mcp-Session-Id", "mcp-session-id", 1);
    for headers in [twice, [session.as_str(), lower.as_str()]] {
        let answer = exchange(address, request("POST", address, &headers, list)).await;
        assert_eq!(answer.status, 400, "{answer:?}");
        let answer = exchange(address, request("DELETE", address, &headers, "")).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    for line in
        ["Mcp-Method: tools/list", "mcp-method: tools/list", "MCP-Protocol-Version: 2026-07-28"]
    {
        let post = modern(address, "tools/list").replacen(
            "Content-Type",
            &format!("{line}\r\nContent-Type"),
            1,
        );
        assert_eq!(exchange(address, post).await.status, 400, "{line}");
    }
}

#[tokio::test]
async fn f26_a_client_may_wait_for_leave_to_send_its_body() {
    let server = start_fixture().await;
    let address = server.address;
    let post = list(address).replacen("Content-Type", "Expect: 100-continue\r\nContent-Type", 1);
    let (head, body) = post.split_once("\r\n\r\n").map(own).unwrap();
    let mut wire = Wire::open(address).await;
    wire.write(head + "\r\n\r\n").await;
    assert_eq!(wire.head().await.0, "HTTP/1.1 100 Continue");
    wire.write(body).await;
    assert_eq!(wire.answer().await.status, 200);
    // Several requests at once are answered in their order.
    wire.write(list(address) + &list(address)).await;
    assert_eq!((wire.answer().await.status, wire.answer().await.status), (200, 200));
}

#[tokio::test]
async fn f30_a_slash_at_the_end_makes_no_difference() {
    for path in ["/mcp", "/mcp/", "/a/b", "/"] {
        let mut options = HttpServerOptions::default();
        options.path = path.into();
        let server = start(carrick_testkit::fixture::server(), options).await;
        let address = server.address;
        let bare = path.trim_end_matches('/');
        for (target, status) in [
            (bare.to_owned(), 200),
            (format!("{bare}/"), 200),
            (format!("{bare}?x=1"), 200),
            (format!("{bare}/?x=1"), 200),
            (format!("{bare}//"), 404),
            (format!("{bare}/x"), 404),
        ] {
            if target.is_empty() || target.starts_with('?') {
                continue;
            }
            let post = list(address).replacen("/mcp", &target, 1);
            assert_eq!(exchange(address, post).await.status, status, "{path} {target}");
        }
    }
}
