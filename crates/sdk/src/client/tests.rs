mod caches;
mod forward;
mod results;
pub(super) mod scripted;

use super::*;
use crate::transport::memory;
use crate::{Server, ToolError, serve, tool, tools};
use carrick_proto::types::Implementation;

/// Adds two numbers.
///
/// Negative ones too.
#[tool(read_only, title = "Sum")]
async fn add(
    /// The first number.
    a: i64,
    #[default(1)] b: i64,
) -> Result<String, ToolError> {
    a.checked_add(b).map(|sum| sum.to_string()).ok_or(ToolError::new("too large"))
}

#[tool]
async fn never() -> String {
    std::future::pending().await
}

async fn connect(era: Option<Era>) -> Client {
    let server = Server::builder("test", "1.0").instructions("be kind").tools(tools![add, never]);
    let (ours, theirs) = memory();
    let server = server.build();
    tokio::spawn(async move { serve(&server, theirs).await });
    let mut config = ClientConfig::new(Implementation::new("tests", "0"));
    config.era = era;
    Client::connect(ours, config, None).await.expect("connects")
}

#[tokio::test]
async fn both_eras_list_and_call() {
    for era in [None, Some(Era::Legacy), Some(Era::Modern)] {
        let client = connect(era).await;
        let server = client.server();
        assert_eq!(server.era(), era.unwrap_or(Era::Modern));
        assert_eq!(server.info.as_ref().map(|i| i.name.as_str()), Some("test"));
        assert_eq!(server.instructions.as_deref(), Some("be kind"));
        let tools = client.list_tools().await.expect("lists");
        assert_eq!(tools.len(), 2);
        assert_eq!(
            tools[0].description.as_deref(),
            Some("Adds two numbers.\n\nNegative ones too.")
        );
        let schema: serde_json::Value = serde_json::from_str(tools[0].input_schema.get()).unwrap();
        assert_eq!(schema["required"], serde_json::json!(["a"]));
        assert_eq!(schema["properties"]["a"]["description"], "The first number.");
        assert_eq!(schema["properties"]["b"]["default"], 1);
        let result = client.call_tool("add", br#"{"a":2}"#).await.expect("a result");
        assert_eq!(result.content[0].as_text(), Some("3"));
        let failed = client.call_tool("add", br#"{"a":9223372036854775807}"#).await.unwrap();
        assert!(failed.is_error && failed.content[0].as_text() == Some("too large"));
        let wrong = client.call_tool("add", br#"{"a":"x"}"#).await.expect("a result");
        assert!(wrong.is_error, "wrong arguments are a result the model can read");
        let unknown = client.call_tool("sub", b"{}").await.expect_err("no such tool");
        assert!(matches!(unknown.call(), Some(CallError::Rpc(e)) if e.code == -32602));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_never_answers_times_out_and_is_cancelled() {
    let client = connect(None).await;
    let error = client.call_tool("never", b"{}").await.expect_err("times out");
    assert!(matches!(error.call(), Some(CallError::Timeout(t)) if t.as_secs() == 60));
    assert!(client.call_tool("add", br#"{"a":1}"#).await.is_ok(), "the connection goes on");
}

#[tokio::test]
async fn calls_after_close_fail_at_once() {
    let client = connect(None).await;
    client.close().await;
    let error = client.call_tool("add", br#"{"a":1}"#).await.expect_err("closed");
    assert!(matches!(error.call(), Some(CallError::Closed(_))));
}
