//! Sessions whose streams are kept in a store.

use std::sync::Arc;

use carrick::transport::http::{EventLimits, EventStore, HttpServerOptions, MemoryEventStore};

use crate::legacy::{call, open};
use crate::raw::*;

async fn start_with(store: Arc<dyn EventStore>) -> Running {
    let mut options = HttpServerOptions::default();
    options.event_store = Some(store);
    start(carrick_testkit::fixture::server(), options).await
}

/// An answer that is lost on its way can be asked for again, however quick it was.
async fn a_lost_answer_comes_again(store: Arc<dyn EventStore>) {
    let server = start_with(store).await;
    let address = server.address;
    let session = open(address).await;
    let post = request("POST", address, &[&session], &call(1, "echo", r#"{"t":"hi"}"#));
    let answer = exchange(address, &post).await;
    assert!(answer.is_events(), "{answer:?}");
    let events = answer.events();
    assert_eq!(events.len(), 2, "{events:?}");
    assert_eq!((events[0].data.as_str(), events[0].id.as_deref()), ("", Some("1-0")));
    assert!(events[1].data.contains("hi"));

    for (seen, expected) in [("1-0", Some("hi")), ("1-1", None)] {
        let resume = format!("Last-Event-ID: {seen}");
        let headers = [session.as_str(), "Accept: text/event-stream", resume.as_str()];
        let again = exchange(address, request("GET", address, &headers, "")).await.events();
        match expected {
            Some(text) => assert!(again.len() == 1 && again[0].data.contains(text), "{again:?}"),
            None => assert!(again.is_empty(), "{again:?}"),
        }
    }

    // The streams of another session have the same numbers and other messages.
    let other = open(address).await;
    let headers = [other.as_str(), "Accept: text/event-stream", "Last-Event-ID: 1-0"];
    let refused = exchange(address, request("GET", address, &headers, "")).await;
    assert_eq!(refused.status, 400);
    let post = request("POST", address, &[&other], &call(1, "echo", r#"{"t":"other"}"#));
    exchange(address, post).await;
    let again = exchange(address, request("GET", address, &headers, "")).await.events();
    assert!(again.len() == 1 && again[0].data.contains("other"), "{again:?}");
}

#[tokio::test]
async fn d047_a_lost_answer_comes_again_from_memory() {
    a_lost_answer_comes_again(Arc::new(MemoryEventStore::new(EventLimits::default()))).await;
}

#[cfg(feature = "event-store-sqlite")]
#[tokio::test]
async fn d047_a_lost_answer_comes_again_from_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.db");
    let store = carrick::transport::http::SqliteEventStore::open(path, EventLimits::default());
    a_lost_answer_comes_again(Arc::new(store.unwrap())).await;
}

#[tokio::test]
async fn a_request_without_a_session_is_answered_as_ever() {
    let server = start_with(Arc::new(MemoryEventStore::new(EventLimits::default()))).await;
    let post = modern_call(server.address, "echo", r#"{"t":"hi"}"#, &[]);
    assert!(!exchange(server.address, post).await.is_events());
}
