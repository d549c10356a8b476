//! Text from outside, made fit to be repeated in a message.

/// At most `most` characters of `text`, with control characters escaped, so that it can neither
/// flood a message nor forge a part of it.
pub(crate) fn quoted(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == most {
            shown.push('…');
            break;
        }
        push_visible(&mut shown, c);
    }
    shown
}

/// All of `text`, with control characters escaped.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    text.chars().for_each(|c| push_visible(&mut shown, c));
    shown
}

fn push_visible(shown: &mut String, c: char) {
    // Beside the control characters, those that reorder or hide text on a screen.
    let hidden = c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if hidden { shown.extend(c.escape_default()) } else { shown.push(c) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_shortened_and_made_visible() {
        assert_eq!(quoted("naïve 字", 60), "naïve 字");
        assert_eq!(quoted("abcdef", 3), "abc…");
        assert_eq!(quoted("abc", 3), "abc");
        assert_eq!(visible("a\nb\u{202e}c"), "a\\nb\\u{202e}c");
    }
}
