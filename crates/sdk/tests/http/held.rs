//! Large messages, and clients that do not read.

use std::net::SocketAddr;

use carrick::server::Tool;
use carrick::transport::http::HttpServerOptions;
use carrick::{Server, tool, tools};

use crate::legacy;
use crate::raw::*;

/// More than the buffers of the system take.
const LARGE: usize = 32 << 20;

/// Says how long its text is.
#[tool]
async fn length(t: String) -> String {
    t.len().to_string()
}

async fn serving(max_held_bytes: usize) -> Running {
    let large = Tool::new("large", async || "x".repeat(LARGE));
    let server = Server::builder("s", "1").tool(large).tools(tools![length]).build();
    let mut options = HttpServerOptions::default();
    options.max_held_bytes = max_held_bytes;
    start(server, options).await
}

fn large(address: SocketAddr) -> String {
    modern_call(address, "large", "{}", &[])
}

fn measure(address: SocketAddr, bytes: usize) -> String {
    modern_call(address, "length", &format!(r#"{{"t":"{}"}}"#, "x".repeat(bytes)), &[])
}

#[tokio::test]
async fn f23_who_does_not_read_is_cut_when_others_need_the_memory() {
    let server = serving(LARGE + (1 << 20)).await;
    let mut silent = Wire::open(server.address).await;
    silent.write(large(server.address)).await;
    let (start, headers) = silent.head().await;
    assert!(start.contains("200"), "{start}");
    let announced: usize = headers["content-length"].parse().unwrap();
    let answer = exchange(server.address, large(server.address)).await;
    assert_eq!((answer.status, answer.body.len()), (200, announced));
    let mut got = 0;
    while let Some(read) = silent.take().await {
        got += read;
    }
    assert!(got < announced, "it was cut");
}

#[tokio::test]
async fn f23_while_too_much_waits_requests_are_refused_and_afterwards_not() {
    let server = serving(LARGE / 2).await;
    let address = server.address;
    let mut silent = Wire::open(address).await;
    silent.write(large(address)).await;
    silent.head().await;
    let refused = exchange(address, measure(address, 1)).await;
    assert_eq!((refused.status, refused.error_code()), (503, -32050));
    assert!(refused.body.contains("max_held_bytes"), "{refused:?}");
    assert_eq!((refused.headers["retry-after"].as_str(), &refused.json()["id"]), ("5", &1.into()));
    drop(silent);
    let mut tries = 0;
    while exchange(address, measure(address, 1)).await.status == 503 {
        tries += 1;
        assert!(tries < 10_000, "the memory is not given back");
    }
}

#[tokio::test]
async fn f21_large_requests_count_as_they_come() {
    let server = serving(1 << 20).await;
    let address = server.address;
    let answer = exchange(address, measure(address, 500_000)).await;
    assert_eq!(answer.json()["result"]["content"][0]["text"], "500000");
    // More of it than there is room for, which is not all.
    let mut wire = Wire::open(address).await;
    wire.write(&measure(address, 4 << 20)[..1_500_000]).await;
    assert_eq!(wire.answer().await.status, 503);
    // Those that are only announced take nothing.
    let mut announced = Vec::new();
    for _ in 0..20 {
        let mut wire = Wire::open(address).await;
        let post = measure(address, 900_000);
        wire.write(&post[..1000]).await;
        announced.push(wire);
    }
    assert_eq!(exchange(address, measure(address, 500_000)).await.status, 200);
}

#[tokio::test]
async fn f21_one_session_cannot_have_all_the_memory() {
    let large = Tool::new("large", async || "x".repeat(LARGE));
    let server = Server::builder("s", "1").tool(large).tools(tools![length]).build();
    let mut options = HttpServerOptions::default();
    options.max_session_bytes = 1 << 20;
    let server = start(server, options).await;
    let address = server.address;
    let large_alone = measure(address, 4 << 20);
    let (session, other) = (legacy::open(address).await, legacy::open(address).await);
    let post = |session: &str, body: String| request("POST", address, &[session], &body);
    let measure = |session: &str, bytes: usize| {
        post(session, legacy::call(2, "length", &format!(r#"{{"t":"{}"}}"#, "x".repeat(bytes))))
    };
    assert_eq!(exchange(address, measure(&session, 500_000)).await.status, 200);
    let mut silent = Wire::open(address).await;
    silent.write(post(&session, legacy::call(1, "large", "{}"))).await;
    let (start, _) = silent.head().await;
    assert!(start.contains("200"), "{start}");
    let refused = exchange(address, measure(&session, 1)).await;
    assert_eq!((refused.status, refused.error_code()), (503, -32050));
    assert!(refused.body.contains("max_session_bytes"), "{refused:?}");
    assert_eq!(exchange(address, measure(&other, 500_000)).await.status, 200);
    assert_eq!(exchange(address, large_alone).await.status, 200);
    // A body is counted by its session as it comes.
    let mut wire = Wire::open(address).await;
    wire.write(&measure(&other, 4 << 20)[..1_500_000]).await;
    let refused = wire.answer().await;
    assert_eq!(refused.status, 503);
    assert!(refused.body.contains("max_session_bytes"), "{refused:?}");
    drop((silent, wire));
    let mut tries = 0;
    while exchange(address, measure(&session, 1)).await.status == 503 {
        tries += 1;
        assert!(tries < 10_000, "the memory is not given back");
    }
}
