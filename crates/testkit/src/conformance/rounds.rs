//! Tools whose answer takes several rounds where there are no sessions.

use carrick::server::{Context, Tool};
use carrick::types::{CreateMessage, ElicitResult};
use carrick::{ToolError, tool, tools};
use serde_json::{Value, json};

use super::asks::{ask_the_model, form, said};

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Tool> {
    tools![
        test_input_required_result_elicitation,
        test_input_required_result_sampling,
        test_input_required_result_list_roots,
        test_input_required_result_request_state,
        test_input_required_result_multiple_inputs,
        test_input_required_result_multi_round,
        test_input_required_result_tampered_state,
        test_input_required_result_capabilities,
    ]
    .into_iter()
}

/// Asks for the user's name and greets.
#[tool]
async fn test_input_required_result_elicitation(context: Context) -> Result<String, ToolError> {
    let ask = form("What is your name?", json!({ "name": { "type": "string" } }), &["name"]);
    let answer = context.elicit_as(Some("user_name"), &ask).await?;
    Ok(format!("Hello, {}!", field(&answer, "name")))
}

/// Asks the client's model.
#[tool]
async fn test_input_required_result_sampling(context: Context) -> Result<String, ToolError> {
    ask_the_model(&context, "What is the capital of France?").await
}

/// Asks for the client's roots.
#[tool]
async fn test_input_required_result_list_roots(context: Context) -> Result<String, ToolError> {
    let roots = context.roots().await?;
    let uris: Vec<&str> = roots.iter().map(|root| root.uri.as_str()).collect();
    Ok(format!("{} roots: {}", uris.len(), uris.join(", ")))
}

/// Asks for a confirmation, with state that comes back.
#[tool]
async fn test_input_required_result_request_state(context: Context) -> Result<String, ToolError> {
    Ok(format!("state-ok: {}", confirm(&context).await?))
}

/// Asks the user, the model and for the roots at once.
#[tool]
async fn test_input_required_result_multiple_inputs(context: Context) -> Result<String, ToolError> {
    let ask = form("What is your name?", json!({ "name": { "type": "string" } }), &["name"]);
    let question = CreateMessage::question("Say hello.", 50);
    let (user, model, roots) =
        tokio::try_join!(context.elicit(&ask), context.sample(&question), context.roots())?;
    Ok(format!("{}; {} said something; {} roots", said(&user), model.model, roots.len()))
}

/// Asks two questions, the second with the answer to the first.
#[tool]
async fn test_input_required_result_multi_round(context: Context) -> Result<String, ToolError> {
    let first =
        form("Step 1: what is your name?", json!({ "name": { "type": "string" } }), &["name"]);
    let name = field(&context.elicit_as(Some("step1"), &first).await?, "name");
    let message = format!("Step 2: what is your favourite colour, {name}?");
    let second = form(&message, json!({ "color": { "type": "string" } }), &["color"]);
    let color = field(&context.elicit_as(Some("step2"), &second).await?, "color");
    Ok(format!("{name} likes {color}."))
}

/// Asks for a confirmation; state that was changed on the way is refused.
#[tool]
async fn test_input_required_result_tampered_state(context: Context) -> Result<String, ToolError> {
    confirm(&context).await
}

/// Asks for what the client can do, and for nothing else.
#[tool]
async fn test_input_required_result_capabilities(context: Context) -> Result<String, ToolError> {
    let can = context.client_capabilities().unwrap_or_default();
    if can.sampling.is_some() {
        return ask_the_model(&context, "Say something.").await;
    }
    if can.elicitation.is_some() {
        return confirm(&context).await;
    }
    Ok("The client cannot be asked anything.".into())
}

async fn confirm(context: &Context) -> Result<String, ToolError> {
    let ask = form("Is that right?", json!({ "ok": { "type": "boolean" } }), &["ok"]);
    Ok(said(&context.elicit_as(Some("confirm"), &ask).await?))
}

/// A field of an accepted form, as text.
fn field(answer: &ElicitResult, name: &str) -> String {
    let content = answer.content.as_ref().map(|content| serde_json::from_str(content.get()));
    match content {
        Some(Ok(Value::Object(fields))) => match fields.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
            None => "nobody".into(),
        },
        _ => "nobody".into(),
    }
}
