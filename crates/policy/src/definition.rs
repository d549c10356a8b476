//! One tool definition in a form that can be compared.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hash::ContentHash;
use crate::json::{self, Node, Value};
use crate::visible::{quoted, visible};

/// The largest definition that is compared: 256 KiB.
const MAX_BYTES: usize = 256 << 10;

/// Members that say nothing to the model and may change from list to list.
const LEFT_OUT: [&str; 2] = ["_meta", "icons"];

/// A tool definition in canonical form: keys in order, no blanks, numbers as
/// they were written. `_meta` and `icons` are left out; everything else a
/// server says counts, members unknown to Carrick too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ToolDefinition {
    name: String,
    canonical: String,
    digest: ContentHash,
}

/// A definition that cannot be compared, so that its tool must be held.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// Larger than any definition should be.
    #[error("the tool definition has {bytes} bytes, more than {MAX_BYTES}")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// Not JSON, or nested too deeply.
    #[error("the tool definition cannot be read: {message}")]
    Syntax {
        /// What the parser found.
        message: String,
    },
    /// A member that stands there twice: two readers could see two tools.
    #[error("the tool definition has {} twice", quoted(.key))]
    DuplicateKey {
        /// The member.
        key: String,
    },
    /// No object with a name.
    #[error("the tool definition is no object with a \"name\"")]
    Nameless,
}

impl ToolDefinition {
    /// Reads a definition as the server sent it.
    ///
    /// # Errors
    ///
    /// When it cannot be compared, see [`DefinitionError`].
    pub fn parse(json: &str) -> Result<Self, DefinitionError> {
        if json.len() > MAX_BYTES {
            return Err(DefinitionError::TooLarge { bytes: json.len() });
        }
        let (root, mut duplicates) = json::parse(json)
            .map_err(|error| DefinitionError::Syntax { message: error.fault.to_string() })?;
        if let Some(duplicate) = duplicates.pop() {
            return Err(DefinitionError::DuplicateKey { key: duplicate.key });
        }
        let Value::Map(mut members) = root.value else { return Err(DefinitionError::Nameless) };
        members.retain(|member| !LEFT_OUT.contains(&&*member.key));
        let name = members.iter().find_map(|member| match &member.node.value {
            Value::Text(name) if member.key == "name" => Some(name.clone()),
            _ => None,
        });
        let name = name.ok_or(DefinitionError::Nameless)?;
        let mut canonical = String::with_capacity(json.len());
        write_canonical(&mut canonical, &Value::Map(members));
        Ok(Self { name, digest: ContentHash::of(canonical.as_bytes()), canonical })
    }

    /// The tool's own name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The SHA-256 of the canonical form.
    pub fn digest(&self) -> ContentHash {
        self.digest
    }

    /// All that the definition says, a line for each value, for a person to
    /// read: `inputSchema.properties.city.type: "string"`.
    pub fn lines(&self) -> Vec<String> {
        self.values().into_iter().map(|(path, value)| format!("{path}: {value}")).collect()
    }

    /// What differs in `after`: `- path: value` and `+ path: value`, hidden characters
    /// written out.
    pub fn changes(&self, after: &Self) -> Vec<String> {
        let (before, after) = (self.values(), after.values());
        let mut lines = Vec::new();
        let paths: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
        for path in paths {
            let (old, new) = (before.get(path), after.get(path));
            if old == new {
                continue;
            }
            lines.extend(old.map(|old| format!("- {path}: {old}")));
            lines.extend(new.map(|new| format!("+ {path}: {new}")));
        }
        lines
    }

    fn values(&self) -> BTreeMap<String, String> {
        let mut values = BTreeMap::new();
        // The canonical form was made by `parse`, which read it from a tree.
        if let Ok((root, _)) = json::parse(&self.canonical) {
            flatten(&root, String::new(), &mut values);
        }
        values
    }
}

impl TryFrom<String> for ToolDefinition {
    type Error = DefinitionError;

    fn try_from(json: String) -> Result<Self, DefinitionError> {
        Self::parse(&json)
    }
}

impl From<ToolDefinition> for String {
    fn from(definition: ToolDefinition) -> Self {
        definition.canonical
    }
}

fn write_canonical(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(text) => out.push_str(text),
        Value::Text(text) => write_string(out, text),
        Value::List(items) => {
            for (nth, item) in items.iter().enumerate() {
                out.push(if nth == 0 { '[' } else { ',' });
                write_canonical(out, &item.value);
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Map(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_by(|left, right| left.key.cmp(&right.key));
            for (nth, member) in sorted.iter().enumerate() {
                out.push(if nth == 0 { '{' } else { ',' });
                write_string(out, &member.key);
                out.push(':');
                write_canonical(out, &member.node.value);
            }
            out.push_str(if members.is_empty() { "{}" } else { "}" });
        }
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push_str(&serde_json::Value::from(text).to_string());
}

/// Every value with the path that leads to it. Keys that are not plain words
/// are quoted, so that no key can look like a path.
fn flatten(node: &Node, path: String, values: &mut BTreeMap<String, String>) {
    match &node.value {
        Value::Map(members) if !members.is_empty() => {
            for member in members {
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$');
                let is_plain = !member.key.is_empty() && member.key.chars().all(plain);
                let key = if is_plain { member.key.clone() } else { quoted(&member.key) };
                let dot = if path.is_empty() { "" } else { "." };
                flatten(&member.node, format!("{path}{dot}{key}"), values);
            }
        }
        Value::List(items) if !items.is_empty() => {
            for (nth, item) in items.iter().enumerate() {
                flatten(item, format!("{path}[{nth}]"), values);
            }
        }
        Value::Text(text) => {
            values.insert(path, quoted(text));
        }
        other => {
            let mut text = String::new();
            write_canonical(&mut text, other);
            values.insert(path, visible(&text));
        }
    }
}
