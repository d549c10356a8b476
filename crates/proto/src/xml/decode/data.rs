//! What the model repeats and does not say: results, and CDATA sections.
//!
//! Between `<tool_result>` and its end stands text that a tool has brought, which may
//! hold anything. So these regions count before every other: wherever one begins, also
//! in a fence or in a thought, nothing in it opens or ends anything, and one without an
//! end goes on to the end of the message.

use alloc::string::String;

/// The elements that hold results, in this form and in neighbouring ones.
const NAMES: [&str; 7] = [
    "tool_result",
    "tool_results",
    "tool_response",
    "tool_responses",
    "function_result",
    "function_results",
    "function_response",
];
/// A longer name is none of these.
const LONGEST_NAME: usize = 24;
/// Blanks and slashes before a name that are still read as part of a tag.
const LONGEST_LEAD: usize = 16;
const CDATA: &str = "![cdata[";

/// What the character just fed is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    /// Part of the message.
    Said,
    /// Data begins with it: it ends the name of the first tag.
    Begins,
    /// Data.
    Data,
    /// The last character of data.
    Ends,
    /// Part of the message: the tag before it was only named, not written.
    Named,
}

/// Where data begins and ends.
#[derive(Clone, Debug)]
pub(super) struct Data {
    /// The element that is open, as its place in [`NAMES`].
    open: Option<usize>,
    /// How many of that element are open.
    depth: usize,
    cdata: bool,
    tag: Option<Tag>,
    /// How much of the first tag was read, as long as only that was.
    first: Option<First>,
    previous: char,
    before_previous: char,
}

/// A tag being read.
#[derive(Clone, Debug)]
struct Tag {
    name: String,
    closing: bool,
    /// Characters before the name.
    lead: usize,
    /// Whether it is written exactly as we write it, letters' case aside.
    exact: bool,
    /// Whether the name has ended and only blanks may follow.
    ended: bool,
    /// The character before `<`.
    before: char,
}

#[derive(Clone, Copy, Debug)]
enum First {
    /// In the tag that began the data; the character before it.
    Tag(char),
    /// Right after it.
    After(char),
}

impl Data {
    pub(super) fn new() -> Self {
        Self {
            open: None,
            depth: 0,
            cdata: false,
            tag: None,
            first: None,
            previous: '\n',
            before_previous: '\n',
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some() || self.cdata
    }

    pub(super) fn is_cdata(&self) -> bool {
        self.cdata
    }

    pub(super) fn feed(&mut self, c: char) -> Fed {
        let fed = self.step(c);
        self.before_previous = self.previous;
        self.previous = c;
        fed
    }

    fn step(&mut self, c: char) -> Fed {
        if self.cdata {
            return self.in_cdata(c);
        }
        if let Some(fed) = self.in_first(c) {
            return fed;
        }
        let was_open = self.is_open();
        let inside = if was_open { Fed::Data } else { Fed::Said };
        let Some(mut tag) = self.tag.take() else {
            if c == '<' {
                self.tag = Some(Tag::after(self.previous));
            }
            return inside;
        };
        if tag.feed(c) {
            self.tag = Some(tag);
            if self.tag.as_ref().is_some_and(|tag| tag.name == CDATA) {
                self.tag = None;
                self.cdata = true;
                return if was_open { Fed::Data } else { Fed::Begins };
            }
            return inside;
        }
        if c == '<' {
            self.tag = Some(Tag::after(self.previous));
        }
        if tag.closing { self.close(&tag, c) } else { self.open(&tag, c) }.unwrap_or(inside)
    }

    fn in_cdata(&mut self, c: char) -> Fed {
        if c == '>' && self.previous == ']' && self.before_previous == ']' {
            self.cdata = false;
            if !self.is_open() {
                return Fed::Ends;
            }
        }
        Fed::Data
    }

    /// A tag in quotation marks or backticks, with nothing else, is only named; one that
    /// closes itself holds nothing.
    fn in_first(&mut self, c: char) -> Option<Fed> {
        match self.first? {
            First::Tag(before) if c == '>' => {
                if self.previous == '/' {
                    (self.first, self.open, self.depth) = (None, None, 0);
                    return Some(Fed::Ends);
                }
                self.first = Some(First::After(before));
                Some(Fed::Data)
            }
            First::Tag(before) => {
                // Only `<name/>` and `<name />` close themselves: attributes may hold anything.
                self.first = (c.is_whitespace() || c == '/').then_some(First::Tag(before));
                None
            }
            First::After(before) => {
                self.first = None;
                let named = c == before && matches!(c, '`' | '"' | '\'');
                named.then(|| {
                    (self.open, self.depth) = (None, 0);
                    Fed::Named
                })
            }
        }
    }

    fn open(&mut self, tag: &Tag, c: char) -> Option<Fed> {
        let found = tag.position()?;
        match self.open {
            Some(open) => {
                if open == found {
                    self.depth = self.depth.saturating_add(1);
                }
                None
            }
            None => {
                (self.open, self.depth) = (Some(found), 1);
                self.first = match c {
                    '>' => Some(First::After(tag.before)),
                    _ => Some(First::Tag(tag.before)),
                };
                Some(Fed::Begins)
            }
        }
    }

    fn close(&mut self, tag: &Tag, c: char) -> Option<Fed> {
        let open = self.open.and_then(|open| NAMES.get(open))?;
        if c != '>' || !tag.exact || tag.name != *open {
            return None;
        }
        self.depth = self.depth.saturating_sub(1);
        if self.depth > 0 {
            return None;
        }
        self.open = None;
        Some(Fed::Ends)
    }
}

impl Tag {
    fn after(before: char) -> Self {
        let name = String::new();
        Self { name, closing: false, lead: 0, exact: true, ended: false, before }
    }

    /// Takes one character; false if the tag's name, or all that may be one, is over.
    fn feed(&mut self, c: char) -> bool {
        if self.name.starts_with('!') || (self.name.is_empty() && c == '!') {
            self.name.push(c.to_ascii_lowercase());
            return CDATA.starts_with(self.name.as_str());
        }
        if self.name.is_empty() && !c.is_ascii_alphanumeric() && !matches!(c, '_' | '<' | '>') {
            // No letter of ours: blanks and what shows nothing hide a tag from us, and not
            // from a reader.
            let skipped = c == '/' || c.is_whitespace() || !c.is_ascii() || c.is_control();
            self.exact &= c == '/' && !self.closing;
            self.closing |= c == '/';
            self.lead += 1;
            return skipped && self.lead <= LONGEST_LEAD;
        }
        match c {
            _ if self.ended => self.closing && c.is_whitespace(),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' if self.name.len() < LONGEST_NAME => {
                self.name.push(c.to_ascii_lowercase());
                true
            }
            // Other ways to write such a name begin data, and do not end it.
            '-' => {
                self.exact = false;
                self.name.push('_');
                self.name.len() < LONGEST_NAME
            }
            ':' => {
                self.exact = false;
                self.name.clear();
                true
            }
            _ if !c.is_ascii() && !c.is_whitespace() => {
                self.exact = false;
                self.lead += 1;
                self.lead <= LONGEST_LEAD
            }
            _ if self.closing && c.is_whitespace() => {
                self.ended = true;
                true
            }
            _ => false,
        }
    }

    fn position(&self) -> Option<usize> {
        let plain = |name: &str| name.chars().filter(|c| *c != '_').collect::<String>();
        let name = plain(&self.name);
        NAMES.iter().position(|known| plain(known) == name)
    }
}
