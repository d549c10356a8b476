//! The hash by which content is known.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The SHA-256 of some bytes, written `sha256:` and 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ContentHash([u8; 32]);

/// A text that is no [`ContentHash`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a hash is written sha256: and 64 hexadecimal digits")]
pub struct HashSyntax;

impl ContentHash {
    /// The hash of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TryFrom<String> for ContentHash {
    type Error = HashSyntax;

    fn try_from(text: String) -> Result<Self, HashSyntax> {
        text.parse()
    }
}

impl From<ContentHash> for String {
    fn from(hash: ContentHash) -> Self {
        hash.to_string()
    }
}

impl FromStr for ContentHash {
    type Err = HashSyntax;

    fn from_str(text: &str) -> Result<Self, HashSyntax> {
        let digits = text.strip_prefix("sha256:").ok_or(HashSyntax)?;
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(HashSyntax);
        }
        let mut hash = [0; 32];
        for (nth, byte) in hash.iter_mut().enumerate() {
            let pair = digits.get(2 * nth..2 * nth + 2).ok_or(HashSyntax)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| HashSyntax)?;
        }
        Ok(Self(hash))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_reads_what_it_writes_and_nothing_else() {
        let hash = ContentHash::of(b"abc");
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash.to_string(), text);
        assert_eq!(text.parse(), Ok(hash));
        for wrong in ["", "sha256:", &text[7..], &text[..70], "sha256:+a7816bf"] {
            assert_eq!(wrong.parse::<ContentHash>(), Err(HashSyntax));
        }
        let sign = text.replacen("ba", "+a", 1);
        assert_eq!(sign.parse::<ContentHash>(), Err(HashSyntax));
    }
}
