//! Text from elsewhere, made safe to look at.

/// `text` with every control, direction-changing or invisible character
/// written out as `\n`, `\t`, `\r` or `\u{…}`.
///
/// What remains prints as itself, on one line and in its own order. Letters of
/// every language stay as they are; a backslash does too, so use [`quoted`]
/// where a written-out character must not be mistaken for a real one.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        push_visible(&mut shown, character);
    }
    shown
}

/// `text` in double quotes, with `"` and `\` escaped and everything hidden
/// written out: two different texts never look the same.
pub fn quoted(text: &str) -> String {
    let mut shown = String::with_capacity(text.len() + 2);
    shown.push('"');
    for character in text.chars() {
        if matches!(character, '"' | '\\') {
            shown.push('\\');
        }
        push_visible(&mut shown, character);
    }
    shown.push('"');
    shown
}

fn push_visible(shown: &mut String, character: char) {
    match character {
        '\n' => shown.push_str("\\n"),
        '\t' => shown.push_str("\\t"),
        '\r' => shown.push_str("\\r"),
        _ if is_hidden(character) => shown.extend(character.escape_unicode()),
        _ => shown.push(character),
    }
}

/// Whether a character shows nothing, looks like a plain blank, or moves what
/// stands around it.
pub fn is_hidden(character: char) -> bool {
    character.is_control()
        || (character.is_whitespace() && character != ' ')
        || matches!(
            character,
            '\u{ad}'                      // soft hyphen
            | '\u{34f}'                   // combining grapheme joiner
            | '\u{61c}'                   // Arabic letter mark
            | '\u{115f}' | '\u{1160}'     // Hangul fillers
            | '\u{17b4}' | '\u{17b5}'     // Khmer inherent vowels
            | '\u{180b}'..='\u{180f}'     // Mongolian selectors
            | '\u{200b}'..='\u{200f}'     // zero width, direction marks
            | '\u{202a}'..='\u{202e}'     // direction embeddings and overrides
            | '\u{2060}'..='\u{206f}'     // joiners, isolates
            | '\u{2800}'                  // blank Braille pattern
            | '\u{3164}' | '\u{ffa0}'     // Hangul fillers
            | '\u{e000}'..='\u{f8ff}'     // private use
            | '\u{fe00}'..='\u{fe0f}'     // variation selectors
            | '\u{feff}'                  // byte order mark
            | '\u{fff0}'..='\u{fffb}'     // interlinear marks
            | '\u{1bca0}'..='\u{1bca3}'   // shorthand controls
            | '\u{1d173}'..='\u{1d17a}'   // musical controls
            | '\u{e0000}'..='\u{e0fff}'   // tags, variation selectors
            | '\u{f0000}'..='\u{10ffff}'  // private use
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_written_out_and_letters_stay() {
        assert_eq!(
            visible("a\u{202e}b\u{200b}\u{7}\u{9b}\n"),
            "a\\u{202e}b\\u{200b}\\u{7}\\u{9b}\\n"
        );
        assert_eq!(
            visible("\u{e0041}\u{2028}\u{a0}\u{1b}[2J"),
            "\\u{e0041}\\u{2028}\\u{a0}\\u{1b}[2J"
        );
        assert_eq!(visible("Ж 文档 é ñ 🙂 \\n"), "Ж 文档 é ñ 🙂 \\n");
    }

    #[test]
    fn quotes_are_unambiguous() {
        assert_eq!(quoted("a\" \"b"), r#""a\" \"b""#);
        assert_ne!(quoted("\\n"), quoted("\n"));
        assert_ne!(quoted("\\u{202e}"), quoted("\u{202e}"));
    }
}
