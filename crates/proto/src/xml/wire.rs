//! The XML dialect on the wire: whole messages between programs.
//!
//! A request is one `<use_mcp_tool>` or `<access_mcp_resource>` document. An answer is
//! one JSON object, `{"status":"success","data":…}` or `{"status":"error","message":…}`,
//! by itself or inside a `<result>` or `<error>` element. Neither carries an id, so the
//! n-th answer belongs to the n-th request.
//!
//! Reading is strict: text is always unescaped, there is no DTD, no attribute, no unknown
//! and no repeated element. Messages never hold a line break when written here.

mod element;
mod framing;
#[cfg(test)]
mod tests;

use alloc::borrow::{Cow, ToOwned};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::decode::{Limits, Reason, read_object};
use super::escape;
use element::Document;

pub use framing::{Framing, FramingError};

/// A request.
#[derive(Clone, Debug)]
pub enum Request {
    /// To call a tool.
    Call {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// A JSON object.
        arguments: Box<RawValue>,
    },
    /// To read a resource.
    Resource {
        /// The server.
        server: String,
        /// The address.
        uri: String,
    },
}

/// An answer.
#[derive(Clone, Debug)]
pub enum Answer {
    /// What the request gave, as JSON.
    Success(Box<RawValue>),
    /// Why there is no result.
    Error(String),
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// As the JSON object alone.
    Json,
    /// Inside `<result>` or `<error>`.
    Element,
}

/// A message that does not follow the dialect: its sender is at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WireError {
    /// The document is not the XML that is allowed.
    Xml {
        /// What is wrong.
        what: String,
        /// Byte offset in the message.
        offset: usize,
    },
    /// The JSON in it is not what it must be.
    Json(Reason),
    /// The message is larger than [`Limits::block`].
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xml { what, offset } => write!(f, "{what} at byte {offset}"),
            Self::Json(reason) => write!(f, "{reason}"),
            Self::TooLarge { limit } => write!(f, "the message is larger than {limit} bytes"),
        }
    }
}

impl core::error::Error for WireError {}

impl Request {
    /// Reads a request.
    ///
    /// # Errors
    ///
    /// [`WireError`] for anything but one well-formed request within `limits`.
    pub fn read(text: &str, limits: &Limits) -> Result<Self, WireError> {
        check_size(text, limits)?;
        let mut document = Document::open(text)?;
        let call = match document.name() {
            "use_mcp_tool" => true,
            "access_mcp_resource" => false,
            _ => return Err(document.error("the message is neither a call nor a read")),
        };
        let allowed: &[&str] =
            if call { &["server_name", "tool_name", "arguments"] } else { &["server_name", "uri"] };
        let [server, second, arguments] = document.children(allowed)?;
        let required = |value: Option<String>, name: &str| {
            let value = value.map(|value| value.trim().to_owned()).filter(|v| !v.is_empty());
            value.ok_or_else(|| WireError::Xml { what: format!("<{name}> is missing"), offset: 0 })
        };
        let server = required(server, "server_name")?;
        if !call {
            return Ok(Self::Resource { server, uri: required(second, "uri")? });
        }
        let tool = required(second, "tool_name")?;
        let arguments = match arguments.as_deref().map_or("", str::trim) {
            "" => read_object("{}", limits),
            text => read_object(text, limits),
        };
        let arguments = arguments.map_err(WireError::Json)?;
        Ok(Self::Call { server, tool, arguments })
    }

    /// Writes the request on one line, without a line break at its end.
    pub fn write(&self) -> String {
        match self {
            Self::Call { server, tool, arguments } => format!(
                "<use_mcp_tool><server_name>{}</server_name><tool_name>{}</tool_name>\
                 <arguments>{}</arguments></use_mcp_tool>",
                escape(server),
                escape(tool),
                escape(arguments.get())
            ),
            Self::Resource { server, uri } => format!(
                "<access_mcp_resource><server_name>{}</server_name><uri>{}</uri>\
                 </access_mcp_resource>",
                escape(server),
                escape(uri)
            ),
        }
    }
}

#[derive(Deserialize)]
struct Written<'a> {
    status: String,
    #[serde(borrow, default)]
    data: Option<&'a RawValue>,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Writing<'a> {
    Error { message: &'a str },
}

impl Answer {
    /// Reads an answer in either form. A success without `data` means `null`.
    ///
    /// # Errors
    ///
    /// [`WireError`] for anything else, also for a `<result>` that holds an error or an
    /// `<error>` that holds a result.
    pub fn read(text: &str, limits: &Limits) -> Result<Self, WireError> {
        check_size(text, limits)?;
        let text = text.trim();
        if !text.starts_with('<') {
            return Self::read_json(text);
        }
        let mut document = Document::open(text)?;
        let success = match document.name() {
            "result" => true,
            "error" => false,
            _ => return Err(document.error("the answer is neither <result> nor <error>")),
        };
        let answer = Self::read_json(document.text()?.trim())?;
        if success != matches!(answer, Self::Success(_)) {
            return Err(document.error("the element and the status in it disagree"));
        }
        Ok(answer)
    }

    fn read_json(text: &str) -> Result<Self, WireError> {
        let wrong = |what: &str| WireError::Json(Reason::Malformed(what.to_owned()));
        let written: Written<'_> = serde_json::from_str(text)
            .map_err(|error| wrong(&format!("the answer is not as it must be: {error}")))?;
        match (written.status.as_str(), written.message) {
            ("success", _) => match written.data {
                Some(data) => Ok(Self::Success(data.to_owned())),
                None => raw("null").map(Self::Success),
            },
            ("error", Some(message)) => Ok(Self::Error(message)),
            ("error", None) => Err(wrong("the error has no message")),
            _ => Err(wrong("the status is neither success nor error")),
        }
    }

    /// Writes the answer on one line, without a line break at its end.
    pub fn write(&self, form: AnswerForm) -> String {
        let (name, json) = match self {
            Self::Success(data) => {
                ("result", format!(r#"{{"status":"success","data":{}}}"#, one_line(data.get())))
            }
            Self::Error(message) => {
                // A string always serializes.
                let json = serde_json::to_string(&Writing::Error { message });
                ("error", json.unwrap_or_default())
            }
        };
        match form {
            AnswerForm::Json => json,
            AnswerForm::Element => format!("<{name}>{}</{name}>", escape(&json)),
        }
    }
}

/// In JSON, line breaks stand only between its parts, where a blank does as well.
fn one_line(json: &str) -> Cow<'_, str> {
    if json.contains(['\n', '\r']) {
        Cow::Owned(json.replace(['\n', '\r'], " "))
    } else {
        Cow::Borrowed(json)
    }
}

fn raw(text: &str) -> Result<Box<RawValue>, WireError> {
    RawValue::from_string(text.to_owned())
        .map_err(|error| WireError::Json(Reason::Malformed(error.to_string())))
}

fn check_size(text: &str, limits: &Limits) -> Result<(), WireError> {
    if text.len() > limits.block {
        return Err(WireError::TooLarge { limit: limits.block });
    }
    Ok(())
}
