//! The tags of a request, and what may stand between them.

use alloc::format;
use alloc::string::{String, ToString};

use super::super::body::Boundary;
use super::super::event::Reason;
use super::super::tag::{Tag, TagReader, TagStep};
use super::{Block, Field, Json, LONGEST_START, Root, State, Step, TextElement};

/// A longer opening tag is text.
const LONGEST_OPENING: usize = 1024;
/// White space after complete arguments that ends the wait for a last closing tag.
const LONGEST_TAIL: usize = 1024;

impl Block {
    pub(super) fn in_opening(&mut self, mut reader: TagReader, c: char) -> Step {
        match reader.feed(c) {
            TagStep::More if self.raw.len() > LONGEST_OPENING => return Step::Fail,
            TagStep::More => self.state = State::Opening(reader),
            TagStep::Done(tag) => {
                self.tool = tag.value.filter(|_| self.root == Root::Function);
                if self.root == Root::Function && self.tool.as_deref().is_none_or(str::is_empty) {
                    return Step::Fail;
                }
                if tag.empty {
                    self.fault(Reason::Malformed("the request is empty".to_string()));
                    return Step::End(String::new());
                }
            }
            _ => return Step::Fail,
        }
        Step::More
    }

    pub(super) fn between(&mut self, c: char, at: usize) -> Step {
        if c == '<' {
            self.state = State::Tag(TagReader::new());
            return Step::More;
        }
        if let Some(settled) = self.settled {
            let over = !c.is_whitespace() || at.saturating_sub(settled) > LONGEST_TAIL;
            return if over && self.nested == 0 { self.end_at(settled) } else { Step::More };
        }
        if c.is_whitespace() {
            return self.unless_endless();
        }
        if self.is_recognised() {
            self.fault(Reason::Malformed("there is text between the elements".to_string()));
            return Step::More;
        }
        if !matches!(c, '{' | '[') || (c == '[' && self.root != Root::ToolCall) {
            return Step::Fail;
        }
        self.whole = self.root != Root::Function;
        let mut boundary = Boundary::new();
        boundary.feed(c);
        self.state = State::Json(Json { start: at, boundary, tag: None });
        Step::More
    }

    pub(super) fn in_tag(&mut self, mut reader: TagReader, c: char) -> Step {
        // All that follows a cut tag may be the line break that ends every text.
        let tail = self.settled.map_or(LONGEST_TAIL, |settled| self.raw.len() - settled);
        if reader.is_new() && c.is_whitespace() && tail < LONGEST_TAIL {
            self.state = State::Tag(reader);
            return Step::More;
        }
        match reader.feed(c) {
            TagStep::More => {
                self.state = State::Tag(reader);
                return self.unless_endless();
            }
            TagStep::Comment => return Step::More,
            TagStep::Done(tag) => return self.on_tag(tag),
            TagStep::Cdata | TagStep::NotATag => {}
        }
        match self.settled {
            Some(settled) if self.nested == 0 => {
                let wrapper = self.wrapped && reader.begins_closing(Root::ToolCall.name());
                if reader.begins_closing(self.root.name()) || wrapper {
                    self.fault(Reason::Incomplete);
                }
                return self.end_at(settled);
            }
            None if !self.is_recognised() => return Step::Fail,
            _ => {}
        }
        self.fault(Reason::Malformed("there is text between the elements".to_string()));
        if c == '<' {
            self.state = State::Tag(TagReader::new());
        }
        Step::More
    }

    /// Gives up on what may turn out to be text before it gets long.
    fn unless_endless(&self) -> Step {
        if self.raw.len() > LONGEST_START && !self.is_recognised() {
            Step::Fail
        } else {
            Step::More
        }
    }

    pub(super) fn on_tag(&mut self, tag: Tag) -> Step {
        if tag.closes(self.root.name()) && self.nested > 0 {
            self.nested -= 1;
            return Step::More;
        }
        if self.wrapped && self.settled.is_none() && tag.closes(Root::Function.name()) {
            self.settled = Some(self.raw.len());
            return Step::More;
        }
        if tag.closes(self.root.name()) || (self.wrapped && tag.closes(Root::ToolCall.name())) {
            return Step::End(String::new());
        }
        match self.settled {
            Some(settled) if self.nested == 0 && (tag.closing || Root::is_opened_by(&tag)) => {
                self.end_at(settled)
            }
            _ if Root::is_opened_by(&tag) => self.on_nested(tag),
            _ => self.on_child(tag),
        }
    }

    fn on_child(&mut self, tag: Tag) -> Step {
        let start = self.raw.len();
        let text = |field| State::Text(TextElement { field, start, tag: None, cdata: false });
        match (self.root, tag.name.as_str()) {
            (_, name) if tag.closing => {
                self.fault(Reason::Malformed(format!("</{name}> closes nothing")));
            }
            (Root::UseTool, "arguments") if tag.empty => self.take_json(start..start),
            (Root::UseTool, "arguments") => {
                self.state = State::Json(Json { start, boundary: Boundary::new(), tag: None });
            }
            (_, name) if tag.empty => self.fault(Reason::Malformed(format!("<{name}/> is empty"))),
            (Root::UseTool | Root::AccessResource, "server_name") => {
                self.state = text(Field::Server);
            }
            (Root::UseTool, "tool_name") => self.state = text(Field::Tool),
            (Root::AccessResource, "uri") => self.state = text(Field::Uri),
            (Root::Function, "parameter") if tag.value.is_some() => {
                self.values.open(tag.value.unwrap_or_default(), start);
                self.state = State::Value;
            }
            (root, name) => {
                let root = root.name();
                self.fault(Reason::Malformed(format!("<{name}> has no meaning in <{root}>")));
            }
        }
        Step::More
    }

    /// Another request opens before this one is complete.
    fn on_nested(&mut self, tag: Tag) -> Step {
        if self.root == Root::ToolCall && tag.name == Root::Function.name() && !self.is_recognised()
        {
            // `<tool_call><function=…>`: the outer element is only a wrapper.
            self.root = Root::Function;
            self.wrapped = true;
            self.tool = tag.value.filter(|name| !name.is_empty());
            return Step::More;
        }
        self.fault(Reason::Ambiguous("another request starts inside of it".to_string()));
        if tag.opens(self.root.name()) && !tag.empty {
            self.nested += 1;
        }
        Step::More
    }
}
