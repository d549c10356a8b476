//! Tool calls in the providers' own JSON.

use carrick::proto::xml::decode::{Finish, Form, Limits, NotRun, Reason, read_json_arguments};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::{Ask, Dialect, RouteItem};
use super::{read_text, refused};

/// The members that any of the known messages, items and calls has.
#[derive(Deserialize)]
struct Object<'a> {
    #[serde(borrow, default)]
    r#type: Option<&'a RawValue>,
    #[serde(borrow, default)]
    role: Option<&'a RawValue>,
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    call_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    choices: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<&'a RawValue>>,
    #[serde(borrow, default)]
    tool_results: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    output: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "server_name")]
    server: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "tool_name")]
    name: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "parameters")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    input: Option<&'a RawValue>,
    #[serde(borrow, default)]
    text: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uri: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "stop_reason", alias = "done_reason")]
    finish_reason: Option<&'a RawValue>,
    #[serde(borrow, default)]
    status: Option<&'a RawValue>,
}

/// Reads JSON values: messages, lists of items, or single items.
pub(super) fn read_values(values: &[&RawValue]) -> Vec<RouteItem> {
    let new = values.iter().skip(answered(values));
    new.flat_map(|value| read_message(value, Finish::Ended)).collect()
}

/// In a conversation, what stands before somebody else's turn has been answered: how many
/// of these that are.
fn answered(items: &[&RawValue]) -> usize {
    let is_answer = |item: &&RawValue| parse(item).is_ok_and(|object| !object.is_from_model());
    items.iter().rposition(is_answer).map_or(0, |at| at + 1)
}

fn read_message(value: &RawValue, finish: Finish) -> Vec<RouteItem> {
    if let Ok(items) = serde_json::from_str::<Vec<&RawValue>>(value.get()) {
        return read_items(&items, finish);
    }
    let object = match parse(value) {
        Ok(object) => object,
        Err(Some(reason)) => return vec![unknown(None, reason)],
        Err(None) => return Vec::new(),
    };
    if !object.is_from_model() {
        return Vec::new();
    }
    let finish = object.finish(finish);
    if let Some(choices) = &object.choices {
        return read_choices(choices);
    }
    if let Some(calls) = &object.tool_calls {
        let found = mark_cut(calls.iter().map(|call| read_listed(call)).collect(), finish);
        if !found.is_empty() {
            return found;
        }
    }
    // Only a response has an output of its own; those of tools say what they are.
    if let Some(inner) = object.message.or(object.output.filter(|_| object.r#type.is_none())) {
        return read_message(inner, finish);
    }
    if let Some(item) = object.read_call(false) {
        return mark_cut(vec![item], finish);
    }
    match object.content {
        Some(content) => match string(Some(content)) {
            Some(text) => read_text(&text, finish),
            None => read_message(content, finish),
        },
        None => Vec::new(),
    }
}

/// The reason is `None` for what is no object at all.
fn parse(value: &RawValue) -> Result<Object<'_>, Option<Reason>> {
    if !value.get().starts_with('{') {
        return Err(None);
    }
    serde_json::from_str(value.get()).map_err(|error| {
        Some(Reason::Malformed(format!("the message does not have a known form: {error}")))
    })
}

/// A refusal of something whose form is not known.
fn unknown(id: Option<String>, reason: Reason) -> RouteItem {
    refused(Dialect::Plain, id, NotRun::new(reason))
}

/// The choices of a completion are alternatives: only the first one counts.
fn read_choices(choices: &[&RawValue]) -> Vec<RouteItem> {
    let mut found = Vec::new();
    for (at, choice) in choices.iter().enumerate() {
        for mut item in read_message(choice, Finish::Ended) {
            if at > 0 {
                let how = "the completion holds several answers, and only its first is used";
                item.refuse(Reason::Ambiguous(how.to_owned()));
            }
            found.push(item);
        }
    }
    found
}

/// The items of a list: calls, blocks of content, or messages. Text is searched only if
/// there is no call among them.
fn read_items(items: &[&RawValue], finish: Finish) -> Vec<RouteItem> {
    let items = items.get(answered(items)..).unwrap_or_default();
    let calls = items.iter().filter_map(|item| parse(item).ok()?.read_call(false));
    let calls: Vec<_> = calls.collect();
    if !calls.is_empty() {
        return mark_cut(calls, finish);
    }
    let mut found = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let finish = if at + 1 == items.len() { finish } else { Finish::Ended };
        found.extend(match parse(item) {
            Ok(object) if object.is_message() => read_message(item, finish),
            Ok(object) if object.is_text() => {
                string(object.text).map(|text| read_text(&text, finish)).unwrap_or_default()
            }
            Ok(_) | Err(None) => Vec::new(),
            Err(Some(reason)) => vec![unknown(None, reason)],
        });
    }
    found
}

/// An item of a list of calls, where everything must be one.
fn read_listed(item: &RawValue) -> RouteItem {
    let malformed = |what: &str| Reason::Malformed(what.to_owned());
    match parse(item) {
        Ok(object) => object.read_call(true).unwrap_or_else(|| {
            unknown(string(object.id), malformed("the call does not name a tool"))
        }),
        Err(reason) => {
            unknown(None, reason.unwrap_or_else(|| malformed("a call must be a JSON object")))
        }
    }
}

/// What the token limit cut off is the last call: its arguments may look complete.
fn mark_cut(mut items: Vec<RouteItem>, finish: Finish) -> Vec<RouteItem> {
    if let (Finish::Cut, Some(last)) = (finish, items.last_mut()) {
        last.refuse(Reason::Cut);
    }
    items
}

impl Object<'_> {
    fn finish(&self, outer: Finish) -> Finish {
        let reason = string(self.finish_reason).or_else(|| string(self.status));
        match reason.as_deref() {
            Some("length" | "max_tokens" | "model_context_window_exceeded" | "incomplete") => {
                Finish::Cut
            }
            _ => outer,
        }
    }

    fn is_from_model(&self) -> bool {
        let role = string(self.role);
        let kind = string(self.r#type);
        role.is_none_or(|role| matches!(role.as_str(), "assistant" | "model"))
            && kind.is_none_or(|kind| !kind.ends_with("_output") && !kind.ends_with("_result"))
            && self.tool_results.is_none()
    }

    /// Whether this is text that a model wrote.
    fn is_text(&self) -> bool {
        let kind = string(self.r#type);
        self.text.is_some() && kind.is_some_and(|kind| matches!(&*kind, "text" | "output_text"))
    }

    fn is_message(&self) -> bool {
        let untyped = string(self.r#type).is_none_or(|name| name == "message");
        untyped && (self.role.is_some() || self.message.is_some() || self.tool_calls.is_some())
    }

    /// This object as a call, if it is one. What is `listed` as one needs no more than
    /// a name.
    fn read_call(&self, listed: bool) -> Option<RouteItem> {
        let id = string(self.id);
        match string(self.r#type).as_deref() {
            Some("tool_use") => {
                Some(call(Dialect::Anthropic, id, None, string(self.name), self.input))
            }
            Some("function_call") => {
                let id = string(self.call_id).or(id);
                Some(call(Dialect::Responses, id, None, string(self.name), self.arguments))
            }
            _ if self.function.is_some_and(|f| f.get().starts_with('{')) => {
                let function = match parse(self.function?) {
                    Ok(function) => function,
                    Err(reason) => return reason.map(|reason| unknown(id, reason)),
                };
                Some(call(Dialect::OpenAi, id, None, string(function.name), function.arguments))
            }
            None | Some("function")
                if self.name.is_some() && (listed || self.arguments.is_some()) =>
            {
                let server = string(self.server);
                Some(call(Dialect::Plain, id, server, string(self.name), self.arguments))
            }
            None if self.uri.is_some() && self.server.is_some() => {
                let uri = string(self.uri)?;
                let ask = Ask::Resource { server: string(self.server), uri };
                Some(RouteItem { dialect: Dialect::Plain, id, ask })
            }
            _ => None,
        }
    }
}

fn call(
    dialect: Dialect,
    id: Option<String>,
    server: Option<String>,
    name: Option<String>,
    arguments: Option<&RawValue>,
) -> RouteItem {
    let tool = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
    let arguments = read_json_arguments(arguments, &Limits::default());
    let ask = match (tool, arguments) {
        (Some(tool), Ok(arguments)) => Ask::Call { server, tool, arguments, form: Form::Json },
        (tool, arguments) => {
            let unnamed = || Reason::Malformed("the call does not name a tool".to_owned());
            let reason =
                if tool.is_none() { unnamed() } else { arguments.err().unwrap_or_else(unnamed) };
            let mut not_run = NotRun::new(reason);
            not_run.server = server;
            not_run.tool = tool;
            Ask::Refused(not_run)
        }
    };
    RouteItem { dialect, id, ask }
}

impl RouteItem {
    fn refuse(&mut self, reason: Reason) {
        let mut not_run = NotRun::new(reason);
        match &self.ask {
            Ask::Call { server, tool, .. } => {
                not_run.server.clone_from(server);
                not_run.tool = Some(tool.clone());
            }
            Ask::Resource { server, uri } => {
                not_run.server.clone_from(server);
                not_run.uri = Some(uri.clone());
            }
            Ask::Refused(_) => return,
        }
        self.ask = Ask::Refused(not_run);
    }
}

/// A string, or the text of a number (some ids are).
fn string(value: Option<&RawValue>) -> Option<String> {
    let text = value?.get();
    serde_json::from_str(text).ok().or_else(|| {
        let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        number.then(|| text.to_owned())
    })
}
