//! Just enough XML: one element that holds text, or elements that hold text.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;

use super::WireError;
use crate::xml::unescape;

const SECTION: (&str, &str) = ("<![CDATA[", "]]>");

/// A document whose root element has been opened.
pub(super) struct Document<'a> {
    text: &'a str,
    name: &'a str,
    at: usize,
}

impl<'a> Document<'a> {
    /// Reads up to the end of the root element's opening tag.
    pub(super) fn open(text: &'a str) -> Result<Self, WireError> {
        let mut document = Self { text, name: "", at: 0 };
        document.skip('\u{feff}');
        document.skip_blanks();
        if document.rest().starts_with("<?xml") {
            let end = document.rest().find("?>");
            let end = end.ok_or_else(|| document.error("the declaration is not closed"))?;
            document.at += end + 2;
        }
        document.skip_between()?;
        document.name = document.opening()?;
        Ok(document)
    }

    pub(super) fn name(&self) -> &'a str {
        self.name
    }

    pub(super) fn error(&self, what: &str) -> WireError {
        WireError::Xml { what: what.to_owned(), offset: self.at }
    }

    /// The text of the elements `allowed`, in that order, up to the document's end.
    pub(super) fn children<const N: usize>(
        &mut self,
        allowed: &[&str],
    ) -> Result<[Option<String>; N], WireError> {
        let mut found = [const { None }; N];
        loop {
            self.skip_between()?;
            if self.rest().starts_with("</") {
                break;
            }
            let start = self.at;
            let name = self.opening()?;
            let slot = allowed.iter().position(|known| *known == name);
            let Some(slot) = slot.and_then(|at| found.get_mut(at)) else {
                let what = format!("<{name}> has no meaning here");
                return Err(WireError::Xml { what, offset: start });
            };
            if slot.replace(self.content(name)?).is_some() {
                let what = format!("<{name}> is given twice");
                return Err(WireError::Xml { what, offset: start });
            }
        }
        self.closing(self.name)?;
        self.end()?;
        Ok(found)
    }

    /// The root element's text, up to the document's end.
    pub(super) fn text(&mut self) -> Result<String, WireError> {
        let text = self.content(self.name)?;
        self.end()?;
        Ok(text)
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, c: char) {
        if self.rest().starts_with(c) {
            self.at += c.len_utf8();
        }
    }

    fn skip_blanks(&mut self) {
        let blank = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
        self.at = self.text.len() - self.rest().trim_start_matches(blank).len();
    }

    /// Blanks and comments.
    fn skip_between(&mut self) -> Result<(), WireError> {
        loop {
            self.skip_blanks();
            if !self.rest().starts_with("<!--") {
                return Ok(());
            }
            let end = self.rest()[4..].find("-->");
            self.at += 4 + end.ok_or_else(|| self.error("a comment is not closed"))? + 3;
        }
    }

    fn opening(&mut self) -> Result<&'a str, WireError> {
        let rest = self.rest();
        let tag = rest.strip_prefix('<').ok_or_else(|| self.error("expected a tag"))?;
        let end = tag.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let (name, after) = tag.split_at(end.unwrap_or(tag.len()));
        let after = after.trim_start();
        if name.is_empty() || !after.starts_with('>') {
            return Err(self.error("expected a tag without attributes"));
        }
        self.at = self.text.len() - after.len() + 1;
        Ok(name)
    }

    /// Text up to and with the closing tag of `name`.
    fn content(&mut self, name: &str) -> Result<String, WireError> {
        let start = self.at;
        loop {
            let tag = self.rest().find('<');
            self.at += tag.ok_or_else(|| self.error(&format!("<{name}> is not closed")))?;
            if !self.rest().starts_with(SECTION.0) {
                break;
            }
            let end = self.rest().find(SECTION.1);
            self.at += end.ok_or_else(|| self.error("CDATA is not closed"))? + SECTION.1.len();
        }
        let text = unescape(&self.text[start..self.at])
            .map_err(|bad| WireError::Xml {
                what: "expected text, a known entity or CDATA".to_owned(),
                offset: start + bad.offset,
            })?
            .into_owned();
        self.closing(name)?;
        Ok(text)
    }

    fn closing(&mut self, name: &str) -> Result<(), WireError> {
        let after = self.rest().strip_prefix("</").and_then(|rest| rest.strip_prefix(name));
        let after = after.map(str::trim_start).and_then(|rest| rest.strip_prefix('>'));
        let after = after.ok_or_else(|| self.error(&format!("expected </{name}>")))?;
        self.at = self.text.len() - after.len();
        Ok(())
    }

    fn end(&mut self) -> Result<(), WireError> {
        self.skip_between()?;
        if self.rest().is_empty() { Ok(()) } else { Err(self.error("the message goes on")) }
    }
}
