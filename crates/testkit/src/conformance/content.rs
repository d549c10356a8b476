//! Tools that answer by themselves: content of each kind, progress, logs.

use carrick::server::{Args, Context, Tool};
use carrick::types::{CallToolResult, ContentBlock, LogLevel, RawJson, ResourceContents};
use carrick::{ToolError, tool, tools};
use serde_json::{Map, Value, json};
use std::time::Duration;

use super::resources::{PIXEL, WAV};

/// The pause between two messages of one call.
const PAUSE: Duration = Duration::from_millis(50);

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Tool> {
    let plain = tools![
        test_simple_text,
        test_image_content,
        test_audio_content,
        test_embedded_resource,
        test_multiple_content_types,
        test_error_handling,
        test_tool_with_progress,
        test_tool_with_logging,
        test_logging_tool,
        test_reconnection,
        test_custom_header,
    ];
    plain.into_iter().chain([with_a_schema_by_hand()])
}

/// Answers with a text.
#[tool(read_only)]
async fn test_simple_text() -> String {
    "This is a simple text response for testing.".into()
}

/// Answers with a picture.
#[tool(read_only)]
async fn test_image_content() -> ContentBlock {
    ContentBlock::image(PIXEL, "image/png")
}

/// Answers with a sound.
#[tool(read_only)]
async fn test_audio_content() -> ContentBlock {
    ContentBlock::audio(WAV, "audio/wav")
}

/// Answers with a resource and its contents.
#[tool(read_only)]
async fn test_embedded_resource() -> ContentBlock {
    embedded("test://embedded-resource", "This is an embedded resource.")
}

/// Answers with a text, a picture and a resource.
#[tool(read_only)]
async fn test_multiple_content_types() -> Vec<ContentBlock> {
    vec![
        ContentBlock::text("Three kinds of content:"),
        ContentBlock::image(PIXEL, "image/png"),
        embedded("test://mixed-content-resource", "The third of them."),
    ]
}

/// A resource of plain text with its contents.
pub(super) fn embedded(uri: &str, text: &str) -> ContentBlock {
    ContentBlock::resource(ResourceContents::text(uri, text).mime_type("text/plain"))
}

/// Always fails.
#[tool(read_only)]
async fn test_error_handling() -> Result<String, ToolError> {
    Err(ToolError::new("This tool always fails, for testing."))
}

/// Reports progress three times.
#[tool(read_only)]
async fn test_tool_with_progress(context: Context) -> String {
    for done in [0.0, 50.0, 100.0] {
        context.progress(done, Some(100.0), Some("working"));
        tokio::time::sleep(PAUSE).await;
    }
    "All of it is done.".into()
}

/// Logs three messages.
#[tool(read_only)]
async fn test_tool_with_logging(context: Context) -> String {
    for message in ["It begins.", "It goes on.", "It ends."] {
        context.log(LogLevel::Info, &message);
        tokio::time::sleep(PAUSE).await;
    }
    "Three messages were logged.".into()
}

/// Logs one message, for clients that want it.
#[tool(read_only)]
async fn test_logging_tool(context: Context) -> String {
    context.log(LogLevel::Info, &"The tool was called.");
    "Logged, if that was wanted.".into()
}

/// Closes its stream before it answers: the client comes back for the answer.
#[tool(read_only)]
async fn test_reconnection(context: Context) -> String {
    context.close_stream(Some(PAUSE));
    tokio::time::sleep(PAUSE * 2).await;
    "The answer came on another stream.".into()
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Region {
    /// Where to look.
    #[schemars(extend("x-mcp-header" = "Region"))]
    region: String,
}

/// Says which region it was asked for; clients mirror that into a header.
#[tool(read_only)]
async fn test_custom_header(Args(Region { region }): Args<Region>) -> String {
    region
}

/// A schema with keywords that no Rust type has.
fn with_a_schema_by_hand() -> Tool {
    let contact = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } }
            }
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" }
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false
    });
    let echo = async |Args(arguments): Args<Map<String, Value>>| {
        CallToolResult::text(Value::Object(arguments).to_string())
    };
    Tool::new("json_schema_2020_12_tool", echo)
        .description("Says its arguments back, which a schema with conditions describes.")
        .read_only()
        .input_schema(raw(&contact))
}

/// A value as JSON text.
pub(super) fn raw(value: &Value) -> RawJson {
    #[expect(clippy::expect_used, reason = "a value tree always serializes")]
    serde_json::value::to_raw_value(value).expect("a value tree serializes")
}
