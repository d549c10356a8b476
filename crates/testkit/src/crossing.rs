//! What a bridge between two revisions has to carry: a server with one of each
//! feature, and a client that tries them all and writes down what it observes.
//!
//! Observed once over a straight connection in the server's revision and once
//! through a bridge, the two tell how faithful the bridge is.

mod compare;
mod observe;
mod seen;
#[cfg(test)]
mod tests;

pub use compare::{Claim, Straight};
pub use observe::Observer;
pub use seen::{Observed, Seen};

use carrick::proto::revision::Revision;
use carrick::server::{Cacheable, Context, StateKeys};
use carrick::types::{
    CacheHints, ContentBlock, CreateMessage, Elicit, ElicitAction, Icon, LogLevel,
};
use carrick::{Server, State, ToolError, prompt, prompts, resource, resources, tool, tools};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;
use tokio::sync::watch;

/// Calls of `stuck` that have been given up.
struct GivenUp(watch::Sender<usize>);

/// Says the text back.
#[tool(read_only, title = "Echo")]
async fn echo(t: String) -> String {
    t
}

/// Where something is.
#[derive(Serialize, JsonSchema)]
struct Place {
    name: String,
    height: f64,
}

/// Finds a place.
#[tool(read_only, title = "Find")]
async fn find(name: String) -> Place {
    Place { name, height: 1.5 }
}

/// Shows and sings.
#[tool(read_only)]
async fn media() -> Vec<ContentBlock> {
    vec![ContentBlock::image("AA==", "image/png"), ContentBlock::audio("AA==", "audio/wav")]
}

/// Fails.
#[tool(read_only)]
async fn fail() -> Result<String, ToolError> {
    Err(ToolError::new("it always fails"))
}

/// Reports progress three times.
#[tool(read_only)]
async fn steps(context: Context) -> String {
    for step in 1..=3 {
        context.progress(f64::from(step), Some(3.0), Some("working"));
        // Progress that waits already would be made one.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    "done".into()
}

/// Logs at two levels.
#[tool(read_only)]
async fn logs(context: Context) -> String {
    context.log(LogLevel::Debug, &"fine");
    context.log(LogLevel::Error, &"bad");
    "logged".into()
}

/// Counts itself when it is dropped.
struct Counted(watch::Sender<usize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|calls| *calls += 1);
    }
}

/// Never answers.
#[tool(read_only)]
async fn stuck(context: Context, given_up: State<GivenUp>) -> String {
    let _counted = Counted(given_up.0.0.clone());
    context.progress(1.0, None, None);
    std::future::pending().await
}

/// Answers once so many calls of `stuck` have been given up, with how many it were.
#[tool(read_only)]
async fn given_up(calls: usize, given_up: State<GivenUp>) -> String {
    let mut counted = given_up.0.0.subscribe();
    let counted = counted.wait_for(|given_up| *given_up >= calls).await;
    counted.map_or(0, |counted| *counted).to_string()
}

fn form() -> Result<Elicit, ToolError> {
    let schema = serde_json::json!({ "type": "object",
        "properties": { "name": { "type": "string" } }, "required": ["name"] });
    let requested_schema = serde_json::value::to_raw_value(&schema)?;
    Ok(Elicit::Form { message: "Who are you?".into(), requested_schema })
}

/// Asks for a name.
#[tool(read_only)]
async fn ask_name(context: Context) -> Result<String, ToolError> {
    let answer = context.elicit(&form()?).await?;
    let content = answer.content.map(|content| serde_json::to_string(&content)).transpose()?;
    match answer.action {
        ElicitAction::Accept => Ok(format!("accepted {}", content.unwrap_or_default())),
        ElicitAction::Decline => Ok("declined".into()),
        ElicitAction::Cancel => Ok("cancelled".into()),
    }
}

/// Asks the client's model.
#[tool(read_only)]
async fn ask_model(context: Context) -> Result<String, ToolError> {
    let answer = context.sample(&CreateMessage::question("What is the capital?", 100)).await?;
    Ok(serde_json::to_string(&answer)?)
}

/// Asks for the client's folders.
#[tool(read_only)]
async fn ask_roots(context: Context) -> Result<String, ToolError> {
    let roots = context.roots().await?;
    Ok(roots.iter().map(|root| root.uri.as_str()).collect::<Vec<_>>().join(" "))
}

/// Adds and removes a tool, and says that a resource has changed.
#[tool]
async fn change(server: Server) -> String {
    server.add_tool(carrick::server::Tool::new("late", async || "late".to_owned()));
    server.notify_resource_updated("cross://ok");
    server.remove_tool("late");
    "changed".into()
}

/// Greets.
#[prompt(title = "Greeting")]
async fn greet(
    /// Whom
    #[complete("Ada", "Alan", "Grace")]
    name: String,
) -> String {
    format!("Greet {name}.")
}

/// A text.
#[resource("cross://ok", mime_type = "text/plain")]
async fn ok() -> String {
    "all is well".into()
}

fn icon() -> Icon {
    let mut icon = Icon::default();
    icon.src = "https://example.com/greet.png".into();
    icon
}

/// The server, speaking only `revision`.
pub fn server(revision: Revision) -> Server {
    Server::builder("crossing", "1.0.0")
        .instructions("be kind")
        .revisions([revision])
        .state(GivenUp(watch::Sender::new(0)))
        .state_keys(StateKeys::from_secrets([&b"crossing"[..]]))
        .tools(tools![
            echo, find, media, fail, steps, logs, stuck, given_up, ask_name, ask_model, ask_roots,
            change
        ])
        .prompts(prompts![greet].map(|prompt| prompt.icon(icon())))
        .cache(Cacheable::Tools, CacheHints::public(Duration::from_secs(1)))
        .cache(Cacheable::ResourceContents, CacheHints::public(Duration::from_secs(2)))
        .resource_functions(resources![ok])
        .tools_may_change()
        .resource_subscriptions()
        .build()
}

/// The revision with this date.
///
/// # Errors
/// When there is none.
pub fn revision(date: &str) -> Result<Revision, String> {
    Revision::from_date(date).ok_or_else(|| format!("no revision {date:?}"))
}
