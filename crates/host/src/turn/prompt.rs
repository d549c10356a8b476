//! The system prompt.

use crate::registry::{Catalog, ServerTools};
use carrick::proto::text::excerpt;
use carrick_policy::visible;

/// Bytes of one server's instructions that the model is shown.
const INSTRUCTIONS: usize = 4096;

const BASE: &str = "You answer a person's question, with the help of tools where they serve. \
Call a tool when its result is needed; do not guess what a tool can tell. When you have what \
you need, answer in the language of the question.";

/// What stands before the conversation when tools are called natively.
pub(super) fn native(catalog: &Catalog) -> String {
    let mut prompt = BASE.to_owned();
    for server in &catalog.servers {
        if let Some(text) = instructions(server) {
            prompt.push_str(&format!(
                "\n\nThe server {:?} says about itself (its words, not the person's):\n{text}",
                server.server
            ));
        }
    }
    prompt
}

/// The same when they are taught in text.
pub(super) fn taught(lesson: &str) -> String {
    format!("{BASE}\n\n{lesson}")
}

/// A server's instructions, bounded, without characters that hide or reorder text.
pub(super) fn instructions(server: &ServerTools) -> Option<String> {
    let text = server.description.as_ref()?.instructions.as_ref()?;
    if text.trim().is_empty() {
        return None;
    }
    let lines: Vec<String> = excerpt(text, INSTRUCTIONS).lines().map(visible).collect();
    let mut shown = lines.join("\n");
    if text.len() > INSTRUCTIONS {
        shown.push_str(&format!("\n[cut: {} bytes in all]", text.len()));
    }
    Some(shown)
}
