//! Tools that change what the server offers, for those who listen.

use carrick::server::{Prompt, Tool};
use carrick::{Server, tool, tools};

/// All of them.
pub(super) fn all() -> impl Iterator<Item = Tool> {
    tools![test_trigger_tool_change, test_trigger_prompt_change].into_iter()
}

/// Adds a tool, or takes it away again.
#[tool]
async fn test_trigger_tool_change(server: Server) -> String {
    const NAME: &str = "test_added_tool";
    if server.remove_tool(NAME) {
        return "removed".into();
    }
    let tool = Tool::new(NAME, async || "I was added.".to_owned());
    server.add_tool(tool.description("A tool that comes and goes."));
    "added".into()
}

/// Adds a prompt, or takes it away again.
#[tool]
async fn test_trigger_prompt_change(server: Server) -> String {
    const NAME: &str = "test_added_prompt";
    if server.remove_prompt(NAME) {
        return "removed".into();
    }
    let prompt = Prompt::new(NAME, async || "I was added.".to_owned());
    server.add_prompt(prompt.description("A prompt that comes and goes."));
    "added".into()
}
