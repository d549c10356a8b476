//! What the decoder reports: text, requests, and requests that were not run.

use alloc::boxed::Box;
use alloc::string::String;
use core::fmt;

use serde_json::value::RawValue;

/// Bounds on what one request may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of one request, from its first tag to its last. Default 4 MiB, at least
    /// 8 KiB.
    pub block: usize,
    /// Nesting of JSON in arguments. Default 100; values above 120 count as 120,
    /// where the JSON reader itself stops.
    pub depth: usize,
    /// Bytes of a server name, tool name or address. Default 4 KiB.
    pub name: usize,
    /// Bytes of [`NotRun::raw`]. Default 2 KiB.
    pub excerpt: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { block: 4 << 20, depth: 100, name: 4 << 10, excerpt: 2 << 10 }
    }
}

/// Which forms of requests are run; others are recognised and not run
/// ([`Shown::Form`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Forms {
    /// All that the [decoder](crate::xml::decode) reads.
    #[default]
    All,
    /// Those in tags: not `{"tool_calls":…}` among text, which may be data that a model
    /// repeats.
    Tagged,
    /// `<use_mcp_tool>` and `<access_mcp_resource>`.
    Taught,
}

/// How the model's output ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// The model stopped by itself, or at a stop sequence.
    Ended,
    /// The output was cut: by the token limit, a lost connection, a cancellation.
    Cut,
}

/// One thing found in the model's output, in order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Decoded {
    /// Text outside of requests. One stretch of text may come in several pieces.
    Text(String),
    /// A tool call.
    Call(Call),
    /// A request to read a resource.
    Resource {
        /// The server asked, when one was named.
        server: Option<String>,
        /// The address, trimmed and never empty.
        uri: String,
    },
    /// A request that was recognised and must not be run; the model has to be told.
    NotRun(NotRun),
}

/// A tool call as the model wrote it. Names are trimmed and never empty; whether they
/// exist is for the host to say.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Call {
    /// The call's own id, which only some JSON forms carry.
    pub id: Option<String>,
    /// The server named; `None` where the form has no place for one.
    pub server: Option<String>,
    /// The tool named.
    pub tool: String,
    /// A JSON object, byte for byte as written (after XML escapes, if it had any).
    pub arguments: Box<RawValue>,
    /// How it was written.
    pub form: Form,
}

impl Call {
    /// A call of `tool` with `arguments`, which must be a JSON object.
    pub fn new(tool: String, arguments: Box<RawValue>, form: Form) -> Self {
        Self { id: None, server: None, tool, arguments, form }
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
            && self.server == other.server
            && self.tool == other.tool
            && self.arguments.get() == other.arguments.get()
            && self.form == other.form
    }
}

/// The forms a call comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// `<use_mcp_tool>` with its elements.
    Elements,
    /// A JSON object in a `<tool_call>` or `<use_mcp_tool>` element.
    TaggedJson,
    /// `{"tool_calls":[…]}` without tags.
    Json,
    /// `<function=NAME><parameter=KEY>value</parameter></function>`. The form says
    /// nothing about types: a value that is a JSON number, boolean, null, array or
    /// object is taken as that, any other as a string; whoever knows the tool's
    /// schema may have to turn one into the other.
    Function,
}

/// A request that was recognised but must not be run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NotRun {
    /// Why.
    pub reason: Reason,
    /// The call's own id, when it had one.
    pub id: Option<String>,
    /// The server named, when that was read.
    pub server: Option<String>,
    /// The tool named, when that was read.
    pub tool: Option<String>,
    /// The address named, when it asked for a resource.
    pub uri: Option<String>,
    /// The request as written, cut to [`Limits::excerpt`] bytes.
    pub raw: String,
    /// Whether `raw` is only the beginning.
    pub truncated: bool,
}

impl NotRun {
    /// A refusal of which only the reason is known.
    pub fn new(reason: Reason) -> Self {
        Self {
            reason,
            id: None,
            server: None,
            tool: None,
            uri: None,
            raw: String::new(),
            truncated: false,
        }
    }
}

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not run: {}", self.reason)
    }
}

/// Why a request was not run. `Display` is written for the model that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// It stands in something that shows it instead of asking for it.
    Shown(Shown),
    /// The output was cut off before the request was complete.
    Cut,
    /// The output ended by itself before the request was complete.
    Incomplete,
    /// It can be read in more than one way.
    Ambiguous(String),
    /// The arguments are not a JSON object.
    Arguments(JsonError),
    /// The request is not built as it must be.
    Malformed(String),
    /// A limit on size was passed.
    TooLarge {
        /// What was too large.
        what: &'static str,
        /// The limit, in bytes.
        limit: usize,
    },
    /// JSON is nested deeper than allowed.
    TooDeep {
        /// The limit.
        limit: usize,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shown(place) => write!(f, "{place}"),
            Self::Cut => f.write_str(
                "the output was cut off before the request was complete; send it again, shorter",
            ),
            Self::Incomplete => f.write_str(
                "the request is cut off: the output ended before it was complete; write it again",
            ),
            Self::Ambiguous(how) => write!(f, "it can be read in more than one way: {how}"),
            Self::Arguments(error) => write!(f, "the arguments are not a JSON object: {error}"),
            Self::Malformed(what) => f.write_str(what),
            Self::TooLarge { what, limit } => {
                write!(f, "{what} is larger than the limit of {limit} bytes")
            }
            Self::TooDeep { limit } => {
                write!(f, "JSON is nested deeper than the limit of {limit} levels")
            }
        }
    }
}

/// Places that show a request instead of making it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shown {
    /// A Markdown code fence of backticks or tildes.
    Fence,
    /// Inline code between backticks, or an HTML `code` or `pre` element.
    Code,
    /// A Markdown or HTML block quotation, or quotation marks.
    Quotation,
    /// The middle of a sentence.
    Prose,
    /// A `think` or `thinking` element: the model's own notes.
    Thinking,
    /// An XML comment.
    Comment,
    /// A `tool_result` element: what a tool has brought, which is data.
    Result,
    /// A CDATA section outside of a request.
    Cdata,
    /// A form that the reader was told not to run, see [`Forms`].
    Form,
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fence => "in a fence; to run it, write it again outside of the code fence",
            Self::Code => "in code; to run it, write it again outside of the code marks",
            Self::Quotation => "in a quotation; to run it, write it again without the quotes",
            Self::Prose => "inside a sentence; to run it, write it again on lines of its own",
            Self::Thinking => "inside your thinking; to run it, write it again in the answer",
            Self::Comment => "in a comment; to run it, write it again outside of the comment",
            Self::Result => {
                "inside <tool_result>, where everything is data; to run it, write it again \
                 outside of results"
            }
            Self::Cdata => "in a CDATA section; to run it, write it again outside of it",
            Self::Form => {
                "in a form that is not run here; to run it, write it as a <use_mcp_tool> block, \
                 on lines of its own"
            }
        })
    }
}

/// Where and how a text fails to be the JSON that was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JsonError {
    /// What is wrong.
    pub message: String,
    /// Line, from 1, counted from the first character of the JSON.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// A few characters up to the place; empty at the very beginning.
    pub near: String,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at line {} column {}", self.message, self.line, self.column)?;
        if self.near.is_empty() {
            return Ok(());
        }
        write!(f, ", just after `{}`", self.near)
    }
}

impl core::error::Error for JsonError {}
