//! One request, read a character at a time from its first tag to its last.

mod content;
mod tags;

use alloc::string::{String, ToString};
use core::ops::Range;

use super::body::Boundary;
use super::event::{Forms, Limits, Reason};
use super::tag::{Tag, TagReader};
use super::value::Values;

/// What is no request after this many bytes is text.
const LONGEST_START: usize = 4096;
/// A lower limit on the size of a request counts as this, so that what may turn out to
/// be text always fits.
const SMALLEST_LIMIT: usize = 2 * LONGEST_START;

/// What a request starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    UseTool,
    AccessResource,
    ToolCall,
    Function,
    /// `{"tool_calls":`
    Object,
}

impl Root {
    pub(super) const TAGS: [Self; 4] =
        [Self::UseTool, Self::AccessResource, Self::ToolCall, Self::Function];

    /// The name of its element; for an object, one that no tag has.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::UseTool => "use_mcp_tool",
            Self::AccessResource => "access_mcp_resource",
            Self::ToolCall => "tool_call",
            Self::Function => "function",
            Self::Object => "",
        }
    }

    /// Whether requests that start so are among those that run.
    pub(super) fn is_of(self, forms: Forms) -> bool {
        match self {
            Self::UseTool | Self::AccessResource => true,
            Self::ToolCall | Self::Function => forms != Forms::Taught,
            Self::Object => forms == Forms::All,
        }
    }

    fn is_opened_by(tag: &Tag) -> bool {
        Self::TAGS
            .iter()
            .any(|root| tag.opens(root.name()) && root.needs_value() == tag.value.is_some())
    }

    fn needs_value(self) -> bool {
        self == Self::Function
    }
}

/// The elements inside a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Server,
    Tool,
    Uri,
}

impl Field {
    fn name(self) -> &'static str {
        match self {
            Self::Server => "server_name",
            Self::Tool => "tool_name",
            Self::Uri => "uri",
        }
    }
}

pub(super) enum Step {
    More,
    /// It was text all along.
    Fail,
    /// It is complete. What is given back was read past its end.
    End(String),
}

/// A request, being read or complete. Places are byte offsets in `raw`.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) root: Root,
    /// The request as written, up to the limit.
    pub(super) raw: String,
    /// Whether something did not fit in `raw`.
    pub(super) overflow: bool,
    pub(super) several_lines: bool,
    pub(super) server: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) uri: Option<String>,
    /// Where the JSON stands.
    pub(super) json: Option<Range<usize>>,
    /// Whether that JSON holds the names too.
    pub(super) whole: bool,
    pub(super) values: Values,
    /// The first thing that was wrong.
    pub(super) fault: Option<Reason>,
    state: State,
    /// Where the last closing tag of something complete ended.
    settled: Option<usize>,
    /// Requests opened inside this one.
    nested: usize,
    /// Whether a `<tool_call>` stands around a `<function=…>`.
    wrapped: bool,
    limits: Limits,
}

#[derive(Debug)]
enum State {
    /// In the first tag, after its name.
    Opening(TagReader),
    Between,
    Tag(TagReader),
    /// In the text of an element.
    Text(TextElement),
    Json(Json),
    /// In the value of a parameter; see [`Values`].
    Value,
}

#[derive(Debug)]
struct TextElement {
    field: Field,
    start: usize,
    tag: Option<(TagReader, usize)>,
    cdata: bool,
}

#[derive(Debug)]
struct Json {
    start: usize,
    boundary: Boundary,
    /// A tag outside of strings, and where it started.
    tag: Option<(TagReader, usize)>,
}

impl Block {
    /// A request whose `opening` was read up to, and without, the character that ends
    /// the tag's name or, for an object, up to its first colon.
    pub(super) fn new(root: Root, opening: &str, limits: Limits) -> Self {
        let state = if root == Root::Object {
            let mut boundary = Boundary::new();
            opening.chars().for_each(|c| boundary.feed(c));
            State::Json(Json { start: 0, boundary, tag: None })
        } else {
            State::Opening(TagReader::named(root.name()))
        };
        Self {
            root,
            raw: opening.to_string(),
            overflow: false,
            several_lines: opening.contains('\n'),
            server: None,
            tool: None,
            uri: None,
            json: None,
            whole: root == Root::Object,
            values: Values::new(),
            fault: None,
            state,
            settled: None,
            nested: 0,
            wrapped: false,
            limits,
        }
    }

    pub(super) fn feed(&mut self, c: char) -> Step {
        let at = self.raw.len();
        self.several_lines |= c == '\n';
        if self.overflow || at + c.len_utf8() > self.limits.block.max(SMALLEST_LIMIT) {
            self.overflow = true;
        } else {
            self.raw.push(c);
        }
        match core::mem::replace(&mut self.state, State::Between) {
            State::Opening(reader) => self.in_opening(reader, c),
            State::Between => self.between(c, at),
            State::Tag(reader) => self.in_tag(reader, c),
            State::Text(element) => self.in_text(element, c, at),
            State::Json(json) => self.in_json(json, c, at),
            State::Value => self.in_value(c, at),
        }
    }

    /// Whether enough was read to be sure that this was meant as a request.
    pub(super) fn is_recognised(&self) -> bool {
        self.server.is_some()
            || (self.tool.is_some() && self.root != Root::Function)
            || !self.values.is_empty()
            || self.uri.is_some()
            || self.json.is_some()
            || self.fault.is_some()
            || matches!(self.state, State::Text(_) | State::Json(_) | State::Value)
    }

    /// Ends the request where the output ended by itself. True if nothing but the last
    /// closing tag is missing, all of it: what ends within a tag was cut.
    pub(super) fn finish(&mut self) -> bool {
        if self.nested > 0 {
            return false;
        }
        match core::mem::replace(&mut self.state, State::Between) {
            State::Json(json)
                if json.boundary.is_complete()
                    && json.tag.is_none()
                    && (self.whole || self.root == Root::Function)
                    && !self.wrapped =>
            {
                self.take_json(json.start..self.raw.len());
                true
            }
            State::Between => self.settled.is_some(),
            _ => false,
        }
    }

    /// Ends the request at `end` and gives back what was read after it. What did not
    /// fit cannot be given back, so then the request goes on.
    fn end_at(&mut self, end: usize) -> Step {
        if self.overflow {
            return Step::More;
        }
        let back = self.raw.get(end..).unwrap_or_default().to_string();
        self.raw.truncate(end);
        Step::End(back)
    }

    fn fault(&mut self, reason: Reason) {
        self.fault.get_or_insert(reason);
    }
}
