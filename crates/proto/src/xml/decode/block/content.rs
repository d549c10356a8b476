//! What stands inside the elements of a request: names, JSON, values.

use alloc::format;
use alloc::string::{String, ToString};
use core::ops::Range;

use super::super::event::Reason;
use super::super::tag::{Tag, TagReader, TagStep};
use super::{Block, Field, Json, Root, State, Step, TextElement};

impl Block {
    pub(super) fn in_text(&mut self, mut element: TextElement, c: char, at: usize) -> Step {
        if element.cdata {
            element.cdata = !(c == '>' && self.raw.ends_with("]]>")) || self.overflow;
        } else if let Some((mut reader, start)) = element.tag.take() {
            match reader.feed(c) {
                TagStep::More => element.tag = Some((reader, start)),
                TagStep::Done(tag) if tag.closes(element.field.name()) => {
                    self.take_text(element.field, element.start..start);
                    return Step::More;
                }
                TagStep::Done(tag) => {
                    self.fault(Reason::Malformed(format!(
                        "<{}> is not closed",
                        element.field.name()
                    )));
                    return self.on_tag(tag);
                }
                TagStep::Cdata => element.cdata = true,
                TagStep::NotATag if c == '<' => element.tag = Some((TagReader::new(), at)),
                TagStep::Comment | TagStep::NotATag => {}
            }
        } else if c == '<' {
            element.tag = Some((TagReader::new(), at));
        }
        self.state = State::Text(element);
        Step::More
    }

    fn take_text(&mut self, field: Field, place: Range<usize>) {
        let text = self.raw.get(place).unwrap_or_default();
        let name = field.name();
        let read = match crate::xml::unescape(text) {
            _ if text.len() > self.limits.name => {
                Err(Reason::TooLarge { what: name, limit: self.limits.name })
            }
            Ok(read) if read.trim().is_empty() => {
                Err(Reason::Malformed(format!("<{name}> is empty")))
            }
            Ok(read) => Ok(read.trim().to_string()),
            // An address may well hold a bare `&`.
            Err(_) if !text.contains('<') => Ok(text.trim().to_string()),
            Err(_) => Err(Reason::Malformed(format!("<{name}> holds more than text"))),
        };
        let text = match read {
            Ok(text) => text,
            Err(reason) => return self.fault(reason),
        };
        let slot = match field {
            Field::Server => &mut self.server,
            Field::Tool => &mut self.tool,
            Field::Uri => &mut self.uri,
        };
        if slot.is_some() {
            return self.fault(Reason::Ambiguous(format!("<{name}> is given twice")));
        }
        *slot = Some(text);
        if self.uri.is_some() && self.server.is_some() {
            self.settled = Some(self.raw.len());
        }
    }

    pub(super) fn in_json(&mut self, mut json: Json, c: char, at: usize) -> Step {
        if let Some((mut reader, start)) = json.tag.take() {
            match reader.feed(c) {
                TagStep::More => {
                    json.tag = Some((reader, start));
                    self.state = State::Json(json);
                    return Step::More;
                }
                TagStep::Done(tag) if self.ends_json(&tag, &json) => {
                    self.take_json(json.start..start);
                    if tag.closes("arguments") {
                        return Step::More;
                    }
                    // The element around it ends, or the next request begins.
                    return if tag.closing { self.on_tag(tag) } else { self.end_at(start) };
                }
                _ => {}
            }
        }
        if c == '<' && !json.boundary.in_string() && self.root != Root::Object {
            json.tag = Some((TagReader::bare(), at));
        } else {
            json.boundary.feed(c);
        }
        if self.root == Root::Object && json.boundary.is_complete() {
            self.take_json(json.start..self.raw.len());
            return Step::End(String::new());
        }
        self.state = State::Json(json);
        Step::More
    }

    fn ends_json(&self, tag: &Tag, json: &Json) -> bool {
        tag.closes(self.root.name())
            || (tag.closes("arguments") && !self.whole)
            || (tag.closes(Root::ToolCall.name()) && self.wrapped)
            || (Root::is_opened_by(tag) && json.boundary.is_complete() && self.nested == 0)
    }

    pub(super) fn take_json(&mut self, place: Range<usize>) {
        if self.json.is_some() {
            self.fault(Reason::Ambiguous("<arguments> is given twice".to_string()));
        } else {
            self.json = Some(place);
        }
        if !self.wrapped {
            self.settled = Some(self.raw.len());
        }
    }

    pub(super) fn in_value(&mut self, c: char, at: usize) -> Step {
        if !self.values.feed(c, at, self.raw.len()) {
            self.state = State::Value;
            return Step::More;
        }
        if self.wrapped {
            self.settled = Some(self.raw.len());
            return Step::More;
        }
        Step::End(String::new())
    }
}
