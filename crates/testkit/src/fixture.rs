//! The server that the failure cases in `cases/handed` assume, and a little more.

use carrick::server::{Context, Tool};
use carrick::types::LogLevel;
use carrick::{Server, State, ToolError, prompt, prompts, resource, resources, tool, tools};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Says the text back.
#[tool(read_only)]
async fn echo(t: String) -> String {
    t
}

/// Says the text back; the one tool that a policy allows.
#[tool(read_only)]
async fn safe_echo(t: String) -> String {
    format!("safe: {t}")
}

/// Must never run in a test.
#[tool(destructive)]
async fn danger_run(runs: State<Counts>) -> String {
    runs.danger.fetch_add(1, Ordering::SeqCst);
    "danger".into()
}

/// Sleeps for some milliseconds.
#[tool(read_only)]
async fn sleep_ms(ms: u64) -> String {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    format!("slept {ms}")
}

/// Reports progress ten times before it answers.
#[tool(read_only)]
async fn slow(context: Context) -> String {
    for step in 1..=10 {
        context.progress(f64::from(step), Some(10.0), Some("working"));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    "done".into()
}

/// Counts its runs.
#[tool]
async fn count(runs: State<Counts>) -> String {
    (runs.count.fetch_add(1, Ordering::SeqCst) + 1).to_string()
}

/// Takes nothing.
#[tool(read_only)]
async fn noargs() -> String {
    "ok".into()
}

/// Takes one argument that may be left out.
#[tool(read_only)]
async fn opt(x: Option<String>) -> String {
    x.unwrap_or_else(|| "none".into())
}

/// Fails.
#[tool(read_only)]
async fn fail() -> Result<String, ToolError> {
    Err(ToolError::new("it always fails"))
}

/// Panics.
#[tool(read_only)]
#[expect(clippy::panic, reason = "to see that nothing else is touched")]
async fn panics() -> String {
    panic!("a handler that panics")
}

/// Logs at two levels before it answers.
#[tool(read_only)]
async fn logs(context: Context) -> String {
    context.log(LogLevel::Debug, &"fine");
    context.log(LogLevel::Error, &"bad");
    "logged".into()
}

/// The checksum of a text, as [`checksum_of`] has it.
#[tool(read_only)]
async fn checksum(t: String) -> String {
    checksum_of(&t)
}

/// A checksum (FNV-1a, 64 bits) as hexadecimal digits.
pub fn checksum_of(text: &str) -> String {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}

/// How often the tools with effects have run.
#[derive(Default)]
pub struct Counts {
    count: AtomicU64,
    danger: AtomicU64,
}

/// The tools of the fixture.
pub fn fixture_tools() -> impl Iterator<Item = Tool> {
    tools![
        echo, safe_echo, danger_run, sleep_ms, slow, count, noargs, opt, fail, panics, logs,
        checksum
    ]
    .into_iter()
}

/// Adds the tool `grown`.
#[tool]
async fn grow(server: Server) -> String {
    server.add_tool(Tool::new("grown", async || "grown".to_owned()));
    "grown".into()
}

/// Says that a resource has changed.
#[tool]
async fn touch(server: Server, uri: String) -> String {
    server.notify_resource_updated(uri);
    "touched".into()
}

/// Asks for a text in a style.
#[prompt]
async fn p(
    /// What it is about
    topic: String,
    /// How it is told
    #[complete("plain", "playful", "solemn")]
    style: Option<String>,
) -> String {
    format!("Tell of {topic}, {}.", style.as_deref().unwrap_or("plain"))
}

/// A text that is always there.
#[resource("demo://ok", mime_type = "text/plain")]
async fn ok() -> String {
    "fine".into()
}

/// The text of its own name.
#[resource("demo://say/{word}", mime_type = "text/plain")]
async fn say(#[complete("hello", "help")] word: String) -> String {
    word
}

/// The server.
pub fn server() -> Server {
    Server::builder("fixture", "1.0.0")
        .state(Counts::default())
        .tools(fixture_tools())
        .tools(tools![grow, touch])
        .prompts(prompts![p])
        .resource_functions(resources![ok, say])
        .tools_may_change()
        .resource_subscriptions()
        .build()
}

/// Writes a text.
#[tool]
async fn write(text: String) -> String {
    format!("wrote: {text}")
}

/// The server `docs` that the cases of model output assume, with its one tool `write`.
pub fn docs() -> Server {
    Server::builder("docs", "1.0.0").tools(tools![write]).build()
}
