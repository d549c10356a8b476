//! One tag, read a character at a time from the one after `<`.

use alloc::string::String;

/// A longer name is not a tag of ours, so it is text.
const LONGEST_NAME: usize = 32;
/// A longer `KEY` in `<parameter=KEY>` is text.
const LONGEST_VALUE: usize = 256;

/// A tag that was read to its `>`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    /// In lower case.
    pub(super) name: String,
    /// `KEY` of `<name=KEY>`.
    pub(super) value: Option<String>,
    pub(super) closing: bool,
    /// `<name/>`
    pub(super) empty: bool,
}

impl Tag {
    pub(super) fn closes(&self, name: &str) -> bool {
        self.closing && self.name == name
    }

    pub(super) fn opens(&self, name: &str) -> bool {
        !self.closing && self.name == name
    }
}

#[derive(Debug)]
pub(super) enum TagStep {
    More,
    Done(Tag),
    /// A whole comment.
    Comment,
    /// `<![CDATA[`
    Cdata,
    /// What was read so far is text, and the last character belongs to what follows.
    NotATag,
}

#[derive(Debug)]
pub(super) struct TagReader {
    name: String,
    value: Option<String>,
    closing: bool,
    /// Whether an opening tag may hold attributes.
    attributes: bool,
    last: char,
    stage: Stage,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    Start,
    Name,
    Value,
    /// The quote that is open.
    Attributes(Option<char>),
    /// The hyphens seen just before.
    Comment(u8),
}

impl TagReader {
    pub(super) fn new() -> Self {
        Self {
            name: String::new(),
            value: None,
            closing: false,
            attributes: true,
            last: '<',
            stage: Stage::Start,
        }
    }

    /// A reader for tags without attributes. In text that is not XML, what looks like
    /// an attribute may be anything, and its quotes must not hide a tag.
    pub(super) fn bare() -> Self {
        Self { attributes: false, ..Self::new() }
    }

    /// A reader that has already read an opening tag's name.
    pub(super) fn named(name: &str) -> Self {
        Self { name: name.into(), stage: Stage::Name, ..Self::new() }
    }

    /// Whether nothing has been read after `<`.
    pub(super) fn is_new(&self) -> bool {
        matches!(self.stage, Stage::Start) && !self.closing
    }

    /// Whether what was read is the beginning of `</name>`.
    pub(super) fn begins_closing(&self, name: &str) -> bool {
        self.closing && name.starts_with(&self.name)
    }

    pub(super) fn feed(&mut self, c: char) -> TagStep {
        let step = match self.stage {
            Stage::Start => self.start(c),
            Stage::Name => self.in_name(c),
            Stage::Value => self.in_value(c),
            Stage::Attributes(quote) => self.in_attributes(c, quote),
            Stage::Comment(hyphens) => {
                if c == '>' && hyphens >= 2 {
                    return TagStep::Comment;
                }
                let hyphens = if c == '-' { hyphens.saturating_add(1) } else { 0 };
                self.stage = Stage::Comment(hyphens);
                TagStep::More
            }
        };
        self.last = c;
        step
    }

    fn start(&mut self, c: char) -> TagStep {
        match c {
            '/' if !self.closing => self.closing = true,
            '!' if !self.closing => {
                self.name.push(c);
                self.stage = Stage::Name;
            }
            _ if c.is_ascii_alphabetic() || c == '_' => {
                self.name.push(c.to_ascii_lowercase());
                self.stage = Stage::Name;
            }
            _ => return TagStep::NotATag,
        }
        TagStep::More
    }

    fn in_name(&mut self, c: char) -> TagStep {
        if self.name.starts_with('!') {
            return self.in_declaration(c);
        }
        match c {
            '>' => return self.done(),
            '=' if !self.closing && matches!(self.name.as_str(), "function" | "parameter") => {
                self.value = Some(String::new());
                self.stage = Stage::Value;
            }
            '/' if !self.closing && self.attributes => self.stage = Stage::Attributes(None),
            _ if c.is_whitespace() => self.stage = Stage::Attributes(None),
            _ if (c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':'))
                && self.name.len() < LONGEST_NAME =>
            {
                self.name.push(c.to_ascii_lowercase());
            }
            _ => return TagStep::NotATag,
        }
        TagStep::More
    }

    fn in_declaration(&mut self, c: char) -> TagStep {
        self.name.push(c);
        match self.name.as_str() {
            "!--" => self.stage = Stage::Comment(0),
            "![CDATA[" => return TagStep::Cdata,
            start if "![CDATA[".starts_with(start) || "!--".starts_with(start) => {}
            _ => return TagStep::NotATag,
        }
        TagStep::More
    }

    fn in_value(&mut self, c: char) -> TagStep {
        match &mut self.value {
            _ if c == '>' => return self.done(),
            Some(value) if value.len() < LONGEST_VALUE && c != '\n' && c != '<' => value.push(c),
            _ => return TagStep::NotATag,
        }
        TagStep::More
    }

    fn in_attributes(&mut self, c: char, quote: Option<char>) -> TagStep {
        if self.closing || !self.attributes {
            return match c {
                '>' => self.done(),
                _ if c.is_whitespace() => TagStep::More,
                _ => TagStep::NotATag,
            };
        }
        self.stage = Stage::Attributes(match (quote, c) {
            (None, '>') => return self.done(),
            (None, '<') => return TagStep::NotATag,
            // A quote opens a value only after `=`; elsewhere it is a stray one.
            (None, '"' | '\'') if self.last == '=' => Some(c),
            (Some(open), _) if open == c => None,
            _ => quote,
        });
        TagStep::More
    }

    fn done(&mut self) -> TagStep {
        let value = self.value.take().map(|value| trim_quotes(value.trim()).into());
        TagStep::Done(Tag {
            name: core::mem::take(&mut self.name),
            value,
            closing: self.closing,
            empty: self.last == '/' && !self.closing,
        })
    }
}

/// `KEY` for `"KEY"` and `'KEY'`.
fn trim_quotes(text: &str) -> &str {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
        .unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (TagStep, usize) {
        let mut reader = TagReader::new();
        for (at, c) in text.char_indices() {
            let step = reader.feed(c);
            if !matches!(step, TagStep::More) {
                return (step, at);
            }
        }
        (TagStep::More, text.len())
    }

    fn tag(text: &str) -> Tag {
        match read(text).0 {
            TagStep::Done(tag) => tag,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn names_are_lower_case_and_attributes_are_skipped() {
        assert!(tag("Server_Name >").opens("server_name"));
        assert!(tag("/ARGUMENTS\n>").closes("arguments"));
        assert!(tag("arguments/>").empty);
        assert!(tag("arguments a='/' />").empty);
        assert!(!tag("arguments a=b>").empty);
        assert_eq!(read(r#"a t=">" u='">'>x"#).1, 14);
    }

    #[test]
    fn values_lose_their_quotes() {
        assert_eq!(tag("parameter=city>").value.as_deref(), Some("city"));
        assert_eq!(tag("function=\"a b\" >").value.as_deref(), Some("a b"));
    }

    #[test]
    fn comments_and_cdata_are_told_apart() {
        assert!(matches!(read("!-- a -> <b> -->").0, TagStep::Comment));
        assert!(matches!(read("![CDATA[").0, TagStep::Cdata));
        assert!(matches!(read("!DOCTYPE a>").0, TagStep::NotATag));
    }

    #[test]
    fn other_text_is_no_tag() {
        for text in [" a>", "3>", "/a b>", "//a>", "a\"b>", "a b <c>", "<"] {
            assert!(matches!(read(text).0, TagStep::NotATag), "{text}");
        }
    }
}
