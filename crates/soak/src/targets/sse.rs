//! Decoding an event stream does not depend on how it is cut, and gives back what
//! was encoded.

use std::time::Duration;

use carrick::proto::sse::{Decoder, Event, Limits, SseError, encode_event};

use super::{head, pieces, with_heads};
use crate::corpus;

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = with_heads(&[&[0], &[7], &[0xff]], corpus::files("sse"));
    // Broken UTF-8 is longer as text: beyond the limit, however it is cut.
    seeds.push(b"\x00id: s\xf0: \x9f\xa6\x80data:\n\nevent: ".to_vec());
    seeds
}

pub(super) fn run(data: &[u8]) {
    let ([choice], data) = head(data);
    let whole = decode(std::iter::once(data));
    assert_eq!(whole, decode(data.chunks(1)));
    assert_eq!(whole, decode(pieces(data, choice)));
    // Unlike a limit on bytes of one event, so small a one is met in most inputs.
    let limit = 16 + usize::from(choice);
    assert_eq!(decode_within(limit, std::iter::once(data)), decode_within(limit, data.chunks(1)));
    round_trip(data, choice);
}

fn decode<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Result<Event, SseError>> {
    decode_within(1 << 20, pieces)
}

fn decode_within<'a>(
    max_event_bytes: usize,
    pieces: impl Iterator<Item = &'a [u8]>,
) -> Vec<Result<Event, SseError>> {
    let mut limits = Limits::default();
    limits.max_event_bytes = max_event_bytes;
    let mut decoder = Decoder::new(limits);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        events.extend(decoder.by_ref());
    }
    events
}

/// Any text comes back as the data of an event, but for the kind of line breaks.
fn round_trip(data: &[u8], choice: u8) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let retry = (choice & 1 == 1).then(|| Duration::from_millis(1000 + u64::from(choice)));
    let id = format!("{choice}-1");
    let mut out = Vec::new();
    let written = encode_event(&mut out, Some("message"), Some(&id), retry, data);
    written.expect("a name and an id of one line");
    let mut events = decode(std::iter::once(out.as_slice()));
    assert_eq!(events.len(), 1, "{}", out.escape_ascii());
    let event = events.remove(0).expect("an event");
    assert_eq!(event.data, text.replace("\r\n", "\n").replace('\r', "\n"));
    assert_eq!((event.event.as_str(), event.id.as_deref()), ("message", Some(&*id)));
    assert_eq!(event.retry.is_some(), retry.is_some());
}
