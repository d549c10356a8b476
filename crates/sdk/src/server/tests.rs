//! What functions become: definitions, schemas, results.

mod callers;
mod changes;
mod completion;
mod pages;
mod prompts;
mod resources;
mod talk;

use super::*;
use crate::client::{CallError, Client, ClientConfig, Era};
use crate::transport::memory;
use crate::{Args, Context, State, ToolError, serve, tool, tools};
use carrick_proto::types::{
    CallToolResult, ContentBlock, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, RpcError,
};
use futures_util::future::{BoxFuture, FutureExt, ready};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Search {
    /// What to look for.
    query: String,
    #[serde(default)]
    limit: Option<u8>,
}

#[derive(Serialize, JsonSchema)]
struct Hits {
    /// How many there are.
    count: usize,
}

/// Looks for something.
///
/// It knows:
/// - names
/// - places
///
/// and nothing
/// else.
#[tool(read_only)]
async fn search(Args(search): Args<Search>, prefix: State<String>) -> Hits {
    Hits { count: prefix.len() + search.query.len() + usize::from(search.limit.unwrap_or(0)) }
}

#[tool(
    name = "plain.name",
    title = "A title",
    description = "Said elsewhere.",
    destructive,
    idempotent
)]
#[expect(clippy::too_many_arguments, reason = "one of each kind")]
async fn plain(
    /// A number
    /// over two lines.
    number: i64,
    r#type: String,
    #[default(vec![1, 2])] list: Vec<u8>,
    #[default] flag: bool,
    maybe: Option<String>,
    context: Context,
    #[default(Some(3))] count: Option<u32>,
    prefix: State<String>,
) -> Result<String, ToolError> {
    let _ = context.revision();
    Ok(format!("{} {number} {type} {list:?} {flag} {maybe:?} {count:?}", *prefix))
}

#[tool(idempotent)]
async fn nothing() {}

#[tool]
async fn stateless(_missing: State<u64>) -> String {
    "never".into()
}

#[tool]
async fn picture() -> ContentBlock {
    ContentBlock::text("one block")
}

#[tool]
async fn numbers() -> Vec<i32> {
    vec![1, 2]
}

#[tool]
async fn whole() -> Result<CallToolResult, ToolError> {
    std::fs::read("/nowhere/at/all")?;
    Ok(CallToolResult::default())
}

struct Shelf;

impl ResourceSource for Shelf {
    fn list(
        &self,
        cursor: Option<&str>,
        _: &CallInfo,
    ) -> BoxFuture<'_, Result<ListResourcesResult, RpcError>> {
        let page = match cursor {
            None => Ok(vec![Resource::new("demo://ok", "ok")].into()),
            Some(cursor) => Err(listing::unknown_cursor(cursor)),
        };
        ready(page).boxed()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &CallInfo,
    ) -> BoxFuture<'a, Result<ReadResourceResult, RpcError>> {
        let contents = match uri {
            "demo://ok" => Ok(ReadResourceResult::one(ResourceContents::text(uri, "fine"))),
            _ => Err(not_found(uri)),
        };
        ready(contents).boxed()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        vec![ResourceTemplate::new("demo://{name}", "any")]
    }
}

fn server() -> Server {
    Server::builder("test", "1")
        .state("pre".to_owned())
        .tools(tools![search, plain, nothing, stateless, picture, numbers, whole])
        .resources(Shelf)
        .build()
}

async fn connect(era: Era) -> Client {
    let (ours, theirs) = memory();
    let server = server();
    tokio::spawn(async move { serve(&server, theirs).await });
    let mut config = ClientConfig::new(Implementation::new("tests", "0"));
    config.era = Some(era);
    Client::connect(ours, config, None).await.unwrap()
}

fn definition(name: &str) -> (Definition, Value) {
    let server = server();
    let tool = server.tools().into_iter().find(|tool| tool.name == name).unwrap();
    let schema = serde_json::from_str(tool.input_schema.get()).unwrap();
    (tool, schema)
}

#[test]
fn doc_comments_are_descriptions_with_their_lists_and_paragraphs() {
    let (tool, schema) = definition("search");
    assert_eq!(
        tool.description.as_deref(),
        Some("Looks for something.\n\nIt knows:\n- names\n- places\n\nand nothing else.")
    );
    assert_eq!(schema["properties"]["query"]["description"], "What to look for.");
    assert_eq!(schema["required"], json!(["query"]));
    assert_eq!(schema["type"], "object");
    assert!(schema.get("$schema").is_none() && schema.get("title").is_none());
    let output: Value = serde_json::from_str(tool.output_schema.unwrap().get()).unwrap();
    assert_eq!(output["required"], json!(["count"]));
    let hints = tool.annotations.unwrap();
    assert_eq!((hints.read_only_hint, hints.destructive_hint), (Some(true), None));
}

#[test]
fn plain_parameters_are_properties_and_extractors_are_none() {
    let (tool, schema) = definition("plain.name");
    assert_eq!(tool.title.as_deref(), Some("A title"));
    assert_eq!(tool.description.as_deref(), Some("Said elsewhere."));
    let properties = schema["properties"].as_object().unwrap();
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    assert_eq!(names, ["count", "flag", "list", "maybe", "number", "type"]);
    assert_eq!(schema["required"], json!(["number", "type"]));
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(properties["number"]["description"], "A number over two lines.");
    assert_eq!(properties["list"]["default"], json!([1, 2]));
    assert_eq!(properties["flag"]["default"], false);
    assert_eq!(properties["maybe"]["type"], "string", "left out, or a string");
    assert!(tool.output_schema.is_none());
    let hints = tool.annotations.unwrap();
    assert_eq!((hints.destructive_hint, hints.idempotent_hint), (Some(true), Some(true)));

    let (tool, schema) = definition("nothing");
    assert_eq!(schema, json!({ "type": "object", "additionalProperties": false }));
    assert_eq!(tool.annotations.unwrap().idempotent_hint, Some(true));
    assert!(tool.description.is_none());
}

#[tokio::test]
async fn arguments_are_read_as_the_schema_says() {
    let client = connect(Era::Modern).await;
    let call = async |name: &str, arguments: Value| {
        let result = client.call_tool(name, arguments.to_string().as_bytes()).await.unwrap();
        let text = result.content.first().and_then(|c| c.as_text()).unwrap_or_default().to_owned();
        (text, result)
    };
    let (text, _) = call("plain.name", json!({ "number": 1, "type": "t" })).await;
    assert_eq!(text, "pre 1 t [1, 2] false None Some(3)");
    let all =
        json!({ "number": 1, "type": "t", "list": [], "flag": true, "maybe": "m", "count": 9 });
    let (text, _) = call("plain.name", all).await;
    assert_eq!(text, "pre 1 t [] true Some(\"m\") Some(9)");
    for wrong in [
        json!({ "type": "t" }),
        json!({ "number": "1", "type": "t" }),
        json!({ "number": 1, "type": "t", "unknown": 1 }),
        json!({ "number": 1.5, "type": "t" }),
    ] {
        let (text, result) = call("plain.name", wrong.clone()).await;
        assert!(result.is_error && text.contains("do not fit the schema"), "{wrong}: {text}");
    }
    let (text, result) = call("search", json!({ "query": "abc", "limit": 2 })).await;
    assert_eq!(text, r#"{"count":8}"#);
    assert_eq!(result.structured_content.unwrap().get(), r#"{"count":8}"#);
    let (text, result) = call("stateless", json!({})).await;
    assert!(result.is_error && text.contains("no state u64"), "{text}");
}

#[tokio::test]
async fn results_of_every_kind_are_tool_results() {
    let client = connect(Era::Legacy).await;
    let call = async |name: &str| client.call_tool(name, b"{}").await.unwrap();
    assert!(call("nothing").await.content.is_empty());
    assert_eq!(call("picture").await.content[0].as_text(), Some("one block"));
    let list = call("numbers").await;
    assert_eq!(list.content[0].as_text(), Some("[1,2]"));
    assert!(list.structured_content.is_none(), "structured content is an object");
    let failed = call("whole").await;
    assert!(failed.is_error && failed.content[0].as_text().unwrap().contains("No such file"));
}

#[tokio::test]
async fn d068_what_does_not_exist_has_the_code_of_its_revision() {
    for (era, code) in [(Era::Legacy, -32002), (Era::Modern, -32602)] {
        let client = connect(era).await;
        assert_eq!(client.read_resource("demo://ok").await.unwrap().contents.len(), 1);
        let error = client.read_resource("demo://missing").await.unwrap_err();
        let Some(CallError::Rpc(error)) = error.call() else { panic!("{error}") };
        assert_eq!(error.code, code);
        assert!(error.data.as_ref().unwrap().get().contains("demo://missing"));
        for (method, params) in [
            ("tools/call", json!({ "name": "nope" })),
            ("tools/call", json!({ "name": 7 })),
            ("tools/call", json!({})),
            ("tools/call", json!({ "name": "nothing", "arguments": [] })),
            ("resources/read", json!({})),
        ] {
            let params = params.to_string().into_bytes();
            let error = client.request(method, params, None, None).await.unwrap_err();
            assert!(matches!(error.call(), Some(CallError::Rpc(e)) if e.code == -32602), "{error}");
        }
        let error = client.get_prompt("p", &serde_json::Map::new()).await.unwrap_err();
        assert!(matches!(error.call(), Some(CallError::Rpc(e)) if e.code == -32601), "{error}");
    }
}

#[tokio::test]
async fn d067_absent_and_null_arguments_are_none() {
    let client = connect(Era::Legacy).await;
    for params in [r#"{"name":"nothing"}"#, r#"{"name":"nothing","arguments":null}"#] {
        let json = client.request("tools/call", params.into(), None, None).await.unwrap();
        let result: CallToolResult = json.read().unwrap();
        assert!(!result.is_error);
    }
}

#[tokio::test]
async fn cursors_that_were_never_given_out_are_refused() {
    let client = connect(Era::Modern).await;
    for method in ["tools/list", "resources/list", "resources/templates/list"] {
        assert!(client.request(method, b"{\"cursor\":null}".to_vec(), None, None).await.is_ok());
        for cursor in ["\"\"", "\"made up\"", "7"] {
            let params = format!("{{\"cursor\":{cursor}}}").into_bytes();
            let error = client.request(method, params, None, None).await.unwrap_err();
            assert!(
                matches!(error.call(), Some(CallError::Rpc(e)) if e.code == -32602),
                "{method}"
            );
        }
    }
    assert_eq!(client.list_resource_templates().await.unwrap().len(), 1);
}

#[tool]
async fn regional(
    /// Where
    #[header("Region")]
    region: String,
    #[header("Count")] count: Option<u32>,
) -> String {
    format!("{region} {count:?}")
}

#[test]
fn arguments_with_a_header_say_so_in_the_schema() {
    let by_hand = Tool::new("by-hand", async |Args(_): Args<Search>| "x".to_owned())
        .header("query", "Query")
        .header("no such argument", "X");
    let server = Server::builder("test", "1").tools(tools![regional]).tool(by_hand).build();
    let tools = server.tools();
    let schema =
        |at: usize| -> Value { serde_json::from_str(tools[at].input_schema.get()).unwrap() };
    assert_eq!(schema(0)["properties"]["query"]["x-mcp-header"], "Query");
    assert_eq!(schema(1)["properties"]["region"]["x-mcp-header"], "Region");
    assert_eq!(schema(1)["properties"]["region"]["description"], "Where");
    assert_eq!(schema(1)["properties"]["count"]["x-mcp-header"], "Count");
    let headers = |tool: &str| -> Vec<String> {
        let mirrored = Service::mirrored(&server, tool).unwrap_or_default();
        mirrored.iter().map(|header| header.header.clone()).collect()
    };
    assert_eq!(headers("regional"), ["mcp-param-count", "mcp-param-region"]);
    assert_eq!(headers("by-hand"), ["mcp-param-query"]);
    server.remove_tool("by-hand");
    assert!(headers("by-hand").is_empty());
}

#[test]
fn the_last_tool_of_a_name_counts_and_a_server_offers_what_it_has() {
    let tool = |text: &str| Tool::new("same", async || "x".to_owned()).description(text);
    let server = Server::builder("test", "1").tool(tool("first")).tool(tool("second")).build();
    assert_eq!(server.tools().len(), 1);
    assert_eq!(server.tools()[0].description.as_deref(), Some("second"));
    let bare = Server::builder("test", "1").build();
    assert!(bare.tools().is_empty());
}
