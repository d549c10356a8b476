//! From the chunks of a chat completion to events.

mod assemble;

use carrick::proto::text::excerpt_of;
use core::mem;
use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::Fault;
use crate::model::drive::Decode;
use crate::model::fault::shorten;
use crate::model::{Event, StopReason, Usage};
use assemble::{Assembly, CallDelta};

/// Reads one answer, streamed or whole.
#[derive(Debug)]
pub(super) struct Decoder {
    calls: Assembly,
    usage: Option<Usage>,
    finish_reason: Option<String>,
    refused: bool,
    done: bool,
}

impl Decoder {
    /// `turn` makes the ids of calls that come without one unique within the conversation.
    pub(super) fn new(turn: usize) -> Self {
        Self {
            calls: Assembly::new(turn),
            usage: None,
            finish_reason: None,
            refused: false,
            done: false,
        }
    }

    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        if let Some(usage) = chunk.usage.and_then(Usage::read) {
            self.usage = Some(usage);
        }
        // One answer is asked for; what a server adds beside it is not part of it.
        let first = chunk
            .choices
            .into_iter()
            .flatten()
            .find(|choice| choice.index == Some(0) || choice.index.is_none());
        let Some(choice) = first else { return Ok(()) };
        if let Some(delta) = choice.delta.or(choice.message) {
            self.delta(delta, out)?;
        }
        if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
            self.finish_reason = Some(reason);
        }
        Ok(())
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        if let Some(thought) = delta.reasoning_content.or(delta.reasoning).and_then(plain_text) {
            out.push_back(Event::Reasoning(thought));
        }
        if let Some(text) = delta.content.and_then(plain_text) {
            out.push_back(Event::Text(text));
        }
        if let Some(text) = delta.refusal.and_then(plain_text) {
            self.refused = true;
            out.push_back(Event::Text(text));
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.calls.add(call)?;
        }
        // The older form, one call an answer, still sent by some servers.
        if let Some(function) = delta.function_call {
            self.calls.add(CallDelta::of_function(function))?;
        }
        Ok(())
    }

    /// Gives out what was held back until the end of the answer.
    fn close(&mut self, out: &mut VecDeque<Event>) {
        let reason = self.finish_reason.take();
        let calls = mem::take(&mut self.calls);
        let waits = !calls.is_empty();
        let stop = match reason.as_deref() {
            _ if self.refused => StopReason::Refusal,
            Some("length") => StopReason::MaxTokens,
            Some("content_filter") => StopReason::Refusal,
            // Some servers say `stop` after calls, or nothing at all.
            None | Some("stop" | "tool_calls" | "function_call" | "eos") if waits => {
                StopReason::ToolUse
            }
            None | Some("stop" | "eos") => StopReason::End,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        let cut = !matches!(stop, StopReason::End | StopReason::ToolUse);
        out.extend(calls.finish(cut));
        out.extend(self.usage.take().map(Event::Usage));
        out.push_back(Event::Stop(stop));
        self.done = true;
    }
}

impl Decode for Decoder {
    fn event(&mut self, data: &str, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        if data.trim() == "[DONE]" {
            self.close(out);
            return Ok(());
        }
        let chunk = read(data.as_bytes())?;
        self.chunk(chunk, out)
    }

    fn whole(&mut self, body: &[u8], out: &mut VecDeque<Event>) -> Result<(), Fault> {
        let chunk = read(body)?;
        if chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return Err(Fault::protocol("it has no choices"));
        }
        self.chunk(chunk, out)?;
        self.close(out);
        Ok(())
    }

    fn end(&mut self, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        if self.finish_reason.is_none() {
            return Err(Fault::protocol("the stream broke off before the end of the answer"));
        }
        self.close(out);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

/// Reads a chunk, unless it is an error object.
fn read(json: &[u8]) -> Result<Chunk<'_>, Fault> {
    let bad = |error: serde_json::Error| {
        let excerpt = shorten(&excerpt_of(json, 200));
        Fault::protocol(format!("a chunk is not a completion ({error}): {excerpt}"))
    };
    let chunk: Chunk<'_> = serde_json::from_slice(json).map_err(bad)?;
    if chunk.error.is_some() || chunk.choices.is_none() {
        let object: Value = serde_json::from_slice(json).map_err(bad)?;
        if let Some(fault) = Fault::in_object(&object) {
            return Err(fault);
        }
    }
    Ok(chunk)
}

/// Text that is a string, or a list of parts of which the text ones count; `None` if empty.
fn plain_text(raw: &RawValue) -> Option<String> {
    let text = match serde_json::from_str::<Value>(raw.get()).ok()? {
        Value::String(text) => text,
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

impl Usage {
    /// Lenient, since a count that cannot be read is no reason to lose the answer.
    fn read(raw: &RawValue) -> Option<Self> {
        let usage: Map<String, Value> = serde_json::from_str(raw.get()).ok()?;
        let count = |name| usage.get(name).and_then(Value::as_u64);
        let (input, output) = (count("prompt_tokens"), count("completion_tokens"));
        input.or(output)?;
        Some(Self {
            input_tokens: input.unwrap_or_default(),
            output_tokens: output.unwrap_or_default(),
        })
    }
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    message: Option<Delta<'a>>,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    #[serde(borrow)]
    refusal: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
    #[serde(borrow)]
    function_call: Option<assemble::Function<'a>>,
}
