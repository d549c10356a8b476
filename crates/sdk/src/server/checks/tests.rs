//! Calls of tools whose schemas say more than their types.

use crate::client::{CallError, ClientConfig, Era, Handlers};
use crate::server::Tool;
use crate::transport::memory;
use crate::types::{CallToolResult, Elicit, ElicitResult, Implementation, RawJson, RpcError};
use crate::{Args, Client, Context, Server, ToolError, serve, tool, tools};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

fn raw(value: &Value) -> RawJson {
    serde_json::value::to_raw_value(value).unwrap()
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Order {
    /// How many.
    #[schemars(range(min = 1, max = 9))]
    count: u8,
    #[schemars(regex(pattern = "^[A-Z]{2}$"))]
    country: Option<String>,
}

#[tool]
async fn order(Args(order): Args<Order>) -> String {
    format!("{} {:?}", order.count, order.country)
}

#[tool]
async fn plain(count: u8, unit: String) -> String {
    format!("{count} {unit}")
}

/// Says its arguments back as structured content.
fn by_hand(name: &str, input: Value, output: Option<Value>) -> Tool {
    let echo = async |Args(arguments): Args<Map<String, Value>>| {
        let mut result = CallToolResult::default();
        result.is_error = arguments.contains_key("fail");
        result.structured_content = arguments.get("say").map(raw);
        result
    };
    let tool = Tool::new(name.to_owned(), echo).input_schema(raw(&input));
    match output {
        Some(schema) => tool.output_schema(raw(&schema)),
        None => tool,
    }
}

#[derive(Serialize, JsonSchema)]
struct Share {
    #[schemars(range(max = 1.0))]
    of_all: f64,
}

#[tool]
async fn share(of_all: f64) -> Share {
    Share { of_all }
}

fn server() -> Server {
    let any = json!({ "type": "object" });
    let count = json!({
        "type": "object",
        "properties": { "n": { "type": "integer", "minimum": 1 } },
        "required": ["n"],
        "additionalProperties": false
    });
    let draft_07 = json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": { "pair": { "items": [{ "type": "string" }, { "type": "integer" }] } }
    });
    let outside =
        json!({ "type": "object", "properties": { "a": { "$ref": "http://127.0.0.1:9/x.json" } } });
    Server::builder("checked", "1")
        .tools(tools![order, plain, share])
        .tool(by_hand("count", count.clone(), None))
        .tool(by_hand("draft_07", draft_07, None))
        .tool(by_hand("outside", outside.clone(), None))
        .tool(by_hand("out", any.clone(), Some(count)))
        .tool(by_hand("out_outside", any, Some(outside)))
        .build()
}

async fn connect(server: Server, era: Era, handlers: Handlers) -> Client {
    let (ours, theirs) = memory();
    tokio::spawn(async move { serve(&server, theirs).await });
    let mut config = ClientConfig::new(Implementation::new("tests", "0"));
    config.era = Some(era);
    Client::connect(ours, config, handlers).await.unwrap()
}

/// The text of a result, and whether it is a failure; or a protocol error's.
async fn call(
    client: &Client,
    name: &str,
    arguments: Value,
) -> Result<(bool, String), (i64, String)> {
    match client.call_tool(name, arguments.to_string().as_bytes()).await {
        Ok(result) => {
            let text = result.content.first().and_then(|block| block.as_text());
            Ok((result.is_error, text.unwrap_or_default().to_owned()))
        }
        Err(error) => match error.call() {
            Some(CallError::Rpc(error)) => Err((error.code, error.message.clone())),
            _ => panic!("{error}"),
        },
    }
}

#[tokio::test]
async fn d068_arguments_that_do_not_fit_are_failures_that_say_where() {
    for era in [Era::Legacy, Era::Modern] {
        let client = connect(server(), era, Handlers::new()).await;
        for (tool, arguments, why) in [
            // What the types refuse is said in the words of the schema.
            (
                "plain",
                json!({ "count": "two", "unit": "km" }),
                "count must be an integer, not \"two\"",
            ),
            ("plain", json!({ "count": 1 }), "unit is missing"),
            ("plain", json!({ "count": 300, "unit": "km" }), "count must be at most 255, not 300"),
            (
                "plain",
                json!({ "count": 1, "unit": "km", "x": 1 }),
                "x is not known; known are count and unit",
            ),
            // What they cannot.
            ("order", json!({ "count": 0 }), "count must be at least 1, not 0"),
            (
                "order",
                json!({ "count": 1, "country": "de" }),
                "country must match the pattern ^[A-Z]{2}$, not \"de\"",
            ),
            ("order", json!({ "count": "1" }), "count must be an integer, not \"1\""),
            ("count", json!({ "n": 0 }), "n must be at least 1, not 0"),
            ("count", json!({}), "n is missing"),
            ("draft_07", json!({ "pair": ["a", "b"] }), "pair[1] must be an integer, not \"b\""),
        ] {
            let expected = format!("these arguments do not fit the schema: {why}");
            assert_eq!(call(&client, tool, arguments).await, Ok((true, expected)), "{era:?}");
        }
        for (tool, arguments) in [
            ("plain", json!({ "count": 1, "unit": "km" })),
            ("order", json!({ "count": 9, "country": "DE" })),
            // What may be left out may be null, whatever the schema shows.
            ("order", json!({ "count": 9, "country": null })),
            ("count", json!({ "n": 1 })),
            ("draft_07", json!({ "pair": ["a", 1] })),
        ] {
            let (is_error, text) = call(&client, tool, arguments.clone()).await.unwrap();
            assert!(!is_error, "{tool} {arguments}: {text}");
        }
    }
}

#[tokio::test]
async fn d063_a_tool_whose_schema_cannot_be_used_is_never_run() {
    let client = connect(server(), Era::Modern, Handlers::new()).await;
    for (tool, which) in [("outside", "input"), ("out_outside", "output")] {
        let (code, message) = call(&client, tool, json!({ "say": {} })).await.unwrap_err();
        assert_eq!(code, RpcError::INTERNAL);
        assert!(message.contains(which), "{message}");
        assert!(message.contains("http://127.0.0.1:9/x.json"), "{message}");
    }
}

#[tokio::test]
async fn d065_results_fit_their_schema_or_the_server_is_at_fault() {
    for era in [Era::Legacy, Era::Modern] {
        let client = connect(server(), era, Handlers::new()).await;
        let text = "{\"n\":2}".to_owned();
        assert_eq!(call(&client, "out", json!({ "say": { "n": 2 } })).await, Ok((false, text)));
        assert_eq!(call(&client, "out", json!({ "fail": true })).await, Ok((true, String::new())));
        for (say, why) in [
            (json!({ "say": { "n": 0 } }), "n must be at least 1, not 0"),
            (json!({ "say": [] }), "the value must be an object, not []"),
            (json!({}), "there is no structured content"),
        ] {
            let text = format!("the tool's result does not fit its output schema: {why}");
            assert_eq!(call(&client, "out", say).await, Err((RpcError::INTERNAL, text)));
        }
        assert!(call(&client, "share", json!({ "of_all": 0.5 })).await.is_ok());
        assert!(call(&client, "share", json!({ "of_all": 1.5 })).await.is_err());
    }
}

/// Asks for a number.
#[tool]
async fn number(context: Context) -> Result<String, ToolError> {
    let requested_schema = raw(&json!({
        "type": "object",
        "properties": { "n": { "type": "integer" } },
        "required": ["n"]
    }));
    let answer = context.elicit(&Elicit::Form { message: "?".into(), requested_schema }).await?;
    Ok(answer.content.map(|content| content.get().to_owned()).unwrap_or_default())
}

#[tokio::test]
async fn what_a_user_fills_in_fits_the_form() {
    let filled = |content: &'static str| {
        Handlers::new().elicit(move |_| async move {
            Ok(ElicitResult::accept(RawJson::from(
                serde_json::value::RawValue::from_string(content.into()).unwrap(),
            )))
        })
    };
    let server = Server::builder("asks", "1").tools(tools![number]).build();
    for era in [Era::Legacy, Era::Modern] {
        let client = connect(server.clone(), era, filled(r#"{"n":1}"#)).await;
        assert_eq!(call(&client, "number", json!({})).await, Ok((false, "{\"n\":1}".into())));
    }
    let client = connect(server.clone(), Era::Legacy, filled(r#"{"n":"1"}"#)).await;
    let (is_error, text) = call(&client, "number", json!({})).await.unwrap();
    assert!(is_error && text.contains("n must be an integer, not \"1\""), "{text}");
    let client = connect(server, Era::Modern, filled("{}")).await;
    let (code, message) = call(&client, "number", json!({})).await.unwrap_err();
    assert_eq!(code, RpcError::INVALID_PARAMS);
    assert!(message.contains("n is missing"), "{message}");
}

#[test]
fn only_what_types_cannot_enforce_makes_a_schema_constrained() {
    let constrained = |schema: Value| super::is_constrained(&schema);
    for schema in [
        json!({ "type": "object", "properties": { "minimum": { "type": "string" } } }),
        json!({ "properties": { "a": { "type": "integer", "format": "uint8", "minimum": 0, "maximum": 255 } } }),
        json!({ "properties": { "a": { "format": "uint64", "minimum": 0 } } }),
        json!({ "oneOf": [{ "const": "a" }, { "const": "b" }] }),
        json!({ "enum": ["a"], "description": "pattern", "default": { "minimum": 1 } }),
    ] {
        assert!(!constrained(schema.clone()), "{schema}");
    }
    for schema in [
        json!({ "properties": { "a": { "format": "uint8", "minimum": 1, "maximum": 255 } } }),
        json!({ "properties": { "a": { "minimum": 0 } } }),
        json!({ "items": { "anyOf": [{ "pattern": "x" }] } }),
        json!({ "additionalProperties": { "uniqueItems": true } }),
    ] {
        assert!(constrained(schema.clone()), "{schema}");
    }
}
