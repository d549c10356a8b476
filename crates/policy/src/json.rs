//! JSON as a tree that remembers where each value stood.
//!
//! `serde_json` reads the syntax; the spans of its raw values give the
//! offsets. For what people and servers write, where duplicates, exact numbers
//! and places matter: config files, tool definitions, arguments.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// The deepest nesting that is read.
pub const MAX_DEPTH: usize = 64;

/// A value and the byte offset at which it starts.
#[derive(Debug)]
pub struct Node {
    /// The byte offset of its first character.
    pub at: usize,
    /// The value.
    pub value: Value,
}

/// What a value is. Numbers keep their text: nothing is rounded.
#[derive(Debug)]
pub enum Value {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A string, unescaped.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// An object.
    Map(Vec<Member>),
}

/// One member of a map, in the order of the file.
#[derive(Debug)]
pub struct Member {
    /// The key, unescaped.
    pub key: String,
    /// The byte offset of the key.
    pub at: usize,
    /// The value.
    pub node: Node,
}

/// A key that stands more than once in one map. The last one counts, as with
/// every common JSON parser.
#[derive(Debug)]
pub struct Duplicate {
    /// The key, unescaped.
    pub key: String,
    /// The byte offset of the later one.
    pub at: usize,
    /// The byte offset of the one before it.
    pub first: usize,
}

/// A text that is no JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault}")]
pub struct ParseError {
    /// The byte offset at which it was found.
    pub at: usize,
    /// What is wrong.
    pub fault: ParseFault,
}

/// What is wrong with a text that is no JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseFault {
    /// Not JSON.
    #[error("not valid JSON: {message}")]
    Syntax {
        /// What the parser found.
        message: String,
    },
    /// Lists and objects nested too deeply.
    #[error("nested more than {limit} levels deep")]
    TooDeep {
        /// The bound, in levels.
        limit: usize,
    },
}

impl Value {
    /// The kind of value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "true or false",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
        }
    }
}

/// Reads one JSON document.
///
/// # Errors
///
/// When it is no JSON, or nested more than [`MAX_DEPTH`] levels deep.
pub fn parse(source: &str) -> Result<(Node, Vec<Duplicate>), ParseError> {
    serde_json::from_str::<IgnoredAny>(source).map_err(|error| syntax(source, &error))?;
    let mut reader = Reader { source, duplicates: Vec::new() };
    let root = reader.node(source, MAX_DEPTH)?;
    Ok((root, reader.duplicates))
}

/// The members of an object and their raw values, without looking deeper.
///
/// Duplicates are all returned; the caller decides what they mean.
///
/// # Errors
///
/// When the text is no JSON object.
pub fn members(object: &str) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
    let members: Members<'_> = serde_json::from_str(object)?;
    members
        .0
        .into_iter()
        .map(|(key, value)| Ok((serde_json::from_str(key.get())?, value)))
        .collect()
}

struct Reader<'a> {
    source: &'a str,
    duplicates: Vec<Duplicate>,
}

impl<'a> Reader<'a> {
    /// `part` is a slice of the source that holds one value and blanks.
    fn node(&mut self, part: &'a str, depth: usize) -> Result<Node, ParseError> {
        let part = part.trim_ascii();
        let at = self.offset(part);
        if depth == 0 {
            return Err(ParseError { at, fault: ParseFault::TooDeep { limit: MAX_DEPTH } });
        }
        let value = match part.as_bytes().first() {
            Some(b'{') => self.map(part, depth)?,
            Some(b'[') => self.list(part, depth)?,
            Some(b'"') => Value::Text(self.read(part)?),
            Some(b't' | b'f') => Value::Bool(self.read(part)?),
            Some(b'n') => Value::Null,
            _ => Value::Number(part.to_owned()),
        };
        Ok(Node { at, value })
    }

    fn map(&mut self, part: &'a str, depth: usize) -> Result<Value, ParseError> {
        let members: Members<'a> = self.read(part)?;
        let mut found: Vec<Member> = Vec::with_capacity(members.0.len());
        let mut index: BTreeMap<String, usize> = BTreeMap::new();
        for (key, value) in members.0 {
            let at = self.offset(key.get());
            let key: String = self.read(key.get())?;
            let node = self.node(value.get(), depth - 1)?;
            match index.get(&key).and_then(|nth| found.get_mut(*nth)) {
                Some(member) => {
                    self.duplicates.push(Duplicate { key, at, first: member.at });
                    (member.at, member.node) = (at, node);
                }
                None => {
                    index.insert(key.clone(), found.len());
                    found.push(Member { key, at, node });
                }
            }
        }
        Ok(Value::Map(found))
    }

    fn list(&mut self, part: &'a str, depth: usize) -> Result<Value, ParseError> {
        let items: Items<'a> = self.read(part)?;
        let nodes = items.0.into_iter().map(|item| self.node(item.get(), depth - 1));
        nodes.collect::<Result<_, _>>().map(Value::List)
    }

    fn read<T: Deserialize<'a>>(&self, part: &'a str) -> Result<T, ParseError> {
        serde_json::from_str(part).map_err(|error| {
            let inner = syntax(part, &error);
            ParseError { at: self.offset(part) + inner.at, fault: inner.fault }
        })
    }

    /// Where a slice of the source starts in it.
    fn offset(&self, part: &str) -> usize {
        (part.as_ptr() as usize).saturating_sub(self.source.as_ptr() as usize)
    }
}

/// The members of an object as spans of the source, keys too.
struct Members<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<(&'de RawValue, &'de RawValue)>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Collect).map(Members)
    }
}

/// The elements of a list as spans of the source.
struct Items<'a>(Vec<&'a RawValue>);

impl<'de: 'a, 'a> Deserialize<'de> for Items<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;
        impl<'de> Visitor<'de> for Collect {
            type Value = Vec<&'de RawValue>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(items)
            }
        }
        deserializer.deserialize_seq(Collect).map(Items)
    }
}

/// Gives a syntax fault its byte offset, from the line and column that
/// `serde_json` counts (columns in bytes, from 1; 0 at the start of a line).
fn syntax(text: &str, error: &serde_json::Error) -> ParseError {
    let line_start = match error.line().saturating_sub(2) {
        _ if error.line() < 2 => 0,
        nth => text.match_indices('\n').nth(nth).map_or(0, |(at, _)| at + 1),
    };
    let at = (line_start + error.column().saturating_sub(1)).min(text.len());
    let message = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&suffix).unwrap_or(&message).to_owned();
    ParseError { at, fault: ParseFault::Syntax { message } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_and_key_knows_its_offset() {
        let source = " {\"a\" : [1, \"\\u0062\"] , \"c\":{}}";
        let (root, _) = parse(source).unwrap();
        assert_eq!(root.at, 1);
        let Value::Map(members) = root.value else { panic!("a map") };
        assert_eq!((members[0].at, members[0].node.at), (2, 8));
        let Value::List(items) = &members[0].node.value else { panic!("a list") };
        assert_eq!(items[1].at, 12);
        assert!(matches!(&items[1].value, Value::Text(text) if text == "b"));
        assert_eq!(members[1].node.at, source.len() - 3);
    }

    #[test]
    fn the_last_of_two_equal_keys_counts_and_is_told() {
        let (root, duplicates) = parse("{\"a\":1,\"\\u0061\":2}").unwrap();
        let Value::Map(members) = root.value else { panic!("a map") };
        assert_eq!(members.len(), 1);
        assert!(matches!(&members[0].node.value, Value::Number(text) if text == "2"));
        assert_eq!(
            (duplicates[0].key.as_str(), duplicates[0].at, duplicates[0].first),
            ("a", 7, 1)
        );
    }

    #[test]
    fn nesting_without_end_is_refused_and_does_not_overflow() {
        let text = "[".repeat(100_000) + &"]".repeat(100_000);
        assert!(matches!(
            parse(&text).unwrap_err().fault,
            ParseFault::TooDeep { limit: MAX_DEPTH }
        ));
    }

    #[test]
    fn faults_inside_strings_are_found_where_they_are() {
        let fault = parse("{\"a\": \"x\\ud800\"}").unwrap_err();
        assert!((6..16).contains(&fault.at), "{}", fault.at);
        assert!(matches!(parse("{\"a\" 1}").unwrap_err(), ParseError { at: 5, .. }));
        assert!(parse("{} x").is_err());
        assert!(parse(" \n").is_err());
    }
}
