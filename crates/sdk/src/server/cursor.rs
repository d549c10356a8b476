//! Where a page of a list begins (`server/utilities/pagination`).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

/// Where a page begins. It says what came before, not how much, so that it
/// holds while the list changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Cursor {
    /// After the entry of this name, which need not be there any more.
    After(String),
    /// At the start of what a source lists, or where the source says.
    Source(Option<String>),
}

/// Bytes of the checksum that tells our cursors from what others make up.
const CHECK: usize = 6;

impl Cursor {
    /// As text for the client. A cursor of one list is none of another.
    pub(super) fn encode(&self, list: &str) -> String {
        let (kind, text) = match self {
            Self::After(name) => (b'a', name.as_str()),
            Self::Source(None) => (b's', ""),
            Self::Source(Some(cursor)) => (b'c', cursor.as_str()),
        };
        let mut body = vec![kind];
        body.extend_from_slice(text.as_bytes());
        let mut out = check(list, &body).to_vec();
        out.append(&mut body);
        URL_SAFE_NO_PAD.encode(out)
    }

    /// Reads what [`Cursor::encode`] wrote for the same list, and nothing else.
    pub(super) fn decode(list: &str, text: &str) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (sum, body) = bytes.split_at_checked(CHECK)?;
        if sum != check(list, body) {
            return None;
        }
        let (kind, text) = body.split_first()?;
        let text = std::str::from_utf8(text).ok()?.to_owned();
        Some(match kind {
            b'a' => Self::After(text),
            b's' => Self::Source(None),
            b'c' => Self::Source(Some(text)),
            _ => return None,
        })
    }
}

fn check(list: &str, body: &[u8]) -> [u8; CHECK] {
    let digest = digest(&SHA256, &[list.as_bytes(), b"\0", body].concat());
    let mut sum = [0; CHECK];
    sum.copy_from_slice(&digest.as_ref()[..CHECK]);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_cursor_is_read_back_and_only_for_its_list(name in ".*", text in ".*") {
            for cursor in [
                Cursor::After(name.clone()),
                Cursor::Source(None),
                Cursor::Source(Some(name.clone())),
            ] {
                let encoded = cursor.encode("tools");
                prop_assert_eq!(Cursor::decode("tools", &encoded), Some(cursor));
                prop_assert_eq!(Cursor::decode("prompts", &encoded), None);
            }
            prop_assert_eq!(Cursor::decode("tools", &text), None);
        }
    }

    #[test]
    fn an_empty_string_is_a_cursor_that_was_never_given_out() {
        assert_eq!(Cursor::decode("tools", ""), None);
        let mut encoded = Cursor::After("name".into()).encode("tools");
        encoded.pop();
        assert_eq!(Cursor::decode("tools", &encoded), None);
    }
}
