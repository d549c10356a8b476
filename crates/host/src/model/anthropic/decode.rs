//! From the events of a message stream to events.

mod wire;

use core::mem;
use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::model::calls::Draft;
use crate::model::drive::Decode;
use crate::model::fault::{Fault, shorten};
use crate::model::{Event, Opaque, StopReason};
use wire::{Begun, BlockStart, Counts, Delta, Ending, StreamEvent, Thinking, Whole};

/// The most blocks of one answer that may be open at a time.
const MAX_OPEN: usize = 512;

/// Reads one answer, streamed or whole.
#[derive(Debug)]
pub(super) struct Decoder {
    /// The model's name, to mark its opaque blocks.
    name: String,
    turn: usize,
    open: Vec<(u64, Open)>,
    /// Calls that ended without arguments: whether they were cut shows only at the end.
    held: Vec<Draft>,
    calls: usize,
    counts: Counts,
    stop: Option<String>,
    done: bool,
}

/// A content block whose parts are still arriving.
#[derive(Debug)]
enum Open {
    Text,
    Thinking {
        thinking: String,
        signature: String,
    },
    Opaque(Box<RawValue>),
    /// `initial` is the input from the block's start, which counts if no delta follows.
    Call {
        draft: Draft,
        initial: Option<Box<RawValue>>,
    },
    /// A kind that is not known here.
    Other,
}

impl Decoder {
    /// `turn` makes the ids of calls that come without one unique within the conversation.
    pub(super) fn new(name: String, turn: usize) -> Self {
        Self {
            name,
            turn,
            open: Vec::new(),
            held: Vec::new(),
            calls: 0,
            counts: Counts::default(),
            stop: None,
            done: false,
        }
    }

    fn start(
        &mut self,
        index: u64,
        block: &RawValue,
        out: &mut VecDeque<Event>,
    ) -> Result<(), Fault> {
        if self.open.len() == MAX_OPEN {
            return Err(Fault::protocol(format!("more than {MAX_OPEN} open blocks")));
        }
        let start: BlockStart = read(block)?;
        let open = match start.r#type.as_str() {
            "text" => {
                out.extend(text_event(start.text));
                Open::Text
            }
            "thinking" => {
                out.extend(reasoning_event(start.thinking.clone()));
                Open::Thinking { thinking: start.thinking, signature: start.signature }
            }
            "redacted_thinking" => Open::Opaque(block.to_owned()),
            "tool_use" => self.call(start),
            _ => Open::Other,
        };
        self.open.push((index, open));
        Ok(())
    }

    fn call(&mut self, start: BlockStart) -> Open {
        let id = match start.id {
            id if id.is_empty() => format!("call_{}_{}", self.turn, self.calls),
            id => id,
        };
        self.calls += 1;
        let initial = start.input.filter(|input| !is_empty_object(input));
        Open::Call { draft: Draft { id, name: start.name, arguments: String::new() }, initial }
    }

    fn delta(&mut self, index: u64, delta: Delta, out: &mut VecDeque<Event>) {
        let open = self.open.iter_mut().rev().find(|(number, _)| *number == index);
        match (delta, open.map(|(_, open)| open)) {
            (Delta::Text { text }, _) => out.extend(text_event(text)),
            (Delta::InputJson { partial_json }, Some(Open::Call { draft, .. })) => {
                draft.arguments.push_str(&partial_json);
            }
            (Delta::Thinking { thinking: more }, Some(Open::Thinking { thinking, .. })) => {
                thinking.push_str(&more);
                out.extend(reasoning_event(more));
            }
            (Delta::Signature { signature: more }, Some(Open::Thinking { signature, .. })) => {
                signature.push_str(&more);
            }
            // Citations and kinds to come change nothing here; a piece without its block
            // belongs to nothing.
            _ => {}
        }
    }

    fn stop_block(&mut self, index: u64, out: &mut VecDeque<Event>) {
        let Some(place) = self.open.iter().rposition(|(number, _)| *number == index) else {
            return;
        };
        let (_, open) = self.open.remove(place);
        match open {
            Open::Thinking { thinking, signature } if !signature.is_empty() => {
                let block = Thinking { r#type: "thinking", thinking, signature };
                // Strings always serialise.
                out.extend(to_raw_value(&block).ok().map(|raw| self.opaque(raw)));
            }
            Open::Opaque(raw) => out.push_back(self.opaque(raw)),
            Open::Call { mut draft, initial } => {
                if let Some(initial) = initial.filter(|_| draft.arguments.is_empty()) {
                    draft.arguments = Box::<str>::from(initial).into();
                }
                match draft.is_whole() {
                    true => out.push_back(draft.finish(false)),
                    false => self.held.push(draft),
                }
            }
            Open::Text | Open::Thinking { .. } | Open::Other => {}
        }
    }

    fn opaque(&self, raw: Box<RawValue>) -> Event {
        Event::Opaque(Opaque { model: self.name.clone(), raw })
    }

    /// Gives out what was held back until the end of the answer.
    fn close(&mut self, out: &mut VecDeque<Event>) {
        let stop = match self.stop.take().as_deref() {
            Some("end_turn" | "stop_sequence") | None => StopReason::End,
            Some("tool_use") if self.calls > 0 => StopReason::ToolUse,
            Some("max_tokens" | "model_context_window_exceeded") => StopReason::MaxTokens,
            Some("refusal") => StopReason::Refusal,
            Some(other) => StopReason::Other(other.to_owned()),
        };
        let cut = !matches!(stop, StopReason::End | StopReason::ToolUse);
        let held = mem::take(&mut self.held).into_iter().map(|draft| draft.finish(cut));
        out.extend(held);
        // A block that never ended was cut, whatever the reason given.
        for (_, open) in mem::take(&mut self.open) {
            if let Open::Call { draft, .. } = open {
                out.push_back(draft.finish(true));
            }
        }
        out.extend(self.counts.usage().map(Event::Usage));
        out.push_back(Event::Stop(stop));
        self.done = true;
    }
}

impl Decode for Decoder {
    fn event(&mut self, data: &str, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        let event: StreamEvent<'_> = serde_json::from_str(data).map_err(malformed(data))?;
        let lacks = |member| Fault::protocol(format!("a {} without {member}", event.r#type));
        let index = event.index.ok_or_else(|| lacks("index"));
        match event.r#type.as_str() {
            "message_start" => {
                let begun: Begun = read(event.message.ok_or_else(|| lacks("message"))?)?;
                self.counts.take(begun.usage);
            }
            "content_block_start" => {
                let block = event.content_block.ok_or_else(|| lacks("content_block"))?;
                self.start(index?, block, out)?;
            }
            "content_block_delta" => {
                let delta = event.delta.ok_or_else(|| lacks("delta"))?;
                self.delta(index?, read(delta)?, out);
            }
            "content_block_stop" => self.stop_block(index?, out),
            "message_delta" => {
                let ending: Ending = read(event.delta.ok_or_else(|| lacks("delta"))?)?;
                self.stop = ending.stop_reason.or(self.stop.take());
                self.counts.take(event.usage);
            }
            "message_stop" => self.close(out),
            "error" => return Err(reported(data)),
            // `ping`, and whatever comes later.
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &[u8], out: &mut VecDeque<Event>) -> Result<(), Fault> {
        let text = String::from_utf8_lossy(body);
        let object: Value = serde_json::from_str(&text).map_err(malformed(&text))?;
        if let Some(fault) = Fault::in_object(&object) {
            return Err(fault);
        }
        let message: Whole = serde_json::from_str(&text).map_err(malformed(&text))?;
        self.counts.take(message.usage);
        self.stop = message.stop_reason;
        for (index, block) in (0..).zip(message.content) {
            self.start(index, &block, out)?;
            self.stop_block(index, out);
        }
        self.close(out);
        Ok(())
    }

    fn end(&mut self, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        if self.stop.is_none() {
            return Err(Fault::protocol("the stream broke off before the end of the answer"));
        }
        self.close(out);
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.done
    }
}

fn text_event(text: String) -> Option<Event> {
    (!text.is_empty()).then_some(Event::Text(text))
}

fn reasoning_event(text: String) -> Option<Event> {
    (!text.is_empty()).then_some(Event::Reasoning(text))
}

fn is_empty_object(raw: &RawValue) -> bool {
    raw.get().strip_prefix('{').is_some_and(|rest| rest.trim() == "}")
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Fault> {
    serde_json::from_str(raw.get()).map_err(malformed(raw.get()))
}

/// The error that an `error` event reports.
fn reported(data: &str) -> Fault {
    serde_json::from_str(data).ok().and_then(|object| Fault::in_object(&object)).unwrap_or_else(
        || Fault::protocol(format!("an error event without an error: {}", shorten(data))),
    )
}

fn malformed(data: &str) -> impl Fn(serde_json::Error) -> Fault {
    let excerpt: String = data.chars().take(200).collect();
    move |error| Fault::protocol(format!("not a message event ({error}): {}", shorten(&excerpt)))
}
