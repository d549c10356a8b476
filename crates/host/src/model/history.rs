//! A conversation in the strict form that providers demand, borrowed from the host's own.
//!
//! Roles alternate; every tool call has exactly one result, in the very next turn and in the
//! order of the calls; ids are unique and in every provider's alphabet; nothing is empty. A
//! history that lacks a result (a cancelled call, a host that died) is repaired, and a result
//! that answers no call becomes text, so that nothing is lost.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::value::RawValue;

use super::calls::empty_object;
use super::{Block, Image, Message, Opaque, ResultPart, Role, ToolCall};

/// What a call without a result is answered with.
const CANCELLED: &str = "Cancelled: this call has no result; whether it took effect is unknown.";

/// The longest call id that every provider takes.
const ID_LEN: usize = 64;

/// One turn of the strict form; a history alternates between the two.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    User { results: Vec<CallResult<'a>>, parts: Vec<UserPart<'a>> },
    Assistant(Vec<AssistantPart<'a>>),
}

#[derive(Debug)]
pub(super) enum UserPart<'a> {
    Text(Cow<'a, str>),
    Image(&'a Image),
}

#[derive(Debug)]
pub(super) enum AssistantPart<'a> {
    Text(&'a str),
    Opaque(&'a Opaque),
    Call { id: String, name: &'a str, arguments: Cow<'a, RawValue> },
}

#[derive(Debug)]
pub(super) struct CallResult<'a> {
    pub(super) id: String,
    pub(super) name: &'a str,
    pub(super) content: Vec<UserPart<'a>>,
    pub(super) is_error: bool,
}

/// Brings a conversation into the strict form. Of opaque blocks only those of the model
/// `opaque_of` are kept.
pub(super) fn strict<'a>(messages: &'a [Message], opaque_of: Option<&'a str>) -> Vec<Turn<'a>> {
    let mut history =
        History { opaque_of, turns: Vec::new(), open: Vec::new(), used: HashSet::new() };
    for message in messages {
        // Nothing can answer the calls of an earlier message once the model has spoken again.
        if message.role == Role::Assistant {
            history.settle();
        }
        for block in &message.content {
            history.push(message.role, block);
        }
    }
    history.settle();
    history.turns
}

struct History<'a> {
    opaque_of: Option<&'a str>,
    turns: Vec<Turn<'a>>,
    /// The calls of the last assistant turn, in order, each with its result if it has come.
    open: Vec<OpenCall<'a>>,
    used: HashSet<String>,
}

struct OpenCall<'a> {
    original: &'a str,
    id: String,
    name: &'a str,
    result: Option<CallResult<'a>>,
}

impl<'a> History<'a> {
    fn push(&mut self, role: Role, block: &'a Block) {
        match (block, role) {
            (Block::ToolCall(call), _) => self.call(call),
            (Block::ToolResult { call_id, name, content, is_error }, _) => {
                self.result(call_id, name, content, *is_error);
            }
            (Block::Text(text), _) if text.trim().is_empty() => {}
            (Block::Text(text), Role::User) => self.user(UserPart::Text(text.into())),
            (Block::Text(text), Role::Assistant) => self.assistant(AssistantPart::Text(text)),
            (Block::Image(image), Role::User) => self.user(picture(image)),
            (Block::Image(_), Role::Assistant) => {
                self.assistant(AssistantPart::Text("[a picture]"));
            }
            (Block::Opaque(opaque), _) if Some(opaque.model.as_str()) == self.opaque_of => {
                self.assistant(AssistantPart::Opaque(opaque));
            }
            (Block::Opaque(_), _) => {}
        }
    }

    fn user(&mut self, part: UserPart<'a>) {
        self.user_turn().1.push(part);
    }

    fn assistant(&mut self, part: AssistantPart<'a>) {
        match self.turns.last_mut() {
            Some(Turn::Assistant(parts)) => parts.push(part),
            _ => {
                self.settle();
                self.turns.push(Turn::Assistant(vec![part]));
            }
        }
    }

    fn call(&mut self, call: &'a ToolCall) {
        let id = self.unique_id(&call.id);
        let arguments = match call.arguments.get().starts_with('{') {
            true => Cow::Borrowed(call.arguments.as_ref()),
            false => Cow::Owned(empty_object()),
        };
        self.assistant(AssistantPart::Call { id: id.clone(), name: &call.name, arguments });
        self.open.push(OpenCall { original: &call.id, id, name: &call.name, result: None });
    }

    fn result(&mut self, call_id: &str, name: &'a str, content: &'a [ResultPart], is_error: bool) {
        let content: Vec<_> = content.iter().filter_map(result_part).collect();
        let waiting =
            self.open.iter_mut().find(|open| open.original == call_id && open.result.is_none());
        if let Some(open) = waiting {
            open.result = Some(CallResult { id: open.id.clone(), name, content, is_error });
            return;
        }
        self.user(UserPart::Text(format!("[a result of {name} that answers no call]").into()));
        content.into_iter().for_each(|part| self.user(part));
    }

    /// Puts the results of the open calls into the turn after them.
    fn settle(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let settled = core::mem::take(&mut self.open).into_iter().map(|open| {
            open.result.unwrap_or_else(|| CallResult {
                id: open.id,
                name: open.name,
                content: vec![UserPart::Text(CANCELLED.into())],
                is_error: true,
            })
        });
        self.user_turn().0.extend(settled);
    }

    /// The results and parts of the user's turn at the end, which is begun if need be.
    fn user_turn(&mut self) -> (&mut Vec<CallResult<'a>>, &mut Vec<UserPart<'a>>) {
        if !matches!(self.turns.last(), Some(Turn::User { .. })) {
            self.turns.push(Turn::User { results: Vec::new(), parts: Vec::new() });
        }
        match self.turns.last_mut() {
            Some(Turn::User { results, parts }) => (results, parts),
            _ => unreachable!("a user turn was just pushed"),
        }
    }

    /// An id in the alphabet of every provider that no earlier call bears.
    fn unique_id(&mut self, original: &str) -> String {
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let stem: String = original.chars().take(ID_LEN - 8).map(safe).collect();
        let stem = if stem.is_empty() { "call".to_owned() } else { stem };
        let mut id = stem.clone();
        let mut number = 2;
        while !self.used.insert(id.clone()) {
            id = format!("{stem}_{number}");
            number += 1;
        }
        id
    }
}

fn result_part(part: &ResultPart) -> Option<UserPart<'_>> {
    match part {
        ResultPart::Text(text) if text.trim().is_empty() => None,
        ResultPart::Text(text) => Some(UserPart::Text(text.into())),
        ResultPart::Image(image) => Some(picture(image)),
    }
}

/// A picture, or a note in its place if no provider reads its type.
fn picture(image: &Image) -> UserPart<'_> {
    const READABLE: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    if READABLE.contains(&image.mime.as_str()) {
        return UserPart::Image(image);
    }
    let size = image.base64.len() / 4 * 3;
    UserPart::Text(
        format!("[a picture of type {}, about {size} bytes, not shown]", image.mime).into(),
    )
}

#[cfg(test)]
mod tests;
