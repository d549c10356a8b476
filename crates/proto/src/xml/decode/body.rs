//! Where JSON inside a request ends, found a character at a time.

/// Follows strings and brackets.
///
/// On valid JSON it is exact: a quote opens a string only at the beginning or after
/// `{`, `[`, `,` or `:`. On invalid JSON that same rule keeps it in step past the
/// mistakes models make (line breaks or bare quotes inside strings, single quotes), so
/// that a closing tag inside a string is not taken for the end.
#[derive(Debug)]
pub(super) struct Boundary {
    /// The quote that closes the string being read.
    string: Option<char>,
    escaped: bool,
    /// The last character outside of strings that is not white space.
    last: char,
    depth: usize,
    begun: bool,
}

impl Boundary {
    pub(super) fn new() -> Self {
        Self { string: None, escaped: false, last: ':', depth: 0, begun: false }
    }

    pub(super) fn feed(&mut self, c: char) {
        if let Some(quote) = self.string {
            match c {
                _ if self.escaped => self.escaped = false,
                '\\' => self.escaped = true,
                _ if c == quote => {
                    self.string = None;
                    self.last = c;
                }
                _ => {}
            }
            return;
        }
        match c {
            '"' | '\'' if matches!(self.last, '{' | '[' | ',' | ':') => self.string = Some(c),
            '{' | '[' => {
                self.depth += 1;
                self.begun = true;
            }
            '}' | ']' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if !c.is_whitespace() {
            self.last = c;
        }
    }

    pub(super) fn in_string(&self) -> bool {
        self.string.is_some()
    }

    /// Whether an object or array has begun, and as many have ended.
    pub(super) fn is_complete(&self) -> bool {
        self.begun && self.string.is_none() && self.depth == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(text: &str) -> Boundary {
        let mut boundary = Boundary::new();
        text.chars().for_each(|c| boundary.feed(c));
        boundary
    }

    #[test]
    fn strings_are_followed() {
        for open in [r#"{"a":"b"#, r#"{"a":"b\""#, r#"["\\\""#, r#"""#, "{'a", "[\"a\nb"] {
            assert!(after(open).in_string(), "{open}");
        }
        for closed in [r#"{"a":"b""#, r#"["\\""#, r#"{"a":"say "hi" now""#, r#"{"a":"5" tall""#] {
            assert!(!after(closed).in_string(), "{closed}");
        }
    }

    #[test]
    fn brackets_are_counted_outside_of_strings() {
        assert!(after(r#"{"a":["{"]}"#).is_complete());
        assert!(after(r#"[[{}],[]] "#).is_complete());
        for open in [r#"{"a":["]"}"#, "", " \n", "[[]", r#"{"a":{}"#] {
            assert!(!after(open).is_complete(), "{open}");
        }
    }
}
