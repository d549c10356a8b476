//! What was sealed opens for the same request, and never after anything was
//! changed.

use carrick::server::StateKeys;

use super::{head, with_heads};
use crate::corpus;

pub(super) fn seeds() -> Vec<Vec<u8>> {
    with_heads(&[&[0, 0, 1], &[9, 1, 0x80], &[40, 200, 3]], corpus::messages())
}

pub(super) fn run(data: &[u8]) {
    let (choice, data) = head::<3>(data);
    let keys = StateKeys::from_secrets([b"one".as_slice(), b"two"]);
    let (binding, state) = data.split_at(usize::from(choice[0]).min(data.len()));
    let sealed = keys.seal(binding, state).expect("there is a key");
    assert_eq!(keys.open(binding, &sealed).as_deref(), Ok(state));

    // Any bytes that claim to be a state.
    if let Ok(text) = std::str::from_utf8(data) {
        assert!(keys.open(binding, text).is_err());
    }
    let mut other = binding.to_vec();
    other.push(choice[1]);
    assert!(keys.open(&other, &sealed).is_err(), "another request");
    assert!(StateKeys::from_secrets([b"three".as_slice()]).open(binding, &sealed).is_err());
    for text in changed(&sealed, choice) {
        assert!(keys.open(binding, &text).is_err(), "{text} in the place of {sealed}");
    }
}

/// The text with some bits flipped, where that gives a text at all; cut, and
/// longer.
fn changed(sealed: &str, [_, at, bits]: [u8; 3]) -> Vec<String> {
    let mut texts = vec![
        sealed[..usize::from(at) % sealed.len()].to_owned(),
        format!("{sealed}A"),
        format!("A{sealed}"),
        format!("{sealed}="),
    ];
    for start in [usize::from(at), usize::from(at) * 7, sealed.len() - 1] {
        let mut bytes = sealed.as_bytes().to_vec();
        let start = start % bytes.len();
        bytes[start] ^= bits.max(1);
        texts.extend(String::from_utf8(bytes));
    }
    texts
}
