//! Finds tool requests in what a model writes, while it writes.
//!
//! A [`Decoder`] takes the text in pieces of any size and gives back text, calls,
//! resource reads, and requests that were recognised but not run, in order. The same
//! text in other pieces gives the same result (only stretches of text may be split
//! elsewhere). Work is linear in the text, memory bounded by [`Limits`].
//!
//! # What counts as a request
//!
//! - `<use_mcp_tool>` with `<server_name>`, `<tool_name>` and `<arguments>`, a JSON
//!   object. Nothing in the arguments is unescaped as long as they are JSON; arguments
//!   that are JSON only after XML unescaping (entities, CDATA) are taken that way. No
//!   `<arguments>`, an empty one, or `<arguments/>` mean `{}`.
//! - `<access_mcp_resource>` with `<server_name>` and `<uri>`.
//! - `<tool_call>{"name":…,"arguments":{…}}</tool_call>`, also with a list of calls,
//!   or `{"tool_calls":[{"name":…,"arguments":{…}}]}` at the beginning of a line or
//!   after the end of a sentence; in both `arguments` may be a string holding JSON.
//! - `<function=NAME>` with `<parameter=KEY>value</parameter>`, or with a JSON object.
//!
//! Names of tags may be in any case, names and addresses lose surrounding blanks. A
//! closing tag inside a JSON string is part of the string, so a request ends at the
//! outermost closing tag that leaves valid JSON. A last closing tag may be missing.
//!
//! # What is not run
//!
//! - Examples: in a code fence, inline code, a quotation (`>`, quotation marks), an
//!   HTML comment, a `code`, `pre`, `blockquote`, `think` or `thinking` element, or,
//!   written on one line, in the middle of a sentence. Their text stays text; a
//!   [`NotRun`] follows the request. A backslash before `<` makes it text only.
//! - Data: what stands between `<tool_result>` and its end, or in a CDATA section,
//!   wherever these begin; without an end, all that follows.
//! - Forms that the reader was told to leave ([`Forms`]).
//! - What was cut ([`Finish::Cut`], or an end within a tag), is incomplete, or can be
//!   read in two ways.
//! - Arguments that are not strict JSON. Nothing is repaired.

mod block;
mod body;
mod context;
mod data;
mod event;
mod json;
mod opener;
mod read;
mod region;
mod tag;
mod value;

#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec::Vec;

use block::{Block, Step};
use context::{Fed, Tracker, ends_sentence};
use data::Data;
use opener::{Opener, Opening};

pub use event::{Call, Decoded, Finish, Form, Forms, JsonError, Limits, NotRun, Reason, Shown};
pub(in crate::xml) use json::read_object;
pub use json::{read_arguments, read_json_arguments};

/// Requests on one line that may wait for the end of the line.
const MOST_WAITING: usize = 16;

/// Bytes of a tag at the end of a message that show that a request was begun.
const TELLING: usize = 5;

/// The decoder. See the [module](self).
#[derive(Debug)]
pub struct Decoder {
    limits: Limits,
    forms: Forms,
    tracker: Tracker,
    opener: Opener,
    /// Where the request that may begin with what the opener holds would stand.
    spot: Spot,
    block: Option<Box<Active>>,
    text: String,
    queue: VecDeque<Decoded>,
    /// How many of the queue may be handed out: the rest waits until it is clear
    /// whether it stands inside of a sentence.
    released: Option<usize>,
    /// What was written for each request that waits, and whether that was shortened.
    waiting: Vec<(String, bool)>,
    #[cfg(test)]
    work: usize,
}

/// Where a request begins.
#[derive(Clone, Copy, Debug)]
struct Spot {
    shown: Option<Shown>,
    escaped: bool,
    text_before: Option<char>,
}

/// The request being read.
#[derive(Debug)]
struct Active {
    block: Block,
    spot: Spot,
    region: u32,
    /// Bytes of the block that the tracker has seen.
    tracked: usize,
    /// Data that begins in the block, should it be no request after all.
    data: Data,
}

impl Decoder {
    /// A decoder at the beginning of a message.
    pub fn new(limits: Limits) -> Self {
        Self::of(Forms::All, limits)
    }

    /// The same, for these forms of requests only.
    pub fn of(forms: Forms, limits: Limits) -> Self {
        Self {
            limits,
            forms,
            tracker: Tracker::new(),
            opener: Opener::new(),
            spot: Spot { shown: None, escaped: false, text_before: None },
            block: None,
            text: String::new(),
            queue: VecDeque::new(),
            released: None,
            waiting: Vec::new(),
            #[cfg(test)]
            work: 0,
        }
    }

    /// Takes the next piece of the message.
    pub fn push(&mut self, piece: &str) {
        for c in piece.chars() {
            self.step(c);
        }
        self.flush_text();
    }

    /// Ends the message. The decoder is then ready for another one; what this one gave
    /// stays available from [`next`](Self::next).
    pub fn finish(&mut self, finish: Finish) {
        self.release(true);
        let held = self.opener.take();
        if let Some(active) = self.block.take() {
            self.finish_block(*active, finish);
        } else if self.spot.may_run() && self.is_cut(&held, finish) {
            let reason = if finish == Finish::Cut { Reason::Cut } else { Reason::Incomplete };
            self.emit(Decoded::NotRun(NotRun { raw: held, ..NotRun::new(reason) }));
        } else {
            self.text.push_str(&held);
        }
        self.flush_text();
        self.release(true);
        self.tracker = Tracker::new();
    }

    /// The next thing found, if any.
    #[expect(clippy::should_implement_trait, reason = "more may come after a `None`")]
    pub fn next(&mut self) -> Option<Decoded> {
        if let Some(released) = &mut self.released {
            *released = released.checked_sub(1)?;
        }
        self.queue.pop_front()
    }

    fn step(&mut self, c: char) {
        #[cfg(test)]
        {
            self.work += 1;
        }
        match self.block.take() {
            None => self.in_text(c),
            Some(active) if active.spot.shown.is_some() => self.in_example(active, c),
            Some(active) => self.in_request(active, c),
        }
    }

    fn in_text(&mut self, c: char) {
        self.tracker.feed(c, false);
        let object = self.tracker.starts_something();
        let mut opening = self.opener.feed(c, object);
        if let Opening::Released(text) = opening {
            self.push_text(&text);
            opening = self.opener.feed(c, object);
        }
        match opening {
            Opening::Held if self.opener.held().len() == c.len_utf8() => {
                self.spot = Spot {
                    shown: self.tracker.shown(),
                    escaped: self.tracker.escaped(),
                    text_before: self.tracker.text_before(),
                };
            }
            Opening::Held => {}
            Opening::Found(_, text) if self.spot.escaped => {
                self.push_text(&text);
                self.in_text_only(c);
            }
            Opening::Found(root, text) => {
                if !root.is_of(self.forms) {
                    self.spot.shown.get_or_insert(Shown::Form);
                }
                if self.spot.shown.is_some() {
                    self.push_text(&text);
                }
                let block = Block::new(root, &text, self.limits);
                let tracked = text.len() + c.len_utf8();
                let region = self.tracker.region();
                let data = self.tracker.data().clone();
                let mut active = Box::new(Active { block, spot: self.spot, region, tracked, data });
                if self.spot.shown.is_some() {
                    self.text.push(c);
                    let step = active.block.feed(c);
                    self.after_example(active, step);
                } else {
                    self.in_request(active, c);
                }
            }
            Opening::Text | Opening::Released(_) => self.in_text_only(c),
        }
    }

    /// A character that is text for certain.
    fn in_text_only(&mut self, c: char) {
        self.text.push(c);
        if self.released.is_some() && (c == '\n' || !c.is_whitespace()) {
            self.release(c == '\n');
        }
    }

    fn push_text(&mut self, text: &str) {
        text.chars().for_each(|c| self.in_text_only(c));
    }

    fn in_request(&mut self, mut active: Box<Active>, c: char) {
        let fitted = !active.block.overflow;
        let step = active.block.feed(c);
        if active.block.overflow {
            if fitted {
                active.see_raw();
            }
            active.data.feed(c);
        }
        match step {
            Step::More => self.block = Some(active),
            Step::Fail => {
                // Text all along: nothing in it is looked at twice.
                let raw = active.block.raw;
                let (before, _) = raw.split_at(raw.len() - c.len_utf8());
                self.push_text(before);
                let unseen = before.get(active.tracked..).unwrap_or_default();
                unseen.chars().for_each(|c| {
                    self.tracker.feed(c, false);
                });
                if active.tracked >= raw.len() {
                    self.in_text_only(c);
                } else {
                    self.step(c);
                }
            }
            Step::End(back) => {
                self.end_request(*active);
                back.chars().for_each(|c| self.step(c));
            }
        }
    }

    fn end_request(&mut self, mut active: Active) {
        #[cfg(test)]
        {
            self.work += active.block.raw.len();
        }
        let several_lines = active.block.several_lines;
        self.tracker.after_request(several_lines);
        if several_lines {
            self.release(true);
        }
        self.flush_text();
        let before = active.spot.text_before;
        if !several_lines && before.is_some_and(|last| !ends_sentence(last)) {
            self.released.get_or_insert(self.queue.len());
        }
        let requests = read::requests(&active.block, &self.limits);
        if requests.iter().any(|request| matches!(request, Decoded::NotRun(_))) {
            if !active.block.overflow {
                active.see_raw();
            }
            self.tracker.after_refused(active.data);
        }
        for decoded in requests {
            if self.released.is_some() && !matches!(decoded, Decoded::NotRun(_)) {
                self.waiting.push(read::excerpt(&active.block, &self.limits));
            }
            self.queue.push_back(decoded);
        }
        if self.waiting.len() > MOST_WAITING {
            self.release(false);
        }
    }

    fn in_example(&mut self, mut active: Box<Active>, c: char) {
        self.text.push(c);
        let fed = self.tracker.feed(c, true);
        if self.tracker.region() != active.region {
            self.end_example(&active);
        } else if fed == Fed::Marker {
            self.block = Some(active);
        } else {
            let step = active.block.feed(c);
            self.after_example(active, step);
        }
    }

    fn after_example(&mut self, active: Box<Active>, step: Step) {
        match step {
            Step::More => self.block = Some(active),
            Step::Fail => {}
            Step::End(_) => self.end_example(&active),
        }
    }

    fn end_example(&mut self, active: &Active) {
        #[cfg(test)]
        {
            self.work += active.block.raw.len();
        }
        if let (Some(shown), true) = (active.spot.shown, active.block.is_recognised()) {
            self.flush_text();
            self.emit(read::refusal(&active.block, Reason::Shown(shown), &self.limits));
        }
    }

    fn finish_block(&mut self, mut active: Active, finish: Finish) {
        if active.spot.shown.is_some() {
            return self.end_example(&active);
        }
        let block = &mut active.block;
        let recognised = block.is_recognised();
        let complete = block.finish();
        if finish == Finish::Ended && complete {
            return self.end_request(active);
        }
        let reason = match finish {
            _ if block.overflow => {
                Reason::TooLarge { what: "the request", limit: self.limits.block }
            }
            Finish::Cut => Reason::Cut,
            Finish::Ended => match block.fault.take() {
                Some(fault) => fault,
                // Prose about the tag, with nothing after it.
                None if !recognised => {
                    self.text.push_str(&block.raw);
                    return;
                }
                None => Reason::Incomplete,
            },
        };
        let refusal = read::refusal(block, reason, &self.limits);
        self.flush_text();
        self.emit(refusal);
    }

    /// Whether the message ends in the beginning of a request. If it ended by itself,
    /// only one that stands on its own line and is long enough to be no accident counts.
    fn is_cut(&self, held: &str, finish: Finish) -> bool {
        let tag = held.starts_with('<');
        match finish {
            // A brace and a quote begin any object.
            Finish::Cut => tag || held.contains("\"t"),
            Finish::Ended => tag && held.len() >= TELLING && self.spot.text_before.is_none(),
        }
    }

    fn emit(&mut self, decoded: Decoded) {
        self.queue.push_back(decoded);
    }

    fn flush_text(&mut self) {
        if !self.text.is_empty() {
            let text = core::mem::take(&mut self.text);
            self.queue.push_back(Decoded::Text(text));
        }
    }

    /// Lets go of requests that waited for the rest of their line.
    fn release(&mut self, run: bool) {
        let Some(released) = self.released.take() else { return };
        let mut written = core::mem::take(&mut self.waiting).into_iter();
        if run {
            return;
        }
        for waiting in self.queue.iter_mut().skip(released) {
            let mut refused = NotRun::new(Reason::Shown(Shown::Prose));
            match waiting {
                Decoded::Call(call) => {
                    refused.id = call.id.take();
                    refused.server = call.server.take();
                    refused.tool = Some(core::mem::take(&mut call.tool));
                }
                Decoded::Resource { server, uri } => {
                    refused.server = server.take();
                    refused.uri = Some(core::mem::take(uri));
                }
                Decoded::Text(_) | Decoded::NotRun(_) => continue,
            }
            (refused.raw, refused.truncated) = written.next().unwrap_or_default();
            *waiting = Decoded::NotRun(refused);
        }
    }
}

impl Active {
    /// Looks for data in what was kept of the block.
    fn see_raw(&mut self) {
        let unseen = self.block.raw.get(self.tracked..).unwrap_or_default();
        for c in unseen.chars() {
            self.data.feed(c);
        }
    }
}

impl Spot {
    fn may_run(self) -> bool {
        self.shown.is_none() && !self.escaped
    }
}
