//! Sealing what passes through the client: `requestState`.
//!
//! The client holds it between two rounds and may be anybody, so it is
//! encrypted and authenticated, bound to the request it belongs to, and
//! expires (`basic/patterns/mrtr`, Server Requirements).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::digest::{SHA256, digest};
use std::fmt;

const VERSION: u8 = 1;
const TAG: usize = 4;

/// Keys that seal the state of unfinished requests.
///
/// Processes that serve the same clients share a secret
/// ([`StateKeys::from_secrets`]); a process alone makes its own.
pub struct StateKeys {
    /// The newest first; all of them open, the first seals.
    keys: Vec<Key>,
}

struct Key {
    /// The start of the key's digest, to find it again.
    tag: [u8; TAG],
    key: LessSafeKey,
}

/// Why a state cannot be used. It tells an attacker nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unsealable;

impl fmt::Display for Unsealable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("requestState is not one that this server gave out for this request")
    }
}

impl std::error::Error for Unsealable {}

impl StateKeys {
    /// A key that nobody else has: unfinished requests do not outlive the process.
    ///
    /// # Errors
    /// When the system has no randomness.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut secret = [0u8; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self { keys: vec![Key::new(&secret)] })
    }

    /// No keys: nothing can be sealed.
    pub fn none() -> Self {
        Self { keys: Vec::new() }
    }

    /// Keys made from secrets, the newest first. The first seals; the others
    /// only open what they sealed before a rotation.
    pub fn from_secrets<'a>(secrets: impl IntoIterator<Item = &'a [u8]>) -> Self {
        Self { keys: secrets.into_iter().map(Key::new).collect() }
    }

    /// Seals `state`, bound to `binding`, which must be the same when it is opened.
    ///
    /// # Errors
    /// When there is no key or no randomness.
    pub fn seal(&self, binding: &[u8], state: &[u8]) -> Result<String, Unsealable> {
        let key = self.keys.first().ok_or(Unsealable)?;
        let mut nonce = [0u8; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(|_| Unsealable)?;
        let mut sealed = state.to_vec();
        let aad = Aad::from(binding);
        let unique = Nonce::assume_unique_for_key(nonce);
        key.key.seal_in_place_append_tag(unique, aad, &mut sealed).map_err(|_| Unsealable)?;
        let mut out = vec![VERSION];
        out.extend_from_slice(&key.tag);
        out.extend_from_slice(&nonce);
        out.extend_from_slice(&sealed);
        Ok(URL_SAFE_NO_PAD.encode(out))
    }

    /// Opens what [`StateKeys::seal`] made.
    ///
    /// # Errors
    /// When it did not, or not for this `binding`.
    pub fn open(&self, binding: &[u8], text: &str) -> Result<Vec<u8>, Unsealable> {
        let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| Unsealable)?;
        let Some((&[VERSION], rest)) = bytes.split_first_chunk() else { return Err(Unsealable) };
        let (tag, rest) = rest.split_first_chunk::<TAG>().ok_or(Unsealable)?;
        let (nonce, sealed) = rest.split_first_chunk::<NONCE_LEN>().ok_or(Unsealable)?;
        let key = self.keys.iter().find(|key| key.tag == *tag).ok_or(Unsealable)?;
        let mut sealed = sealed.to_vec();
        let unique = Nonce::assume_unique_for_key(*nonce);
        let opened = key.key.open_in_place(unique, Aad::from(binding), &mut sealed);
        opened.map(|state| state.to_vec()).map_err(|_| Unsealable)
    }
}

impl fmt::Debug for StateKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StateKeys({} keys)", self.keys.len())
    }
}

impl Key {
    fn new(secret: &[u8]) -> Self {
        // Whatever the secret's length, the key has the right one.
        let bytes = digest(&SHA256, &[b"carrick request state key\0", secret].concat());
        let named = digest(&SHA256, bytes.as_ref());
        let mut tag = [0u8; TAG];
        tag.copy_from_slice(&named.as_ref()[..TAG]);
        #[expect(clippy::expect_used, reason = "SHA-256 gives exactly the 32 bytes of a key")]
        let key = UnboundKey::new(&CHACHA20_POLY1305, bytes.as_ref()).expect("32 bytes are a key");
        Self { tag, key: LessSafeKey::new(key) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_only_what_it_sealed_for_the_same_request() {
        let keys = StateKeys::random().unwrap();
        let sealed = keys.seal(b"call a", b"state").unwrap();
        assert_eq!(keys.open(b"call a", &sealed).as_deref(), Ok(&b"state"[..]));
        assert_eq!(keys.open(b"call b", &sealed), Err(Unsealable));
        assert_eq!(StateKeys::random().unwrap().open(b"call a", &sealed), Err(Unsealable));
        assert_ne!(keys.seal(b"call a", b"state").unwrap(), sealed, "no nonce is used twice");
    }

    #[test]
    fn any_change_is_noticed() {
        let keys = StateKeys::from_secrets([&b"secret"[..]]);
        let sealed = keys.seal(b"", b"state").unwrap();
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert_eq!(keys.open(b"", &changed), Err(Unsealable), "{at}");
            assert_eq!(keys.open(b"", &sealed[..at]), Err(Unsealable), "{at}");
        }
    }

    #[test]
    fn rotated_keys_still_open() {
        let old = StateKeys::from_secrets([&b"old"[..]]);
        let both = StateKeys::from_secrets([&b"new"[..], b"old"]);
        let sealed = old.seal(b"", b"state").unwrap();
        assert!(both.open(b"", &sealed).is_ok());
        assert_eq!(old.open(b"", &both.seal(b"", b"state").unwrap()), Err(Unsealable));
    }
}
