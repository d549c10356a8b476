//! JSON as a tree that remembers where each value stood.
//!
//! `serde_json` reads the syntax; the spans of its raw values give the
//! offsets. Used for config files and, where duplicates and exact numbers
//! matter, for tool definitions and arguments.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::error::{Fault, Located};
use super::text;

/// The deepest nesting that is read.
pub(crate) const MAX_DEPTH: usize = 64;

/// A value and the byte offset at which it starts.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) at: usize,
    pub(crate) value: Value,
}

/// What a value is. Numbers keep their text: nothing is rounded.
#[derive(Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

/// One member of a map, in the order of the file.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) at: usize,
    pub(crate) node: Node,
}

/// A key that stands more than once in one map. The last one counts, as with
/// every common JSON parser.
#[derive(Debug)]
pub(crate) struct Duplicate {
    pub(crate) key: String,
    pub(crate) at: usize,
    pub(crate) first: usize,
}

impl Value {
    /// The kind of value, for messages.
    pub(crate) fn kind(&self) -> &'static str {
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
pub(crate) fn parse(source: &str) -> Result<(Node, Vec<Duplicate>), Located> {
    if source.trim_ascii().is_empty() {
        let message = "the file is empty; the least that counts is {}".to_owned();
        return Err(Located { at: 0, fault: Fault::Syntax { message } });
    }
    serde_json::from_str::<IgnoredAny>(source).map_err(|error| text::syntax(source, &error))?;
    let mut reader = Reader { source, duplicates: Vec::new() };
    let root = reader.node(source, MAX_DEPTH)?;
    Ok((root, reader.duplicates))
}

/// The members of an object and their raw values, without looking deeper.
///
/// Duplicates are all returned; the caller decides what they mean.
pub(crate) fn members(object: &str) -> Result<Vec<(String, &RawValue)>, serde_json::Error> {
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
    fn node(&mut self, part: &'a str, depth: usize) -> Result<Node, Located> {
        let part = part.trim_ascii();
        let at = self.offset(part);
        if depth == 0 {
            return Err(Located { at, fault: Fault::TooDeep { limit: MAX_DEPTH } });
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

    fn map(&mut self, part: &'a str, depth: usize) -> Result<Value, Located> {
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

    fn list(&mut self, part: &'a str, depth: usize) -> Result<Value, Located> {
        let items: Items<'a> = self.read(part)?;
        let nodes = items.0.into_iter().map(|item| self.node(item.get(), depth - 1));
        nodes.collect::<Result<_, _>>().map(Value::List)
    }

    fn read<T: Deserialize<'a>>(&self, part: &'a str) -> Result<T, Located> {
        serde_json::from_str(part).map_err(|error| {
            let inner = text::syntax(part, &error);
            Located { at: self.offset(part) + inner.at, fault: inner.fault }
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
        assert!(matches!(parse(&text).unwrap_err().fault, Fault::TooDeep { limit: MAX_DEPTH }));
    }

    #[test]
    fn faults_inside_strings_are_found_where_they_are() {
        let fault = parse("{\"a\": \"x\\ud800\"}").unwrap_err();
        assert!((6..16).contains(&fault.at), "{}", fault.at);
        assert!(matches!(parse("{\"a\" 1}").unwrap_err(), Located { at: 5, .. }));
        assert!(parse("{} x").is_err());
        assert!(parse(" \n").is_err());
    }
}
