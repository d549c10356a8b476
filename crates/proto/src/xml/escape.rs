//! Character escapes of XML text: the five named entities, character references, CDATA.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

const CDATA_OPEN: &str = "<![CDATA[";
const CDATA_CLOSE: &str = "]]>";

/// The longest entity name looked for after `&`; a longer one is not an entity.
const LONGEST_ENTITY: usize = 12;

/// An `&` that starts none of the entities XML knows without a DTD, an unclosed
/// CDATA section, or a tag where only text may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadEntity {
    /// Byte offset in the text that was read.
    pub offset: usize,
}

impl fmt::Display for BadEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "text at byte {} is neither plain text, an XML entity nor CDATA", self.offset)
    }
}

impl core::error::Error for BadEntity {}

/// Escapes `text` so that it can stand as element content or inside an attribute:
/// `&`, `<`, `>` and both quotes become entities, control characters other than tab
/// become character references, line breaks too (so the result is one line). NUL, which
/// XML cannot carry in any form, becomes U+FFFD.
pub fn escape(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|c| entity(c).is_some() || is_referenced(c)) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match entity(c) {
            Some(name) => out.push_str(name),
            None if c == '\0' => out.push(char::REPLACEMENT_CHARACTER),
            None if is_referenced(c) => {
                // Writing to a string cannot fail.
                let _ = fmt::write(&mut out, format_args!("&#{};", u32::from(c)));
            }
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

fn entity(c: char) -> Option<&'static str> {
    Some(match c {
        '&' => "&amp;",
        '<' => "&lt;",
        '>' => "&gt;",
        '"' => "&quot;",
        '\'' => "&apos;",
        _ => return None,
    })
}

fn is_referenced(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}')
}

/// Reads element content: entities and character references are replaced, CDATA
/// sections are taken as they are, anything else that starts with `<` is refused.
///
/// # Errors
///
/// [`BadEntity`] with the place of the first character that is not text.
pub fn unescape(text: &str) -> Result<Cow<'_, str>, BadEntity> {
    if !text.contains(['&', '<']) {
        return Ok(Cow::Borrowed(text));
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(found) = text[at..].find(['&', '<']) {
        let start = at + found;
        out.push_str(&text[at..start]);
        let rest = &text[start..];
        let bad = BadEntity { offset: start };
        at = start
            + if let Some(section) = rest.strip_prefix(CDATA_OPEN) {
                let end = section.find(CDATA_CLOSE).ok_or(bad)?;
                out.push_str(&section[..end]);
                CDATA_OPEN.len() + end + CDATA_CLOSE.len()
            } else {
                let (c, len) = reference(rest).ok_or(bad)?;
                out.push(c);
                len
            };
    }
    out.push_str(&text[at..]);
    Ok(Cow::Owned(out))
}

/// The character a reference at the start of `text` stands for, and its length.
fn reference(text: &str) -> Option<(char, usize)> {
    let body = text.strip_prefix('&')?;
    let end = body.bytes().take(LONGEST_ENTITY).position(|b| b == b';')?;
    let name = &body[..end];
    let c = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => {
            let digits = name.strip_prefix('#')?;
            let code = match digits.strip_prefix(['x', 'X']) {
                Some(hex) => number(hex, 16)?,
                None => number(digits, 10)?,
            };
            char::from_u32(code).filter(|c| *c != '\0')?
        }
    };
    Some((c, end + 2))
}

/// Digits only: `from_str_radix` alone would take a sign too.
fn number(digits: &str, radix: u32) -> Option<u32> {
    if digits.chars().all(|c| c.is_digit(radix)) {
        u32::from_str_radix(digits, radix).ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaping_makes_one_line_that_reads_back() {
        let text = "a<b & \"c\" 'd'\r\n\t\u{7f}\u{2028}日本";
        let escaped = escape(text);
        assert!(!escaped.contains(['<', '"', '\'', '\n', '\r', '\u{2028}']));
        assert_eq!(unescape(&escaped).unwrap(), text);
        assert!(matches!(escape("plain\ttext"), Cow::Borrowed(_)));
    }

    #[test]
    fn references_and_cdata_are_read() {
        assert_eq!(unescape("&#65;&#x42;<![CDATA[<&>]]>&gt;").unwrap(), "AB<&>>");
        assert_eq!(unescape("x]]]]><![CDATA[>").unwrap_err().offset, 6);
        assert_eq!(unescape("<![CDATA[a]]]]><![CDATA[>b]]>").unwrap(), "a]]>b");
    }

    #[test]
    fn unknown_references_and_tags_are_refused() {
        for bad in ["&nbsp;", "& ", "&", "&#0;", "&#+65;", "&#xD800;", "<b>", "<![CDATA[a", "&#;"] {
            assert!(unescape(bad).is_err(), "{bad}");
        }
        assert_eq!(unescape("日本 &lang;").unwrap_err().offset, 7);
    }
}
