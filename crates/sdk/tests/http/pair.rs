//! Our client and our server, in both eras.

use std::sync::{Arc, Mutex};

use carrick::client::{CallError, Client, ClientConfig, ClientError, Era};
use carrick::net::{HttpClient, Options};
use carrick::transport::http::{HttpOptions, HttpTransport};
use carrick::types::Implementation;

use crate::raw::*;

async fn connect(server: &Running, era: Option<Era>) -> Client {
    let http = HttpClient::new(Options::default());
    let url = format!("http://{}/mcp", server.address);
    let none: [(&str, &str); 0] = [];
    let transport = HttpTransport::new(http, &url, none, HttpOptions::default()).unwrap();
    let mut config = ClientConfig::new(Implementation::new("t", "0"));
    config.era = era;
    Client::connect(transport, config, None).await.unwrap()
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
