//! The prompts, one of which asks before it answers.

use carrick::server::{Context, Prompt};
use carrick::types::{ContentBlock, PromptMessage, Role};
use carrick::{ToolError, prompt, prompts};
use serde_json::json;

use super::asks::{form, said};
use super::content::embedded;
use super::resources::PIXEL;

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Prompt> {
    prompts![
        test_simple_prompt,
        test_prompt_with_arguments,
        test_prompt_with_embedded_resource,
        test_prompt_with_image,
        test_input_required_result_prompt,
    ]
    .into_iter()
}

/// A prompt without arguments.
#[prompt]
async fn test_simple_prompt() -> String {
    "This is a simple prompt for testing.".into()
}

/// A prompt with two arguments.
#[prompt]
async fn test_prompt_with_arguments(
    /// The first
    #[complete("test", "testing", "other")]
    arg1: String,
    /// The second
    arg2: String,
) -> String {
    format!("A prompt with arguments: arg1={arg1:?}, arg2={arg2:?}")
}

/// A prompt with a resource in it.
#[prompt]
#[expect(non_snake_case, reason = "the argument's name is the suite's")]
async fn test_prompt_with_embedded_resource(
    /// The address of the resource
    resourceUri: String,
) -> Vec<PromptMessage> {
    vec![
        PromptMessage::new(Role::User, embedded(&resourceUri, "The contents of the resource.")),
        PromptMessage::user("Please look through this resource."),
    ]
}

/// A prompt with a picture in it.
#[prompt]
async fn test_prompt_with_image() -> Vec<PromptMessage> {
    vec![
        PromptMessage::new(Role::User, ContentBlock::image(PIXEL, "image/png")),
        PromptMessage::user("Please look at this picture."),
    ]
}

/// A prompt that asks its user for context first.
#[prompt]
async fn test_input_required_result_prompt(context: Context) -> Result<String, ToolError> {
    let properties = json!({ "context": { "type": "string" } });
    let ask = form("What should the prompt know?", properties, &["context"]);
    Ok(format!("A prompt with context. {}", said(&context.elicit(&ask).await?)))
}
