//! What changes ask of a value, and values made anew.

use super::change::{Rebuild, Rebuilt, Test};
use crate::rpc::{Edits, elements, member, push_escaped};
use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use serde::de::IgnoredAny;

pub(super) const NOT_COMPLETE: Test =
    Test { says: "is not `complete`", holds: |v| unquoted(v).as_deref() != Some("complete") };
pub(super) const NOT_FORM: Test =
    Test { says: "is not `form`", holds: |v| unquoted(v).as_deref() != Some("form") };
pub(super) const NOT_AN_OBJECT: Test =
    Test { says: "is not an object", holds: |v| v.first() != Some(&b'{') };
pub(super) const OF_NO_OBJECT: Test =
    Test { says: "describes no object", holds: |v| !is_type(v, "object") };
pub(super) const NOT_BOOLEAN: Test =
    Test { says: "is not a boolean", holds: |v| v != b"true" && v != b"false" };
pub(super) const URL_ONLY: Test = Test {
    says: "offers URLs and no forms",
    holds: |v| member(v, "url").is_some() && member(v, "form").is_none(),
};
pub(super) const A_TASK: Test =
    Test { says: "is a task", holds: |v| member(v, "taskId").is_some() };
pub(super) const URL_ELICITATION: Test =
    Test { says: "is -32042 (URL elicitation required)", holds: |v| v == b"-32042" };
pub(super) const OF_A_RESOURCE: Test = Test {
    says: "names a `uri` in `data`",
    holds: |v| member(v, "data").is_some_and(|d| member(&v[d.value.range()], "uri").is_some()),
};

/// The old shape of a tool's schema has objects as the schemas of properties.
pub(super) const OBJECT_SCHEMAS: Rebuild = Rebuild {
    says: "`true` and `false` as a property's schema become `{}` and `{\"not\":{}}`",
    make: |value| match value {
        b"true" => Rebuilt::Exact(b"{}".to_vec()),
        b"false" => Rebuilt::Exact(br#"{"not":{}}"#.to_vec()),
        _ => Rebuilt::Same,
    },
};

pub(super) const AUDIO_AS_TEXT: Rebuild = Rebuild {
    says: "`audio` becomes `text` that tells of it",
    make: |block| match is_type(block, "audio") {
        true => text_block(&describe(block), block),
        false => Rebuilt::Same,
    },
};

pub(super) const LINK_AS_TEXT: Rebuild = Rebuild {
    says: "`resource_link` becomes `text` with its name and URI",
    make: |block| match is_type(block, "resource_link") {
        true => text_block(&describe(block), block),
        false => Rebuilt::Same,
    },
};

pub(super) const TOOLS_AS_TEXT: Rebuild = Rebuild {
    says: "`tool_use` and `tool_result` become `text` with their JSON",
    make: |block| match is_type(block, "tool_use") || is_type(block, "tool_result") {
        true => text_block(&String::from_utf8_lossy(block), block),
        false => Rebuilt::Same,
    },
};

/// Several blocks of one message become several messages of one block.
pub(super) const ONE_BLOCK_A_MESSAGE: Rebuild = Rebuild {
    says: "a message of several blocks becomes several messages of one",
    make: split_messages,
};

pub(super) const ONE_BLOCK: Rebuild =
    Rebuild { says: "several blocks become one `text`", make: one_block };

pub(super) const CHOICES_AS_ENUM: Rebuild = Rebuild {
    says: "choices with titles (`oneOf`) become `enum` and `enumNames`; a choice of several has no form",
    make: choices_as_enum,
};

pub(super) const NO_LISTS: Rebuild = Rebuild {
    says: "an answer that is a list has no form",
    make: |value| match value.first() {
        Some(b'[') => Rebuilt::Impossible,
        _ => Rebuilt::Same,
    },
};

fn is_type(block: &[u8], name: &str) -> bool {
    text_of(block, "type").is_some_and(|found| found == name)
}

/// A member that is a string, escapes resolved.
fn text_of<'a>(object: &'a [u8], name: &str) -> Option<Cow<'a, str>> {
    unquoted(&object[member(object, name)?.value.range()])
}

fn unquoted(raw: &[u8]) -> Option<Cow<'_, str>> {
    if let [b'"', inner @ .., b'"'] = raw
        && memchr::memchr(b'\\', inner).is_none()
    {
        return core::str::from_utf8(inner).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice::<String>(raw).ok().map(Cow::Owned)
}

/// A block in words, for where it cannot be itself.
fn describe(block: &[u8]) -> String {
    let text = |name| text_of(block, name).unwrap_or_default();
    match &*text("type") {
        "text" => text("text").into_owned(),
        "resource_link" => {
            let title = text_of(block, "title").unwrap_or_else(|| text("name"));
            let mut words = format!("{title}: {}", text("uri"));
            if let Some(description) = text_of(block, "description") {
                words.push_str(&format!("\n{description}"));
            }
            words
        }
        kind @ ("audio" | "image") => {
            let size = text("data").len() / 4 * 3;
            format!("[{kind} of type {}, {size} bytes, left out]", text("mimeType"))
        }
        _ => String::from_utf8_lossy(block).into_owned(),
    }
}

/// A text block that keeps the annotations of the one it stands for.
fn text_block(text: &str, block: &[u8]) -> Rebuilt {
    let mut out = br#"{"type":"text","text":""#.to_vec();
    push_escaped(&mut out, text);
    out.push(b'"');
    if let Some(annotations) = member(block, "annotations") {
        out.push(b',');
        out.extend_from_slice(&block[annotations.whole.range()]);
    }
    out.push(b'}');
    Rebuilt::Less(out)
}

fn split_messages(messages: &[u8]) -> Rebuilt {
    let Some(all) = elements(messages) else { return Rebuilt::Same };
    let mut out: Vec<u8> = Vec::with_capacity(messages.len());
    let mut split = false;
    for message in all.iter().map(|span| &messages[span.range()]) {
        let content = member(message, "content").map(|content| content.value);
        let blocks = content.and_then(|c| Some((c, elements(&message[c.range()])?)));
        let Some((content, blocks)) = blocks else {
            push_element(&mut out, |out| out.extend_from_slice(message));
            continue;
        };
        split = true;
        let blocks = blocks.iter().map(|block| &message[content.range()][block.range()]);
        let blocks: Vec<&[u8]> = blocks.collect();
        let blocks = if blocks.is_empty() { &[NOTHING][..] } else { &blocks[..] };
        for &block in blocks {
            let mut edits = Edits::new();
            edits.replace(content, block.to_vec());
            push_element(&mut out, |out| edits.apply(message, out));
        }
    }
    if !split {
        return Rebuilt::Same;
    }
    out.push(b']');
    Rebuilt::Exact(out)
}

/// The one block of a message that has none.
const NOTHING: &[u8] = br#"{"type":"text","text":""}"#;

fn push_element(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    out.push(if out.is_empty() { b'[' } else { b',' });
    write(out);
}

/// A model's answer of one block stays that block; of several, their words.
fn one_block(content: &[u8]) -> Rebuilt {
    let Some(blocks) = elements(content) else {
        return if uses_tools(content) { Rebuilt::Impossible } else { Rebuilt::Same };
    };
    let blocks: Vec<&[u8]> = blocks.iter().map(|span| &content[span.range()]).collect();
    if blocks.iter().any(|block| uses_tools(block)) {
        return Rebuilt::Impossible;
    }
    match blocks[..] {
        [only] => Rebuilt::Exact(only.to_vec()),
        _ => {
            let words: Vec<String> = blocks.iter().map(|block| describe(block)).collect();
            text_block(&words.join("\n"), b"{}")
        }
    }
}

/// Nobody who offered no tools can be answered with their use.
fn uses_tools(block: &[u8]) -> bool {
    is_type(block, "tool_use") || is_type(block, "tool_result")
}

fn choices_as_enum(property: &[u8]) -> Rebuilt {
    if is_type(property, "array") {
        return Rebuilt::Impossible;
    }
    let Some(choices) = member(property, "oneOf") else { return Rebuilt::Same };
    let list = &property[choices.value.range()];
    let Some(each) = elements(list) else { return Rebuilt::Impossible };
    let (mut values, mut names) = (Vec::new(), Vec::new());
    let mut more = false;
    for choice in each.iter().map(|span| &list[span.range()]) {
        let (Some(value), Some(name)) = (member(choice, "const"), member(choice, "title")) else {
            return Rebuilt::Impossible;
        };
        more |= size(choice) > 2;
        push_element(&mut values, |out| out.extend_from_slice(&choice[value.value.range()]));
        push_element(&mut names, |out| out.extend_from_slice(&choice[name.value.range()]));
    }
    if values.is_empty() {
        return Rebuilt::Impossible;
    }
    let mut both = br#""enum":"#.to_vec();
    both.extend_from_slice(&values);
    both.extend_from_slice(br#"],"enumNames":"#);
    both.extend_from_slice(&names);
    both.push(b']');
    let mut edits = Edits::new();
    edits.replace(choices.whole, both);
    let mut out = Vec::new();
    edits.apply(property, &mut out);
    if more { Rebuilt::Less(out) } else { Rebuilt::Exact(out) }
}

/// How many members an object has.
fn size(object: &[u8]) -> usize {
    serde_json::from_slice::<BTreeMap<String, IgnoredAny>>(object).map_or(0, |all| all.len())
}
