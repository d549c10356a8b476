//! Finds the beginning of a request in text.

use alloc::string::String;

use super::block::Root;

/// A longer beginning of an object is text; only white space can make it long.
const LONGEST_OBJECT: usize = 128;
const KEY: &str = "\"tool_calls\"";

/// Holds back what may be the beginning of a request.
#[derive(Debug)]
pub(super) struct Opener {
    held: String,
    object: Object,
}

/// How far `{"tool_calls":` was read.
#[derive(Clone, Copy, Debug)]
enum Object {
    Brace,
    Key(usize),
    Colon,
}

#[derive(Debug)]
pub(super) enum Opening {
    /// The character is text.
    Text,
    /// The character is held back.
    Held,
    /// What was held back is text. The character still has to be fed.
    Released(String),
    /// A request begins with what was held back; the character follows it.
    Found(Root, String),
}

impl Opener {
    pub(super) fn new() -> Self {
        Self { held: String::new(), object: Object::Brace }
    }

    pub(super) fn held(&self) -> &str {
        &self.held
    }

    pub(super) fn take(&mut self) -> String {
        core::mem::take(&mut self.held)
    }

    /// Takes one character; `object` says whether an object may begin with it.
    pub(super) fn feed(&mut self, c: char, object: bool) -> Opening {
        if self.held.is_empty() {
            if c != '<' && !(c == '{' && object) {
                return Opening::Text;
            }
            self.held.push(c);
            self.object = Object::Brace;
            return Opening::Held;
        }
        if self.held.starts_with('{') { self.feed_object(c) } else { self.feed_tag(c) }
    }

    fn feed_tag(&mut self, c: char) -> Opening {
        let name = &self.held[1..];
        let may_go_on = |root: &Root| {
            let known = root.name().as_bytes();
            name.len() < known.len()
                && known.get(name.len())
                    == u8::try_from(c).ok().map(|b| b.to_ascii_lowercase()).as_ref()
                && known[..name.len()].eq_ignore_ascii_case(name.as_bytes())
        };
        if Root::TAGS.iter().any(may_go_on) {
            self.held.push(c);
            return Opening::Held;
        }
        let found = Root::TAGS.into_iter().find(|root| root.name().eq_ignore_ascii_case(name));
        match found {
            Some(Root::Function) if c == '=' => Opening::Found(Root::Function, self.take()),
            Some(Root::Function) | None => Opening::Released(self.take()),
            Some(root) if c == '>' || c == '/' || c.is_whitespace() => {
                Opening::Found(root, self.take())
            }
            Some(_) => Opening::Released(self.take()),
        }
    }

    fn feed_object(&mut self, c: char) -> Opening {
        self.object = match self.object {
            Object::Colon if c == ':' => return Opening::Found(Root::Object, self.take()),
            Object::Key(at) if KEY.as_bytes().get(at).copied() == u8::try_from(c).ok() => {
                if at + 1 == KEY.len() { Object::Colon } else { Object::Key(at + 1) }
            }
            Object::Brace if c == '"' => Object::Key(1),
            Object::Brace | Object::Colon
                if c.is_ascii_whitespace() && self.held.len() < LONGEST_OBJECT =>
            {
                self.object
            }
            _ => return Opening::Released(self.take()),
        };
        self.held.push(c);
        Opening::Held
    }
}
