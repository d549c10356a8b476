//! The client that the official conformance suite drives, on the public API of
//! the SDK: `conformance_client URL`.
//!
//! The suite starts a server for each scenario and names the scenario, the
//! revision to speak and, for some, data by environment variables
//! (`MCP_CONFORMANCE_SCENARIO`, `_PROTOCOL_VERSION`, `_CONTEXT`). What a scenario
//! checks is what the SDK does; here is only which calls are made.

use carrick::Client;
use carrick::client::{ClientConfig, Handlers};
use carrick::net::{HttpClient, Options};
use carrick::proto::revision::Revision;
use carrick::transport::http::{HttpOptions, HttpTransport};
use carrick::types::{
    CallToolResult, CreateMessageResult, Elicit, ElicitAction, ElicitResult, Implementation, Tool,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::env;
use std::error::Error;

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result {
    let url = env::args().nth(1).ok_or("usage: conformance_client URL")?;
    let scenario = env::var("MCP_CONFORMANCE_SCENARIO")?;
    let client = connect(&url).await?;
    match scenario.as_str() {
        "initialize" | "request-metadata" | "json-schema-ref-no-deref" => list(&client).await?,
        "tools_call" => add_numbers(&client).await?,
        "elicitation-sep1034-client-defaults" => {
            call(&client, "test_client_elicitation_defaults", "{}").await?;
        }
        "sse-retry" => {
            call(&client, "test_reconnection", "{}").await?;
        }
        "json-schema-2020-12-preservation" => echo_schema(&client).await?,
        "http-standard-headers" => touch_everything(&client).await?,
        "http-custom-headers" => calls_of_the_context(&client).await?,
        "http-invalid-tool-headers" => call_all(&client).await?,
        "sep-2322-client-request-state" => rounds(&client).await?,
        other => return Err(format!("a scenario that this client does not know: {other}").into()),
    }
    client.close().await;
    Ok(())
}

/// Connects in the revision that the suite asks for, ready for all questions.
async fn connect(url: &str) -> Result<Client> {
    let mut config = ClientConfig::new(Implementation::new("carrick-conformance", "1.0.0"));
    if let Ok(version) = env::var("MCP_CONFORMANCE_PROTOCOL_VERSION") {
        let revision = Revision::from_date(&version);
        config.revision = Some(revision.ok_or_else(|| format!("unknown revision {version}"))?);
    }
    let handlers = Handlers::new()
        .elicit(|ask| async move { Ok(accept(&ask)) })
        .sample(|_| async { Ok(CreateMessageResult::text("hello", "scripted")) })
        .roots(|| async { Ok(Vec::new()) });
    let http = HttpClient::new(Options::default());
    let none: [(&str, &str); 0] = [];
    let transport = HttpTransport::new(http, url, none, HttpOptions::default())?;
    Ok(Client::connect(transport, config, handlers).await?)
}

/// Agrees to a form as it stands.
fn accept(ask: &Elicit) -> ElicitResult {
    match ask.defaults() {
        Some(filled) => ElicitResult::accept(filled),
        None => ElicitResult::without_content(ElicitAction::Decline),
    }
}

/// Calls a tool and insists on a result that is no error.
async fn call(client: &Client, name: &str, arguments: &str) -> Result<CallToolResult> {
    let result = client.call_tool(name, arguments.as_bytes()).await?;
    match result.is_error {
        true => Err(format!("{name} reports an error").into()),
        false => Ok(result),
    }
}

async fn list(client: &Client) -> Result {
    client.list_tools().await?;
    Ok(())
}

async fn add_numbers(client: &Client) -> Result {
    let tools = client.list_tools().await?;
    find(&tools, "add_numbers")?;
    call(client, "add_numbers", r#"{"a":5,"b":3}"#).await?;
    Ok(())
}

async fn echo_schema(client: &Client) -> Result {
    #[derive(serde::Serialize)]
    struct Arguments<'a> {
        schema: &'a RawValue,
    }
    let tools = client.list_tools().await?;
    let schema = &find(&tools, "json_schema_2020_12_tool")?.input_schema;
    let arguments = serde_json::to_string(&Arguments { schema })?;
    call(client, "json_schema_echo", &arguments).await?;
    Ok(())
}

async fn touch_everything(client: &Client) -> Result {
    for tool in client.list_tools().await? {
        call(client, &tool.name, "{}").await?;
    }
    for resource in client.list_resources().await? {
        client.read_resource(&resource.uri).await?;
    }
    for prompt in client.list_prompts().await? {
        client.get_prompt(&prompt.name, &Map::new()).await?;
    }
    Ok(())
}

async fn calls_of_the_context(client: &Client) -> Result {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Context {
        tool_calls: Vec<ToolCall>,
    }
    #[derive(Deserialize)]
    struct ToolCall {
        name: String,
        arguments: Box<RawValue>,
    }
    client.list_tools().await?;
    let context: Context = serde_json::from_str(&env::var("MCP_CONFORMANCE_CONTEXT")?)?;
    for ToolCall { name, arguments } in context.tool_calls {
        call(client, &name, arguments.get()).await?;
    }
    Ok(())
}

/// Calls every tool that the client would offer to a model.
async fn call_all(client: &Client) -> Result {
    for tool in client.list_tools().await? {
        call(client, &tool.name, &sample(&tool).to_string()).await?;
    }
    Ok(())
}

async fn rounds(client: &Client) -> Result {
    let tools = client.list_tools().await?;
    for name in [
        "test_mrtr_echo_state",
        "test_mrtr_unrelated",
        "test_mrtr_no_state",
        "test_mrtr_no_result_type",
    ] {
        find(&tools, name)?;
        call(client, name, "{}").await?;
    }
    Ok(())
}

fn find<'a>(tools: &'a [Tool], name: &str) -> Result<&'a Tool> {
    let found = tools.iter().find(|tool| tool.name == name);
    found.ok_or_else(|| format!("the server does not list {name}").into())
}

/// Arguments that a tool's schema would take, by the types of what is required.
fn sample(tool: &Tool) -> Value {
    let schema: Value = serde_json::from_str(tool.input_schema.get()).unwrap_or_default();
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let of = |name: &str| match schema["properties"][name]["type"].as_str() {
        Some("integer" | "number") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    };
    let required = required.iter().filter_map(Value::as_str);
    required.map(|name| (name.to_owned(), of(name))).collect::<Map<_, _>>().into()
}
