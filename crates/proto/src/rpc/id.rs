//! Request ids.

use super::message::unquote;
use alloc::sync::Arc;
use core::fmt;

/// The id of a request: a string or an integer (`basic/index`, Requests).
///
/// Zero and the empty string are ordinary ids.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Id {
    /// An integer.
    Number(i64),
    /// A string, which the tables of what is in flight share.
    Text(Arc<str>),
}

impl Id {
    /// Reads the text of a scanned JSON value. `1.0` and `1e2` are the integers
    /// they equal; fractions, huge numbers and other kinds of value are no ids.
    pub(crate) fn read(json: &[u8]) -> Option<Self> {
        if json.first() == Some(&b'"') {
            return Some(Self::Text(Arc::from(&*unquote(json)?)));
        }
        integer(json).map(Self::Number)
    }

    /// Appends the id as JSON.
    pub fn write(&self, out: &mut alloc::vec::Vec<u8>) {
        match self {
            Self::Number(n) => write_integer(*n, out),
            Self::Text(text) => {
                out.push(b'"');
                super::push_escaped(out, text);
                out.push(b'"');
            }
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Text(text) => write!(f, "{text:?}"),
        }
    }
}

fn integer(json: &[u8]) -> Option<i64> {
    let (negative, digits) = match json {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, json),
    };
    if digits.iter().all(u8::is_ascii_digit) && !digits.is_empty() && digits.len() < 19 {
        let n = digits.iter().fold(0i64, |n, d| n * 10 + i64::from(d - b'0'));
        return Some(if negative { -n } else { n });
    }
    if let Ok(n) = serde_json::from_slice::<i64>(json) {
        return Some(n);
    }
    // Beyond 2^53 a float no longer says which integer was meant.
    let float: f64 = serde_json::from_slice(json).ok()?;
    let whole = float as i64;
    (whole as f64 == float && whole.unsigned_abs() <= 1 << 53).then_some(whole)
}

pub(crate) fn write_integer(n: i64, out: &mut alloc::vec::Vec<u8>) {
    let mut buffer = [0u8; 20];
    let mut at = buffer.len();
    let mut rest = n.unsigned_abs();
    loop {
        at -= 1;
        buffer[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if n < 0 {
        at -= 1;
        buffer[at] = b'-';
    }
    out.extend_from_slice(&buffer[at..]);
}
