//! Tools that ask the client something once, in a session or without.

use carrick::server::{Context, Tool};
use carrick::types::{CreateMessage, Elicit, ElicitResult};
use carrick::{ToolError, tool, tools};
use serde_json::{Value, json};

use super::content::raw;

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Tool> {
    tools![
        test_sampling,
        test_elicitation,
        test_elicitation_sep1034_defaults,
        test_elicitation_sep1330_enums,
        test_missing_capability,
        test_streaming_elicitation,
    ]
    .into_iter()
}

/// A form with these properties, some of which must be filled in.
pub(super) fn form(message: &str, properties: Value, required: &[&str]) -> Elicit {
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    Elicit::Form { message: message.into(), requested_schema: raw(&schema) }
}

/// What the user did, as text.
pub(super) fn said(answer: &ElicitResult) -> String {
    let content = answer.content.as_ref().map_or("nothing", |content| content.get());
    format!("User response: {:?}, {content}", answer.action)
}

/// Asks the client's model.
pub(super) async fn ask_the_model(context: &Context, prompt: &str) -> Result<String, ToolError> {
    let answer = context.sample(&CreateMessage::question(prompt, 100)).await?;
    let texts: Vec<&str> = answer.content.blocks().iter().filter_map(|b| b.as_text()).collect();
    Ok(format!("LLM response: {}", texts.join(" ")))
}

/// Asks the client's model and says what it answered.
#[tool]
async fn test_sampling(prompt: String, context: Context) -> Result<String, ToolError> {
    ask_the_model(&context, &prompt).await
}

/// Asks the user for a name and an address.
#[tool]
async fn test_elicitation(message: String, context: Context) -> Result<String, ToolError> {
    let properties = json!({
        "username": { "type": "string", "description": "The user's name" },
        "email": { "type": "string", "description": "The user's email address" }
    });
    let ask = form(&message, properties, &["username", "email"]);
    Ok(said(&context.elicit(&ask).await?))
}

/// Asks for one value of each type, each with a default.
#[tool]
async fn test_elicitation_sep1034_defaults(context: Context) -> Result<String, ToolError> {
    let properties = json!({
        "name": { "type": "string", "default": "John Doe" },
        "age": { "type": "integer", "default": 30 },
        "score": { "type": "number", "default": 95.5 },
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active"
        },
        "verified": { "type": "boolean", "default": true }
    });
    let ask = form("Please look through these values.", properties, &[]);
    Ok(said(&context.elicit(&ask).await?))
}

/// Asks for choices in each form that a schema has for them.
#[tool]
async fn test_elicitation_sep1330_enums(context: Context) -> Result<String, ToolError> {
    let titled = json!([
        { "const": "value1", "title": "First Option" },
        { "const": "value2", "title": "Second Option" },
        { "const": "value3", "title": "Third Option" }
    ]);
    let properties = json!({
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": titled.clone() },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"]
        },
        "untitledMulti": {
            "type": "array",
            "items": { "type": "string", "enum": ["option1", "option2", "option3"] }
        },
        "titledMulti": { "type": "array", "items": { "anyOf": titled } }
    });
    let ask = form("Please choose.", properties, &[]);
    Ok(said(&context.elicit(&ask).await?))
}

/// Cannot do without the client's model.
#[tool]
async fn test_missing_capability(context: Context) -> Result<String, ToolError> {
    ask_the_model(&context, "Say something.").await
}

/// Asks the user whether to go on.
#[tool]
async fn test_streaming_elicitation(context: Context) -> Result<String, ToolError> {
    let ask = form("Go on?", json!({ "confirm": { "type": "boolean" } }), &["confirm"]);
    Ok(said(&context.elicit(&ask).await?))
}
