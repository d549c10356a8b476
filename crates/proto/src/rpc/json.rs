//! A validating JSON cursor that reports where values lie and copies nothing.

use alloc::borrow::Cow;
use alloc::string::String;
use bytes::Bytes;
use core::fmt;

/// Bounds on one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Containers inside containers. Default 128, at most 128.
    pub depth: u32,
    /// Messages in one batch. Default 1,000.
    pub batch: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { depth: 128, batch: 1000 }
    }
}

/// Where a value lies in its message, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Self {
        // Messages of 4 GiB and more are refused before a span is made.
        Self { start: start as u32, end: end as u32 }
    }

    /// First byte.
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// One past the last byte.
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// As a range, to index the message with.
    pub fn range(self) -> core::ops::Range<usize> {
        self.start()..self.end()
    }
}

/// One JSON value that a scan has found valid: a slice of the message it came in.
#[derive(Clone, PartialEq, Eq)]
pub struct Json(Bytes);

impl Json {
    /// Checks `bytes` in full and takes them over as they are.
    ///
    /// # Errors
    /// When `bytes` are not exactly one JSON value within `limits`.
    pub fn parse(bytes: Bytes, limits: Limits) -> Result<Self, JsonError> {
        check(&bytes, limits)?;
        Ok(Self(bytes))
    }

    /// A copy that shares no memory with the message it came in: for what is kept.
    #[must_use]
    pub fn detached(&self) -> Self {
        Self::scanned(Bytes::copy_from_slice(self.as_bytes()))
    }

    /// Only for slices of bytes that a scan has already read.
    pub(crate) fn scanned(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The value's text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The value's text as the shared slice it is.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }

    /// Reads the value as a type.
    ///
    /// # Errors
    /// When the value has another shape than `T`.
    pub fn read<'a, T: serde::Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        super::de::read(&self.0)
    }
}

/// Checks that `bytes` are exactly one JSON value within `limits`.
pub(crate) fn check(bytes: &[u8], limits: Limits) -> Result<(), JsonError> {
    let mut cursor = Cursor::new(bytes, limits)?;
    cursor.value()?;
    cursor.end()
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

/// Why bytes are not JSON we accept, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JsonError {
    /// Not UTF-8 from this byte on.
    Utf8(usize),
    /// Not JSON at this byte.
    Syntax(usize),
    /// Containers nested deeper than the limit, at this byte.
    Depth(usize),
    /// Four GiB or more.
    Size,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Utf8(at) => write!(f, "not UTF-8 at byte {at}"),
            Self::Syntax(at) => write!(f, "not JSON at byte {at}"),
            Self::Depth(at) => write!(f, "nested too deeply at byte {at}"),
            Self::Size => f.write_str("message of 4 GiB or more"),
        }
    }
}

impl core::error::Error for JsonError {}

/// A member name as it was written.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    /// Between the quotes.
    pub(crate) span: Span,
    escaped: bool,
}

#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(bytes: &'a [u8], limits: Limits) -> Result<Self, JsonError> {
        if bytes.len() >= u32::MAX as usize {
            return Err(JsonError::Size);
        }
        // The standard check runs at many bytes a step on ASCII; after it the
        // cursor can treat every byte from 0x80 as part of a valid character.
        if let Err(e) = core::str::from_utf8(bytes) {
            return Err(JsonError::Utf8(e.valid_up_to()));
        }
        Ok(Self { bytes, at: 0, depth: limits.depth.min(128) })
    }

    /// Over bytes that a scan has found valid, so that nothing is checked twice.
    pub(crate) fn scanned(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, depth: 128 }
    }

    /// Goes on at a place that was found otherwise.
    pub(crate) fn skip_to(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// The next byte that is not white space, without taking it.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        while let Some(&b) = self.bytes.get(self.at) {
            if !matches!(b, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(b);
            }
            self.at += 1;
        }
        None
    }

    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.peek() != Some(byte) {
            return Err(self.bad());
        }
        self.at += 1;
        Ok(())
    }

    /// Nothing but white space is left.
    pub(crate) fn end(&mut self) -> Result<(), JsonError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.bad()),
        }
    }

    /// Reads a member name and its colon.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<Key, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.bad());
        }
        let start = self.at;
        let escaped = self.string()?;
        let span = Span::new(start + 1, self.at - 1);
        self.take(b':')?;
        Ok(Key { span, escaped })
    }

    /// The name with its escapes resolved.
    #[inline]
    pub(crate) fn name(&self, key: Key) -> Cow<'a, [u8]> {
        let raw = &self.bytes[key.span.range()];
        if !key.escaped {
            return Cow::Borrowed(raw);
        }
        let quoted = &self.bytes[key.span.start() - 1..key.span.end() + 1];
        match serde_json::from_slice::<String>(quoted) {
            Ok(name) => Cow::Owned(name.into_bytes()),
            // A lone surrogate: no name of ours has one, so as written will do.
            Err(_) => Cow::Borrowed(raw),
        }
    }

    /// After a member or an element: true when another follows, false at `close`.
    #[inline]
    pub(crate) fn more(&mut self, close: u8) -> Result<bool, JsonError> {
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(b) if b == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.bad()),
        }
    }

    /// Opens a container; false when it is empty, and then it is already closed.
    #[inline]
    pub(crate) fn open(&mut self, open: u8, close: u8) -> Result<bool, JsonError> {
        self.take(open)?;
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(false);
        }
        Ok(true)
    }

    /// Skips one value of any kind, checking it in full.
    pub(crate) fn value(&mut self) -> Result<Span, JsonError> {
        let Some(first) = self.peek() else { return Err(self.bad()) };
        let start = self.at;
        match first {
            b'{' | b'[' => self.containers()?,
            _ => self.scalar(first)?,
        }
        Ok(Span::new(start, self.at))
    }

    fn scalar(&mut self, first: u8) -> Result<(), JsonError> {
        match first {
            b'"' => self.string().map(|_| ()),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    /// A container and all it holds, with a bit for each level instead of the stack.
    fn containers(&mut self) -> Result<(), JsonError> {
        let mut objects: u128 = 0;
        let mut level = 0;
        loop {
            // At the start of a value.
            let Some(first) = self.peek() else { return Err(self.bad()) };
            if first == b'{' || first == b'[' {
                if level == self.depth {
                    return Err(JsonError::Depth(self.at));
                }
                level += 1;
                let object = first == b'{';
                objects = (objects << 1) | u128::from(object);
                self.at += 1;
                let close = if object { b'}' } else { b']' };
                if self.peek() != Some(close) {
                    if object {
                        self.key()?;
                    }
                    continue;
                }
                self.at += 1;
                level -= 1;
                objects >>= 1;
            } else {
                self.scalar(first)?;
            }
            // After a value: leave every container that ends here.
            loop {
                if level == 0 {
                    return Ok(());
                }
                let object = objects & 1 == 1;
                if self.more(if object { b'}' } else { b']' })? {
                    if object {
                        self.key()?;
                    }
                    break;
                }
                level -= 1;
                objects >>= 1;
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<(), JsonError> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            return Ok(());
        }
        Err(self.bad())
    }

    fn number(&mut self) -> Result<(), JsonError> {
        self.skip(b'-');
        if !self.skip(b'0') {
            self.digits()?;
        }
        if self.skip(b'.') {
            self.digits()?;
        }
        if self.skip(b'e') || self.skip(b'E') {
            let _ = self.skip(b'+') || self.skip(b'-');
            self.digits()?;
        }
        Ok(())
    }

    fn skip(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        if self.at == start { Err(self.bad()) } else { Ok(()) }
    }

    /// Skips a string from its opening quote; true when it holds escapes.
    fn string(&mut self) -> Result<bool, JsonError> {
        self.at += 1;
        let mut escaped = false;
        loop {
            self.plain();
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                _ => return Err(self.bad()),
            }
        }
    }

    /// Moves to the next quote, backslash or control character, or the end.
    #[inline]
    fn plain(&mut self) {
        self.at += plain_len(&self.bytes[self.at..]);
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => {
                let hex = self.bytes.get(self.at + 2..self.at + 6);
                if !hex.is_some_and(|h| h.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(self.bad());
                }
                self.at += 6;
                Ok(())
            }
            _ => Err(self.bad()),
        }
    }

    pub(crate) fn bad(&self) -> JsonError {
        JsonError::Syntax(self.at)
    }
}

/// How many bytes at the start of a string's content stand for themselves:
/// neither quote nor backslash nor control character.
#[inline]
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk::<16>() {
        let special = u128::from_le_bytes(specials(chunk));
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 16;
    }
    at + plain_len_of_few(&bytes[at..])
}

/// All bits set at each byte that does not stand for itself. Compilers make a
/// few vector instructions of it, without any of them being named here.
#[inline]
fn specials(chunk: &[u8; 16]) -> [u8; 16] {
    let mut found = [0; 16];
    for (flag, &byte) in found.iter_mut().zip(chunk) {
        let special = (byte < 0x20) | (byte == b'"') | (byte == b'\\');
        *flag = u8::from(special).wrapping_neg();
    }
    found
}

/// [`plain_len`] eight bytes at a time, for what is left and for short names.
#[inline]
fn plain_len_of_few(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGH: u64 = ONES << 7;
    // The high bit of each byte below `n`, exact up to the first such byte.
    let below = |word: u64, n: u64| word.wrapping_sub(ONES * n) & !word & HIGH;
    let mut at = 0;
    while let Some(chunk) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let quote = word ^ (ONES * u64::from(b'"'));
        let backslash = word ^ (ONES * u64::from(b'\\'));
        let special = below(word, 0x20) | below(quote, 1) | below(backslash, 1);
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let special = |b: &&u8| **b >= 0x20 && **b != b'"' && **b != b'\\';
    at + bytes[at..].iter().take_while(special).count()
}
