//! Telling code, comments and literals of a Rust file apart, without parsing it.

/// A Rust file, and views of it in which some of the bytes are blanks.
///
/// All views have the text's length and its line ends, so an offset found in one
/// holds in the others.
pub(crate) struct Scan {
    /// Comments and the insides of literals are blanks: what is left are tokens.
    pub(crate) tokens: String,
    /// Only comments are blanks.
    pub(crate) uncommented: String,
}

/// What a byte of a Rust file belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Code,
    Comment,
    Literal,
}

impl Scan {
    /// Reads a whole file. Text that is not Rust gives some view, never a failure.
    pub(crate) fn new(text: &str) -> Scan {
        let classes = Classifier::new(text.as_bytes()).classify();
        Scan {
            tokens: view(text, &classes, |class| class == Class::Code),
            uncommented: view(text, &classes, |class| class != Class::Comment),
        }
    }
}

/// The text with every byte blanked whose class is not kept.
fn view(text: &str, classes: &[Class], keep: impl Fn(Class) -> bool) -> String {
    let bytes = text.bytes().zip(classes);
    let bytes = bytes.map(|(byte, class)| if byte == b'\n' || keep(*class) { byte } else { b' ' });
    // Classes begin and end at ASCII bytes, so that no character is cut; lossy is for safety only.
    String::from_utf8_lossy(&bytes.collect::<Vec<_>>()).into_owned()
}

struct Classifier<'a> {
    bytes: &'a [u8],
    at: usize,
    classes: Vec<Class>,
}

impl<'a> Classifier<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        Classifier { bytes, at: 0, classes: vec![Class::Code; bytes.len()] }
    }

    fn classify(mut self) -> Vec<Class> {
        while self.at < self.bytes.len() {
            self.next();
        }
        self.classes
    }

    /// Moves over one comment, literal, word or other byte.
    fn next(&mut self) {
        let rest = &self.bytes[self.at..];
        match rest {
            [b'/', b'/', ..] => self.line_comment(),
            [b'/', b'*', ..] => self.block_comment(),
            [b'"', ..] => self.string(self.at),
            [b'\'', ..] => self.char_or_lifetime(),
            [first, ..] if is_word(*first) => self.word(),
            _ => self.at += 1,
        }
    }

    fn line_comment(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        self.mark(self.at + length, Class::Comment);
    }

    fn block_comment(&mut self) {
        let (mut depth, mut end) = (0, self.at);
        while end < self.bytes.len() {
            match &self.bytes[end..] {
                [b'/', b'*', ..] => (depth, end) = (depth + 1, end + 2),
                [b'*', b'/', ..] => (depth, end) = (depth - 1, end + 2),
                _ => end += 1,
            }
            if depth == 0 {
                break;
            }
        }
        self.mark(end, Class::Comment);
    }

    /// A word, and the literal that it is the prefix of, if it is one.
    fn word(&mut self) {
        let start = self.at;
        let length = self.bytes[start..].iter().take_while(|byte| is_word(**byte)).count();
        self.at = start + length;
        let word = &self.bytes[start..self.at];
        let hashes = self.bytes[self.at..].iter().take_while(|byte| **byte == b'#').count();
        let quote = self.bytes.get(self.at + hashes).copied();
        match (word, quote) {
            (b"r" | b"br" | b"cr", Some(b'"')) => self.raw_string(hashes),
            (b"b" | b"c", Some(b'"')) if hashes == 0 => self.string(self.at),
            (b"b", Some(b'\'')) if hashes == 0 => self.char_or_lifetime(),
            _ => {}
        }
    }

    /// A string whose opening quote is at `quote`.
    fn string(&mut self, quote: usize) {
        let mut end = quote + 1;
        while let Some(byte) = self.bytes.get(end) {
            match byte {
                b'\\' => end += 2,
                b'"' => break,
                _ => end += 1,
            }
        }
        self.literal(quote + 1, end);
    }

    fn raw_string(&mut self, hashes: usize) {
        let start = self.at + hashes + 1;
        let mut end = start;
        while end < self.bytes.len() {
            let closes = self.bytes[end] == b'"'
                && self.bytes[end + 1..].iter().take(hashes).filter(|byte| **byte == b'#').count()
                    == hashes;
            if closes {
                break;
            }
            end += 1;
        }
        self.literal(start, end);
        self.at = (self.at + hashes).min(self.bytes.len());
    }

    /// `'x'` and `'\n'` are characters, `'a` is a lifetime or a label.
    fn char_or_lifetime(&mut self) {
        let inside = self.at + 1;
        let end = match &self.bytes[inside..] {
            [b'\\', ..] => {
                let after = &self.bytes[(inside + 2).min(self.bytes.len())..];
                after.iter().position(|byte| *byte == b'\'').map(|length| inside + 2 + length)
            }
            [first, ..] => Some(inside + character_length(*first))
                .filter(|end| self.bytes.get(*end) == Some(&b'\'')),
            [] => None,
        };
        match end {
            Some(end) => self.literal(inside, end),
            None => self.at += 1,
        }
    }

    /// Marks the inside of a literal and moves behind its closing quote.
    fn literal(&mut self, start: usize, end: usize) {
        let end = end.min(self.bytes.len());
        self.at = start.min(end);
        self.mark(end, Class::Literal);
        self.at = (end + 1).min(self.bytes.len());
    }

    fn mark(&mut self, end: usize, class: Class) {
        self.classes[self.at..end].fill(class);
        self.at = end;
    }
}

/// How many bytes a character has whose first byte is this one.
fn character_length(first: u8) -> usize {
    match first {
        0..=0x7f => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

/// Whether a byte can stand in an identifier. All of Unicode counts, which is near enough.
pub(crate) fn is_word(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || !byte.is_ascii()
}

/// The places in `text` where `word` stands and no longer identifier does.
pub(crate) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    let is_word_at = move |at: usize| bytes.get(at).copied().is_some_and(is_word);
    text.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let begins = !word.as_bytes().first().copied().is_some_and(is_word)
            || *at == 0
            || !is_word_at(at - 1);
        let ends =
            !word.as_bytes().last().copied().is_some_and(is_word) || !is_word_at(at + word.len());
        begins && ends
    })
}

/// The number of the line, from 1, that holds the offset.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests;
