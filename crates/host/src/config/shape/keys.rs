//! Reading the members of an object by name, with errors that say what was
//! expected.

use super::super::error::{Fault, Located};
use super::super::template::Text;
use carrick_policy::json::{Member, Node, Value};

/// A key of another host and what to write instead.
pub(super) struct Foreign(pub(super) &'static str, pub(super) &'static str);

/// An object of the file.
pub(super) struct Table<'a> {
    members: &'a [Member],
    /// What kind of object it is, for messages.
    context: &'static str,
}

impl<'a> Table<'a> {
    pub(super) fn new(node: &'a Node, context: &'static str, field: &str) -> Result<Self, Located> {
        match &node.value {
            Value::Map(members) => Ok(Self { members, context }),
            _ => Err(wrong_type(node, field, "an object")),
        }
    }

    /// Every key must be one of `known`.
    pub(super) fn check_keys(&self, known: &[&str], foreign: &[Foreign]) -> Result<(), Located> {
        let Some(member) = self.members.iter().find(|member| !known.contains(&&*member.key)) else {
            return Ok(());
        };
        let elsewhere = foreign.iter().find(|Foreign(key, _)| *key == member.key);
        let hint = match (elsewhere, nearest(&member.key, known)) {
            (Some(Foreign(_, hint)), _) => format!(": {hint}"),
            (None, Some(near)) => format!("; did you mean \"{near}\"?"),
            (None, None) => format!("; known are {}", known.join(", ")),
        };
        let fault = Fault::UnknownKey { key: member.key.clone(), context: self.context, hint };
        Err(Located { at: member.at, fault })
    }

    pub(super) fn node(&self, key: &str) -> Option<&'a Node> {
        self.members.iter().find(|member| member.key == key).map(|member| &member.node)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.node(key).is_some()
    }

    pub(super) fn text(&self, key: &str) -> Result<Option<Text>, Located> {
        self.node(key).map(|node| text(node, key.to_owned())).transpose()
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, Located> {
        match self.node(key) {
            None => Ok(false),
            Some(Node { value: Value::Bool(flag), .. }) => Ok(*flag),
            Some(node) => Err(wrong_type(node, key, "true or false")),
        }
    }

    /// A whole number in `1..=most`.
    pub(super) fn count(&self, key: &str, most: u64) -> Result<Option<u64>, Located> {
        let Some(node) = self.node(key) else { return Ok(None) };
        let Value::Number(text) = &node.value else {
            return Err(wrong_type(node, key, "a whole number"));
        };
        match text.parse() {
            Ok(count) if (1..=most).contains(&count) => Ok(Some(count)),
            _ => {
                let reason = format!("{text} is not a whole number from 1 to {most}");
                Err(Located {
                    at: node.at,
                    fault: Fault::Invalid { field: key.to_owned(), reason },
                })
            }
        }
    }

    pub(super) fn texts(&self, key: &str) -> Result<Vec<Text>, Located> {
        let Some(node) = self.node(key) else { return Ok(Vec::new()) };
        let Value::List(items) = &node.value else {
            return Err(wrong_type(node, key, "a list of strings"));
        };
        let items = items.iter().enumerate();
        items.map(|(nth, item)| text(item, format!("{key}[{nth}]"))).collect()
    }

    pub(super) fn text_map(&self, key: &str) -> Result<Vec<(String, Text)>, Located> {
        let Some(node) = self.node(key) else { return Ok(Vec::new()) };
        let Value::Map(members) = &node.value else {
            return Err(wrong_type(node, key, "an object of strings"));
        };
        let member = |member: &Member| {
            let value = text(&member.node, format!("{key}.{}", member.key))?;
            Ok((member.key.clone(), value))
        };
        members.iter().map(member).collect()
    }
}

pub(super) fn text(node: &Node, field: String) -> Result<Text, Located> {
    match &node.value {
        Value::Text(raw) => Ok(Text { raw: raw.clone(), at: node.at, field }),
        _ => Err(wrong_type(node, &field, "a string")),
    }
}

pub(super) fn wrong_type(node: &Node, field: &str, expected: &'static str) -> Located {
    let (field, found) = (field.to_owned(), node.value.kind());
    Located { at: node.at, fault: Fault::WrongType { field, expected, found } }
}

pub(super) fn invalid(text: &Text, reason: impl Into<String>) -> Located {
    let fault = Fault::Invalid { field: text.field.clone(), reason: reason.into() };
    Located { at: text.at, fault }
}

/// The known word that `word` was probably meant to be.
pub(super) fn nearest<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let word = word.to_ascii_lowercase().replace(['_', '-'], "");
    let near =
        |candidate: &&str| (distance(&word, &candidate.to_ascii_lowercase()), candidate.len());
    let best = known.iter().min_by_key(|candidate| near(candidate))?;
    (near(best).0 <= 1 + word.chars().count() / 4).then_some(*best)
}

/// Edits (insert, remove, replace, swap neighbours) between two words.
///
/// Long words count as far apart without the work.
fn distance(left: &str, right: &str) -> usize {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    if left.len().abs_diff(right.len()) > 8 || left.len() > 64 {
        return usize::MAX;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut next = vec![i; right.len() + 1];
        for j in 1..=right.len() {
            let replaced = row[j - 1] + usize::from(left[i - 1] != right[j - 1]);
            next[j] = replaced.min(row[j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                next[j] = next[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_key_is_found_and_far_ones_are_not() {
        let known = ["mcpServers", "model", "models", "permissions", "limits"];
        assert_eq!(nearest("mcp_servers", &known), Some("mcpServers"));
        assert_eq!(nearest("mcpServer", &known), Some("mcpServers"));
        assert_eq!(nearest("modle", &known), Some("model"));
        assert_eq!(nearest("Permission", &known), Some("permissions"));
        assert_eq!(nearest("colours", &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
