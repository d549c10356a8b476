//! The built-in servers as a client sees them, in both lifecycles of the protocol.

use crate::{FilesError, FilesOptions, files, time};
use carrick::client::{CallError, ClientConfig, ClientError, Era};
use carrick::types::{CallToolResult, Implementation, RpcError};
use carrick::{Client, Server, serve, transport::memory};
use std::{fs, path::Path};
use tempfile::TempDir;

async fn connected(server: Server, era: Era) -> Client {
    let (near, far) = memory();
    tokio::spawn(async move { serve(&server, far).await });
    let mut config = ClientConfig::new(Implementation::new("test", "1"));
    config.era = Some(era);
    Client::connect(near, config, None).await.unwrap()
}

async fn call(client: &Client, tool: &str, arguments: serde_json::Value) -> CallToolResult {
    client.call_tool(tool, arguments.to_string().as_bytes()).await.unwrap()
}

fn text(result: &CallToolResult) -> &str {
    assert_eq!(result.content.len(), 1);
    result.content[0].as_text().unwrap()
}

fn structured(result: &CallToolResult) -> serde_json::Value {
    serde_json::from_str(result.structured_content.as_ref().unwrap().get()).unwrap()
}

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("notes.md"), "# Notes\n\nMCP is here.\n").unwrap();
    fs::write(folder.path().join("p.png"), b"\x89PNG\0").unwrap();
    folder
}

fn options(folder: &Path) -> FilesOptions {
    FilesOptions::new([folder])
}

fn rpc(error: ClientError) -> RpcError {
    match error {
        ClientError::Call(CallError::Rpc(error)) => error,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn time_is_told_and_converted() {
    for era in [Era::Modern, Era::Legacy] {
        let client = connected(time(), era).await;
        let tools = client.list_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["convert_time", "current_time"]);
        let annotations = tools[0].annotations.as_ref().unwrap();
        assert_eq!(annotations.read_only_hint, Some(true));
        let arguments = serde_json::json!({
            "time": "09:00", "source_timezone": "Paris", "target_timezone": "Tokyo",
            "date": "2026-07-01",
        });
        let converted = call(&client, "convert_time", arguments).await;
        assert!(!converted.is_error);
        assert!(text(&converted).contains("2026-07-01 16:00:00"), "{}", text(&converted));
        assert_eq!(structured(&converted)["target"]["timezone"], "Asia/Tokyo");
        let now = call(&client, "current_time", serde_json::json!({ "timezone": "UTC" })).await;
        assert_eq!(structured(&now)["utc_offset"], "+00:00");
        assert!(!call(&client, "current_time", serde_json::json!({})).await.is_error);
        let wrong = call(&client, "current_time", serde_json::json!({ "timezone": "Tokio" })).await;
        assert!(wrong.is_error);
        assert!(text(&wrong).contains("did you mean Asia/Tokyo?"), "{}", text(&wrong));
    }
}

#[tokio::test]
async fn files_are_found_and_read() {
    let folder = folder();
    for era in [Era::Modern, Era::Legacy] {
        let client = connected(files(options(folder.path())).unwrap(), era).await;
        let instructions = client.server().instructions.clone().unwrap();
        assert!(instructions.contains(folder.path().to_str().unwrap()), "{instructions}");
        let tools = client.list_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["list_files", "read_file", "search_files"]);
        for tool in &tools {
            let schema: serde_json::Value = serde_json::from_str(tool.input_schema.get()).unwrap();
            for (name, property) in schema["properties"].as_object().unwrap() {
                assert!(property["description"].is_string(), "{}: {name}", tool.name);
            }
            assert!(tool.output_schema.is_some() || era == Era::Legacy);
        }
        let listed = call(&client, "list_files", serde_json::json!({})).await;
        assert!(text(&listed).contains("notes.md (22 bytes)"), "{}", text(&listed));
        let read = call(&client, "read_file", serde_json::json!({ "path": "notes.md" })).await;
        assert_eq!(text(&read), "# Notes\n\nMCP is here.\n");
        assert_eq!(structured(&read)["total_lines"], 3);
        let found = call(&client, "search_files", serde_json::json!({ "query": "mcp" })).await;
        assert_eq!(structured(&found)["files"][0]["lines"][0]["line"], 3);
        let outside = call(&client, "read_file", serde_json::json!({ "path": "../x" })).await;
        assert!(outside.is_error);
        let unknown = client.call_tool("write_file", b"{}").await.unwrap_err();
        assert_eq!(rpc(unknown).code, RpcError::INVALID_PARAMS);
    }
}

#[tokio::test]
async fn files_are_written_where_that_is_allowed() {
    let folder = folder();
    let server = files(options(folder.path()).writable()).unwrap();
    let client = connected(server, Era::Modern).await;
    let tools = client.list_tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.name == "write_file").unwrap();
    let annotations = tool.annotations.as_ref().unwrap();
    assert_eq!(annotations.destructive_hint, Some(true));
    assert_eq!(annotations.idempotent_hint, Some(true));
    let arguments = serde_json::json!({ "path": "new/a.txt", "content": "text" });
    let written = call(&client, "write_file", arguments).await;
    assert_eq!(text(&written), "Created new/a.txt (4 bytes).");
    assert_eq!(fs::read_to_string(folder.path().join("new/a.txt")).unwrap(), "text");
}

#[tokio::test]
async fn d099_resources_are_files_below_the_folder() {
    let folder = folder();
    for (era, missing) in [(Era::Modern, -32602), (Era::Legacy, -32002)] {
        let client = connected(files(options(folder.path())).unwrap(), era).await;
        let listed = client.list_resources().await.unwrap();
        let names: Vec<_> = listed.iter().map(|resource| resource.name.as_str()).collect();
        assert_eq!(names, ["notes.md", "p.png"]);
        assert_eq!(listed[1].mime_type.as_deref(), Some("image/png"));
        assert_eq!(listed[1].size, Some(5));
        let notes = client.read_resource(&listed[0].uri).await.unwrap();
        assert_eq!(notes.contents[0].text.as_deref(), Some("# Notes\n\nMCP is here.\n"));
        assert_eq!(notes.contents[0].uri, listed[0].uri);
        let picture = client.read_resource(&listed[1].uri).await.unwrap();
        assert_eq!(picture.contents[0].blob.as_deref(), Some("iVBORwA="));
        let templates = client.list_resource_templates().await.unwrap();
        let top = format!("file://{}", folder.path().display());
        assert_eq!(templates[0].uri_template, format!("{top}/{{+path}}"));

        for uri in ["file:///etc/passwd", &format!("{top}/../x"), &format!("{top}/x"), "x:y"] {
            let error = rpc(client.read_resource(uri).await.unwrap_err());
            assert_eq!(error.code, missing, "{uri}");
            let data: serde_json::Value =
                serde_json::from_str(error.data.as_ref().unwrap().get()).unwrap();
            assert_eq!(data, serde_json::json!({ "uri": uri }));
        }
    }
}

#[test]
fn d100_no_folder_at_all_is_an_error() {
    let folder = folder();
    let nowhere = folder.path().join("nowhere");
    assert!(matches!(files(options(&nowhere)), Err(FilesError::NoRoots)));
    assert!(files(FilesOptions::new([nowhere.as_path(), folder.path()])).is_ok());
}
