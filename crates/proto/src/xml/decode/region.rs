//! HTML elements and comments whose content is shown, not meant.

use super::event::Shown;

/// Elements looked for, with what standing inside them means.
const ELEMENTS: [(&str, Shown); 6] = [
    ("code", Shown::Code),
    ("pre", Shown::Code),
    ("blockquote", Shown::Quotation),
    ("think", Shown::Thinking),
    ("thinking", Shown::Thinking),
    ("!--", Shown::Comment),
];

/// Longest name looked for, plus the `/` of a closing tag.
const LONGEST: usize = 11;

/// Follows the elements of [`ELEMENTS`]; one inside another is content of the outer.
#[derive(Debug)]
pub(super) struct Elements {
    open: Option<usize>,
    /// The name of the tag being read, from the character after `<`.
    name: [u8; LONGEST],
    len: usize,
    in_tag: bool,
    /// Hyphens just read, for the end of a comment.
    hyphens: u8,
}

impl Elements {
    pub(super) fn new() -> Self {
        Self { open: None, name: [0; LONGEST], len: 0, in_tag: false, hyphens: 0 }
    }

    pub(super) fn shown(&self) -> Option<Shown> {
        self.open.and_then(|at| ELEMENTS.get(at)).map(|(_, shown)| *shown)
    }

    /// Ends an element that goes no further than its paragraph; true if one was open.
    pub(super) fn end_paragraph(&mut self) -> bool {
        let inline =
            self.open.and_then(|at| ELEMENTS.get(at)).is_some_and(|(name, _)| *name == "code");
        if inline {
            self.open = None;
        }
        inline
    }

    /// Takes one character; true when the element that was open ends with it.
    pub(super) fn feed(&mut self, c: char) -> bool {
        if let Some(("!--", _)) = self.open.and_then(|at| ELEMENTS.get(at)) {
            let ended = c == '>' && self.hyphens >= 2;
            self.hyphens = if c == '-' { self.hyphens.saturating_add(1) } else { 0 };
            if ended {
                self.open = None;
            }
            return ended;
        }
        if c == '<' {
            self.in_tag = true;
            self.len = 0;
            return false;
        }
        if !self.in_tag {
            return false;
        }
        if c == '>' || c.is_whitespace() {
            self.in_tag = false;
            return self.tag();
        }
        match u8::try_from(c) {
            Ok(byte) if self.len < LONGEST => {
                self.name[self.len] = byte.to_ascii_lowercase();
                self.len += 1;
            }
            _ => self.in_tag = false,
        }
        if self.open.is_none() && &self.name[..self.len] == b"!--" {
            self.in_tag = false;
            return self.tag();
        }
        false
    }

    fn tag(&mut self) -> bool {
        let name = &self.name[..self.len];
        match self.open {
            Some(at) => {
                let closes = name.strip_prefix(b"/") == Some(ELEMENTS[at].0.as_bytes());
                if closes {
                    self.open = None;
                }
                closes
            }
            None => {
                self.hyphens = 0;
                self.open = ELEMENTS.iter().position(|(known, _)| known.as_bytes() == name);
                false
            }
        }
    }
}
