//! Our client and our server, in both eras.

use std::sync::{Arc, Mutex};

use carrick::client::{
    CallError, Changed, Client, ClientConfig, ClientError, ClientEvent, Era, EventHandler,
};
use carrick::net::{HttpClient, Options};
use carrick::transport::http::{HttpOptions, HttpServerOptions, HttpTransport};
use carrick::types::Implementation;

use crate::raw::*;

async fn connect(server: &Running, era: Option<Era>) -> Client {
    connect_with(server, era, None).await
}

async fn connect_with(server: &Running, era: Option<Era>, events: Option<EventHandler>) -> Client {
    let http = HttpClient::new(Options::default());
    let url = format!("http://{}/mcp", server.address);
    let none: [(&str, &str); 0] = [];
    let transport = HttpTransport::new(http, &url, none, HttpOptions::default()).unwrap();
    let mut config = ClientConfig::new(Implementation::new("t", "0"));
    config.era = era;
    Client::connect(transport, config, events).await.unwrap()
}

const ERAS: [(Option<Era>, Era); 2] = [(None, Era::Modern), (Some(Era::Legacy), Era::Legacy)];

#[tokio::test]
async fn tools_work_in_both_eras() {
    let server = start_fixture().await;
    for (asked, spoken) in ERAS {
        let client = connect(&server, asked).await;
        assert_eq!(client.server().era(), spoken);
        assert!(client.list_tools().await.unwrap().len() > 5);
        let result = client.call_tool("echo", r#"{"t":"héllo\n"}"#.as_bytes()).await.unwrap();
        let result = serde_json::to_value(&result).unwrap();
        assert_eq!(result["content"][0]["text"], "héllo\n");
        match client.call_tool("panics", b"{}").await {
            Err(ClientError::Call(CallError::Rpc(error))) => assert_eq!(error.code, -32603),
            other => panic!("{:?}", other.err()),
        }
        client.close().await;
    }
}

#[tokio::test]
async fn progress_arrives_in_both_eras() {
    let server = start_fixture().await;
    for (asked, _) in ERAS {
        let client = connect(&server, asked).await;
        let steps = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&steps);
        let handler = Arc::new(move |progress: carrick::types::Progress| {
            log.lock().unwrap().push(progress.progress);
        });
        client.call_tool_raw("slow", b"{}", Some(handler)).await.unwrap();
        let steps = std::mem::take(&mut *steps.lock().unwrap());
        assert!(!steps.is_empty() && steps.is_sorted(), "{steps:?}");
        client.close().await;
    }
}

#[tokio::test]
async fn many_calls_at_once_in_both_eras() {
    let server = start_fixture().await;
    for (asked, _) in ERAS {
        let client = connect(&server, asked).await;
        let calls = (0..40).map(|number| {
            let client = client.clone();
            async move {
                let text = format!("{number}-{}", "x".repeat(20_000));
                let arguments = format!(r#"{{"t":"{text}"}}"#);
                let result = client.call_tool("echo", arguments.as_bytes()).await.unwrap();
                let result = serde_json::to_value(&result).unwrap();
                assert_eq!(result["content"][0]["text"], text);
            }
        });
        futures_util::future::join_all(calls).await;
        client.close().await;
    }
}

#[carrick::tool]
async fn first() -> String {
    "1".into()
}

#[tokio::test]
async fn changes_are_heard_and_listed_in_both_eras() {
    let server = carrick::Server::builder("s", "1")
        .tools(carrick::tools![first])
        .resource(carrick::server::Resource::new("x://y", "y", async || "z"))
        .tools_may_change()
        .resource_subscriptions()
        .build();
    let running = start(server.clone(), HttpServerOptions::default()).await;
    for (era, _) in ERAS {
        let (sender, mut changes) = tokio::sync::mpsc::unbounded_channel();
        let events: EventHandler = Arc::new(move |event| {
            if let ClientEvent::Changed(what) = event {
                let _ = sender.send(what);
            }
        });
        let client = connect_with(&running, era, Some(events)).await;
        client.subscribe("x://y").await.unwrap();
        assert_eq!(client.list_tools().await.unwrap().len(), 1);
        // The stream of a session opens by itself; until it is, changes wait.
        server.add_tool(carrick::server::Tool::new("second", async || "2".to_owned()));
        while changes.recv().await.unwrap() != Changed::Tools {}
        assert_eq!(client.list_tools().await.unwrap().len(), 2);
        server.notify_resource_updated("x://y");
        while changes.recv().await.unwrap() != Changed::Resource("x://y".into()) {}
        client.unsubscribe("x://y").await.unwrap();
        assert!(server.remove_tool("second"));
        while changes.recv().await.unwrap() != Changed::Tools {}
        assert_eq!(client.list_tools().await.unwrap().len(), 1);
        client.close().await;
    }
}
