//! The strict side: text that must be JSON, with the place of the first mistake.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::value::RawValue;

use super::event::{Call, Form, JsonError, Limits, NotRun, Reason};
use crate::xml::unescape;

/// Above this the JSON reader itself would give up.
const DEEPEST: usize = 120;
/// Characters shown before the place of an error.
const NEAR: usize = 24;

/// Reads a call's arguments: a JSON object, or nothing at all, which means `{}`. The
/// object is kept byte for byte.
///
/// The text is read as JSON first. Only where that fails it is read as XML text, with
/// entities and CDATA sections, which must then give JSON: arguments of a form that
/// asks for plain JSON mean `&lt;` when they say `&lt;`.
///
/// # Errors
///
/// [`Reason::Arguments`] with the place of the mistake, [`Reason::Ambiguous`] when a
/// member name occurs twice, [`Reason::TooDeep`].
pub fn read_arguments(text: &str, limits: &Limits) -> Result<Box<RawValue>, Reason> {
    let text = text.trim();
    if text.is_empty() {
        return RawValue::from_string("{}".to_owned()).map_err(|e| syntax("", &e));
    }
    let plain = read_object(text, limits);
    let Err(Reason::Arguments(_)) = &plain else { return plain };
    match unescape(text) {
        Ok(unescaped) if unescaped != text => {
            let unescaped = unescaped.trim();
            if unescaped.is_empty() {
                read_arguments("", limits)
            } else {
                read_object(unescaped, limits)
            }
        }
        _ => plain,
    }
}

/// Reads a JSON object without repeated names, and nothing else.
pub(in crate::xml) fn read_object(text: &str, limits: &Limits) -> Result<Box<RawValue>, Reason> {
    check(text, limits)?;
    if !text.starts_with('{') {
        let found = match text.as_bytes().first() {
            Some(b'"') => "a string",
            Some(b'[') => "an array",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        };
        return Err(Reason::Arguments(JsonError {
            message: format!("expected an object, found {found}"),
            line: 1,
            column: 1,
            near: String::new(),
        }));
    }
    RawValue::from_string(text.to_owned()).map_err(|e| syntax(text, &e))
}

/// Checks that `text` is one JSON value without repeated member names.
pub(super) fn check(text: &str, limits: &Limits) -> Result<(), Reason> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let limit = limits.depth.min(DEEPEST);
    Unique { room: limit }.deserialize(&mut reader).and_then(|()| reader.end()).map_err(|e| {
        if !e.is_data() {
            return syntax(text, &e);
        }
        match bare_message(&e) {
            deep if deep == TOO_DEEP => Reason::TooDeep { limit },
            twice => Reason::Ambiguous(twice),
        }
    })
}

fn syntax(text: &str, error: &serde_json::Error) -> Reason {
    let line_start =
        text.split('\n').take(error.line().saturating_sub(1)).map(|l| l.len() + 1).sum();
    let line = text.get(line_start..).unwrap_or_default();
    let before = floor(line, error.column().saturating_sub(1));
    let column = before.chars().count() + 1;
    let start = before.char_indices().rev().take(NEAR).last().map_or(0, |(at, _)| at);
    Reason::Arguments(JsonError {
        message: bare_message(error),
        line: error.line().max(1),
        column,
        near: before[start..].to_owned(),
    })
}

/// The longest beginning of `text` of at most `len` bytes.
pub(super) fn floor(text: &str, len: usize) -> &str {
    let mut end = len.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The message without the place, which [`JsonError`] counts in its own way.
fn bare_message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&place).unwrap_or(&text).to_owned()
}

const TOO_DEEP: &str = "nested too deeply";

/// Walks a value and refuses repeated member names and deep nesting.
#[derive(Clone, Copy)]
struct Unique {
    room: usize,
}

impl Unique {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        self.room.checked_sub(1).map(|room| Self { room }).ok_or_else(|| E::custom(TOO_DEEP))
    }
}

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let inside = self.inside()?;
        while seq.next_element_seed(inside)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let inside = self.inside()?;
        let mut seen = BTreeSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if seen.contains(&name) {
                return Err(A::Error::custom(format_args!("the member {name:?} is given twice")));
            }
            seen.insert(name);
            map.next_value_seed(inside)?;
        }
        Ok(())
    }
}

/// One call as JSON: `{"name":…,"arguments":…}`, with the server as `server` or
/// `server_name` where there is one, or the same under `function`.
#[derive(Deserialize)]
struct Written<'a> {
    #[serde(default)]
    id: Option<String>,
    #[serde(default, alias = "server_name")]
    server: Option<String>,
    #[serde(default, alias = "tool", alias = "tool_name")]
    name: Option<String>,
    #[serde(borrow, default, alias = "parameters")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
    #[serde(default)]
    uri: Option<String>,
}

/// A request read from JSON.
#[derive(Debug)]
pub(super) enum Request {
    Call(Call),
    Resource { server: Option<String>, uri: String },
    NotRun(NotRun),
}

/// Reads one call, an array of calls, or `{"tool_calls":[…]}`.
pub(super) fn read_requests(
    text: &str,
    form: Form,
    limits: &Limits,
) -> Result<Vec<Request>, Reason> {
    let text = text.trim();
    check(text, limits)?;
    let items: Vec<&RawValue> = if text.starts_with('[') {
        parse(text)?
    } else {
        match parse::<Wrapped<'_>>(text)?.tool_calls {
            Some(items) => parse(items.get())?,
            None => return Ok(Vec::from([read_request(text, form, limits)])),
        }
    };
    if items.is_empty() {
        return Err(Reason::Malformed("the list of calls is empty".to_owned()));
    }
    Ok(items.into_iter().map(|item| read_request(item.get(), form, limits)).collect())
}

#[derive(Deserialize)]
struct Wrapped<'a> {
    #[serde(borrow, default)]
    tool_calls: Option<&'a RawValue>,
}

/// `text` is known to be JSON, so what fails is its shape.
fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Reason> {
    serde_json::from_str(text).map_err(|e| {
        Reason::Malformed(format!(
            "the JSON does not have the form of a call: {}",
            bare_message(&e)
        ))
    })
}

fn read_request(text: &str, form: Form, limits: &Limits) -> Request {
    let written = parse::<Written<'_>>(text).and_then(|mut outer| {
        if let Some(function) = outer.function.take() {
            let inner = parse::<Written<'_>>(function.get())?;
            outer.name = outer.name.or(inner.name);
            outer.arguments = outer.arguments.or(inner.arguments);
        }
        Ok(outer)
    });
    match written {
        Ok(written) => written.into_request(form, limits),
        Err(reason) => Request::NotRun(NotRun::new(reason)),
    }
}

impl Written<'_> {
    fn into_request(self, form: Form, limits: &Limits) -> Request {
        let id = self.id;
        let server = trimmed(self.server);
        let reason = match (trimmed(self.name), trimmed(self.uri)) {
            (Some(tool), None) => match read_json_arguments(self.arguments, limits) {
                Ok(arguments) => return Request::Call(Call { id, server, tool, arguments, form }),
                Err(reason) => {
                    let tool = Some(tool);
                    return Request::NotRun(NotRun { id, server, tool, ..NotRun::new(reason) });
                }
            },
            (None, Some(uri)) if self.arguments.is_none() => {
                return Request::Resource { server, uri };
            }
            (Some(_), Some(_)) => {
                Reason::Ambiguous("it names both a tool and a resource address".to_owned())
            }
            (None, _) => Reason::Malformed("the call does not name a tool".to_owned()),
        };
        Request::NotRun(NotRun { id, server, ..NotRun::new(reason) })
    }
}

/// Reads the arguments of a call that is JSON itself: an object, a string that holds
/// one, or nothing (no value, `null`, an empty string), which means `{}`.
///
/// # Errors
///
/// As [`read_arguments`].
pub fn read_json_arguments(
    value: Option<&RawValue>,
    limits: &Limits,
) -> Result<Box<RawValue>, Reason> {
    let Some(value) = value.filter(|value| value.get() != "null") else {
        return read_arguments("", limits);
    };
    if value.get().starts_with('"') {
        let text: String = parse(value.get())?;
        return if text.trim().is_empty() {
            read_arguments("", limits)
        } else {
            read_object(text.trim(), limits)
        };
    }
    read_object(value.get(), limits)
}

fn trimmed(name: Option<String>) -> Option<String> {
    name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

/// Whether `text` is a JSON number, boolean, null, array or object.
pub(super) fn is_literal(text: &str) -> bool {
    !text.starts_with('"') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}
