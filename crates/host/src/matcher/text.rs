//! Words: how questions and schemas are cut into comparable tokens.
//!
//! A question keeps the way back to its own bytes, so that an argument taken
//! from it reads exactly as the person wrote it.

use std::ops::Range;

use rust_stemmers::{Algorithm, Stemmer};

/// A token of a text.
#[derive(Debug, Clone)]
pub(super) struct Token {
    /// Where it stands, in bytes of the normalised text.
    pub(super) span: Range<usize>,
    /// Lower case, without accents.
    pub(super) lower: String,
    /// The English stem of `lower`; `lower` itself for other scripts.
    pub(super) stem: String,
    pub(super) kind: TokenKind,
    /// It starts with a capital letter.
    pub(super) capital: bool,
}

/// What a token is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// Letters, or letters and digits.
    Word,
    /// Digits.
    Number,
    /// One character of a script written without spaces.
    Cjk,
    /// Anything else that is not white space.
    Mark,
}

/// A question in two forms: as written, and normalised.
#[derive(Debug)]
pub(super) struct Text {
    original: String,
    /// Full-width forms and typographic quotes become ASCII; nothing else changes.
    pub(super) normal: String,
    /// The offset in `original` of every byte of `normal`, and of its end.
    back: Vec<usize>,
    pub(super) tokens: Vec<Token>,
}

impl Text {
    pub(super) fn new(original: &str) -> Self {
        let mut normal = String::with_capacity(original.len());
        let mut back = Vec::with_capacity(original.len() + 1);
        for (offset, c) in original.char_indices() {
            let before = normal.len();
            normal.push(ascii_form(c));
            back.extend(std::iter::repeat_n(offset, normal.len() - before));
        }
        back.push(original.len());
        let tokens = tokenize(&normal);
        Self { original: original.to_owned(), normal, back, tokens }
    }

    /// What the person wrote at a span of the normalised text.
    pub(super) fn original(&self, span: &Range<usize>) -> &str {
        let start = self.back.get(span.start).copied().unwrap_or(self.original.len());
        let end = self.back.get(span.end).copied().unwrap_or(self.original.len());
        self.original.get(start..end).unwrap_or_default()
    }

    /// The tokens that lie wholly inside a span.
    pub(super) fn tokens_in(&self, span: &Range<usize>) -> Range<usize> {
        let first = self.tokens.partition_point(|t| t.span.start < span.start);
        let end = self.tokens.partition_point(|t| t.span.end <= span.end);
        first..end.max(first)
    }
}

/// Cuts a text into tokens. Works in one pass; never fails.
pub(super) fn tokenize(text: &str) -> Vec<Token> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut tokens = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((start, first)) = chars.next() {
        if first.is_whitespace() {
            continue;
        }
        let kind = kind_of(first);
        let mut end = start + first.len_utf8();
        if matches!(kind, TokenKind::Word | TokenKind::Number) {
            while let Some(&(at, c)) = chars.peek() {
                if !continues(kind, c) {
                    break;
                }
                end = at + c.len_utf8();
                chars.next();
            }
        }
        let Some(slice) = text.get(start..end) else { continue };
        let lower: String =
            slice.chars().flat_map(char::to_lowercase).map(without_accent).collect();
        let stem = stem_of(&stemmer, &lower, kind);
        tokens.push(Token { span: start..end, lower, stem, kind, capital: first.is_uppercase() });
    }
    tokens
}

/// Cuts an identifier (`get_forecast`, `repoPath`, `HTTPServer`) into words
/// separated by spaces.
pub(super) fn split_identifier(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let chars: Vec<char> = name.chars().collect();
    for (i, &c) in chars.iter().enumerate() {
        let before = i.checked_sub(1).and_then(|j| chars.get(j)).copied();
        let after = chars.get(i + 1).copied();
        let hump = c.is_uppercase()
            && before.is_some_and(|b| {
                b.is_lowercase()
                    || b.is_ascii_digit()
                    || (b.is_uppercase() && after.is_some_and(char::is_lowercase))
            });
        if hump {
            out.push(' ');
        }
        out.push(if c.is_alphanumeric() { c } else { ' ' });
    }
    out
}

/// A character of a script that is written without spaces between words.
pub(super) fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x3005..=0x3007 | 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF
        | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3134F)
}

fn kind_of(c: char) -> TokenKind {
    if is_cjk(c) {
        TokenKind::Cjk
    } else if c.is_ascii_digit() {
        TokenKind::Number
    } else if c.is_alphanumeric() {
        TokenKind::Word
    } else {
        TokenKind::Mark
    }
}

/// A word may hold digits (`es6`); a number ends at its first letter (`3pm`).
fn continues(kind: TokenKind, c: char) -> bool {
    match kind {
        TokenKind::Number => c.is_ascii_digit(),
        _ => c.is_alphanumeric() && !is_cjk(c),
    }
}

fn stem_of(stemmer: &Stemmer, lower: &str, kind: TokenKind) -> String {
    if kind == TokenKind::Word && lower.bytes().all(|b| b.is_ascii_lowercase()) {
        stemmer.stem(lower).into_owned()
    } else {
        lower.to_owned()
    }
}

/// The ASCII character that stands for a full-width form or a typographic
/// quote; any other character is returned as it is.
fn ascii_form(c: char) -> char {
    match c {
        '\u{FF01}'..='\u{FF5E}' => char::from_u32(u32::from(c) - 0xFEE0).unwrap_or(c),
        '\u{3000}' | '\u{00A0}' => ' ',
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201C}' | '\u{201D}' | '\u{300C}' | '\u{300D}' | '\u{300E}' | '\u{300F}' => '"',
        '\u{3001}' => ',',
        '\u{3002}' => '.',
        '\u{2212}' => '-',
        other => other,
    }
}

/// The plain letter under an accent, for the letters that city names use.
fn without_accent(c: char) -> char {
    match c {
        'à' | 'á' | 'â' | 'ã' | 'ä' | 'å' | 'ā' | 'ă' | 'ą' => 'a',
        'ç' | 'ć' | 'č' => 'c',
        'ď' | 'đ' => 'd',
        'è' | 'é' | 'ê' | 'ë' | 'ē' | 'ę' | 'ě' => 'e',
        'ğ' => 'g',
        'ì' | 'í' | 'î' | 'ï' | 'ī' | 'ı' => 'i',
        'ł' => 'l',
        'ñ' | 'ń' | 'ň' => 'n',
        'ò' | 'ó' | 'ô' | 'õ' | 'ö' | 'ø' | 'ō' | 'ő' => 'o',
        'ř' => 'r',
        'ś' | 'š' | 'ş' | 'ș' => 's',
        'ť' | 'ț' | 'ţ' => 't',
        'ù' | 'ú' | 'û' | 'ü' | 'ū' | 'ů' | 'ű' => 'u',
        'ý' | 'ÿ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lowers(text: &str) -> Vec<String> {
        tokenize(text).into_iter().map(|t| t.lower).collect()
    }

    #[test]
    fn words_numbers_and_cjk_are_cut_apart() {
        assert_eq!(lowers("3pm in São Paulo"), ["3", "pm", "in", "sao", "paulo"]);
        assert_eq!(lowers("numpy这个库"), ["numpy", "这", "个", "库"]);
        assert_eq!(lowers("ES6, please"), ["es6", ",", "please"]);
    }

    #[test]
    fn stems_join_singular_and_plural() {
        let tokens = tokenize("libraries library");
        assert_eq!(tokens[0].stem, tokens[1].stem);
    }

    #[test]
    fn identifiers_are_split_at_every_kind_of_seam() {
        assert_eq!(split_identifier("get_forecast"), "get forecast");
        assert_eq!(split_identifier("repoPath"), "repo Path");
        assert_eq!(split_identifier("HTTPServer-v2"), "HTTP Server v2");
    }

    #[test]
    fn the_way_back_gives_the_written_characters() {
        let text = Text::new("北京（今天），怎么样？");
        assert_eq!(text.normal, "北京(今天),怎么样?");
        let whole = 0..text.normal.len();
        assert_eq!(text.original(&whole), "北京（今天），怎么样？");
        let today = text.normal.find("今").map(|at| at..at + "今天".len()).unwrap();
        assert_eq!(text.original(&today), "今天");
    }
}
