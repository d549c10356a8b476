//! Turns a request that was read to its end into what is reported about it.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::value::RawValue;

use super::block::{Block, Root};
use super::event::{Call, Decoded, Form, Limits, NotRun, Reason};
use super::json::{self, Request};

/// What `block` asks for: usually one thing, several when it is a list of calls.
pub(super) fn requests(block: &Block, limits: &Limits) -> Vec<Decoded> {
    let read = match &block.fault {
        _ if block.overflow => Err(Reason::TooLarge { what: "the request", limit: limits.block }),
        Some(fault) => Err(fault.clone()),
        None => read(block, limits),
    };
    read.unwrap_or_else(|reason| Vec::from([refusal(block, reason, limits)]))
}

/// `block`, refused for `reason`.
pub(super) fn refusal(block: &Block, reason: Reason, limits: &Limits) -> Decoded {
    let mut refused = NotRun {
        server: block.server.clone(),
        tool: block.tool.clone(),
        uri: block.uri.clone(),
        ..NotRun::new(reason)
    };
    // The names of a JSON call are known only if it can be read.
    if let (true, Ok([Request::Call(call)])) = (block.whole, whole(block, limits).as_deref()) {
        refused.id.clone_from(&call.id);
        refused.server.clone_from(&call.server);
        refused.tool = Some(call.tool.clone());
    }
    with_raw(refused, block, limits)
}

fn with_raw(refused: NotRun, block: &Block, limits: &Limits) -> Decoded {
    let (raw, truncated) = excerpt(block, limits);
    Decoded::NotRun(NotRun { raw, truncated, ..refused })
}

/// What was written, and whether this is only the beginning.
pub(super) fn excerpt(block: &Block, limits: &Limits) -> (String, bool) {
    let raw = json::floor(&block.raw, limits.excerpt);
    (raw.to_string(), block.overflow || raw.len() < block.raw.len())
}

fn read(block: &Block, limits: &Limits) -> Result<Vec<Decoded>, Reason> {
    if block.whole {
        let decoded = whole(block, limits)?.into_iter().map(|request| match request {
            Request::Call(call) => Decoded::Call(call),
            Request::Resource { server, uri } => Decoded::Resource { server, uri },
            Request::NotRun(refused) => with_raw(refused, block, limits),
        });
        return Ok(decoded.collect());
    }
    let missing = |name| Reason::Malformed(format!("<{name}> is missing"));
    let server = block.server.clone();
    if block.root == Root::AccessResource {
        let uri = block.uri.clone().ok_or_else(|| missing("uri"))?;
        return Ok(Vec::from([Decoded::Resource { server, uri }]));
    }
    if block.root == Root::ToolCall {
        return Err(Reason::Malformed("the call is empty".to_string()));
    }
    let tool = block.tool.clone().ok_or_else(|| missing("tool_name"))?;
    let (arguments, form) = match block.root {
        Root::Function if block.json.is_none() => (parameters(block, limits)?, Form::Function),
        Root::Function => (json::read_arguments(json_text(block), limits)?, Form::TaggedJson),
        _ => (json::read_arguments(json_text(block), limits)?, Form::Elements),
    };
    Ok(Vec::from([Decoded::Call(Call { id: None, server, tool, arguments, form })]))
}

fn json_text(block: &Block) -> &str {
    block.json.clone().and_then(|place| block.raw.get(place)).unwrap_or_default()
}

fn whole(block: &Block, limits: &Limits) -> Result<Vec<Request>, Reason> {
    let form = if block.root == Root::Object { Form::Json } else { Form::TaggedJson };
    json::read_requests(json_text(block), form, limits)
}

/// The object that parameters make up, in their order.
fn parameters(block: &Block, limits: &Limits) -> Result<Box<RawValue>, Reason> {
    let mut object = String::from("{");
    for (key, place) in block.values.pairs() {
        if object.len() > 1 {
            object.push(',');
        }
        let text = block.raw.get(place.clone()).unwrap_or_default();
        let text = without_breaks(text);
        push_string(&mut object, key);
        object.push(':');
        match text.trim() {
            literal if json::is_literal(literal) => object.push_str(literal),
            _ => push_string(&mut object, text),
        }
    }
    object.push('}');
    json::read_arguments(&object, limits)
}

/// Without the line break after the opening tag and the one before the closing tag.
fn without_breaks(text: &str) -> &str {
    let text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}

fn push_string(out: &mut String, text: &str) {
    // A string is always representable as JSON.
    if let Ok(text) = serde_json::to_string(text) {
        out.push_str(&text);
    }
}
