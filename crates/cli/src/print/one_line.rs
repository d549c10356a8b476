//! JSON as one line.

use carrick_host::permission::is_hidden;
use std::fmt::Write;

/// `text`, which must be JSON, on one line: the blanks between its parts are left
/// out, everything else keeps its form. What some programs take for the end of a
/// line is escaped in strings; `safe` escapes all that shows nothing or steers a
/// terminal. The value is the same.
pub(super) fn json(text: &str, safe: bool) -> String {
    let mut line = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    for character in text.chars() {
        if !in_string && matches!(character, ' ' | '\t' | '\n' | '\r') {
            continue;
        }
        let ends_lines = matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}');
        // Outside of strings there is none of these: it would be no JSON.
        if ends_lines || character.is_ascii_control() || (safe && is_hidden(character)) {
            push_escaped(&mut line, character);
        } else {
            line.push(character);
        }
        match character {
            '"' if !escaped => in_string = !in_string,
            _ => {}
        }
        escaped = in_string && character == '\\' && !escaped;
    }
    line
}

fn push_escaped(line: &mut String, character: char) {
    let mut units = [0; 2];
    for unit in character.encode_utf16(&mut units) {
        // Writing to a string does not fail.
        let _ = write!(line, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::json;
    use serde_json::Value;

    #[test]
    fn f70_blanks_between_parts_go_and_numbers_keep_their_text() {
        let text = "{\r\n\t\"a\" : [ 1.50,\n 1e999, 123456789012345678901234567890 ],\n \"b\\\\\": \"x \\\" \\\\\" }\n";
        let line = r#"{"a":[1.50,1e999,123456789012345678901234567890],"b\\":"x \" \\"}"#;
        assert_eq!(json(text, false), line);
        assert_eq!(json(line, false), line);
    }

    #[test]
    fn f70_what_some_take_for_a_line_end_is_escaped() {
        let text = "[\"a\u{2028}b\u{85}c\u{2029}d\u{7f}\"]";
        let line = json(text, false);
        assert_eq!(line, r#"["a\u2028b\u0085c\u2029d\u007f"]"#);
        assert_eq!(
            serde_json::from_str::<Value>(&line).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }

    #[test]
    fn f70_hidden_characters_are_escaped_where_they_would_steer() {
        let text = "{\"\u{202e}k\":\"\u{9b}2J\u{e0041}é文🙂\\u001b\"}";
        assert_eq!(json(text, false), text);
        let line = json(text, true);
        assert_eq!(line, r#"{"\u202ek":"\u009b2J\udb40\udc41é文🙂\u001b"}"#);
        assert_eq!(
            serde_json::from_str::<Value>(&line).unwrap(),
            serde_json::from_str::<Value>(text).unwrap()
        );
    }
}
