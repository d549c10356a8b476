//! Edits applied are what a plain splice makes of them.

use bytes::Bytes;
use carrick::proto::rpc::{Edits, Field, Limits, Message, Scanned, Span, scan};

use super::{head, with_heads};
use crate::corpus;

const FIELDS: [Field; 8] = [
    Field::Name,
    Field::Arguments,
    Field::Uri,
    Field::Meta,
    Field::MetaProgressToken,
    Field::Content,
    Field::StructuredContent,
    Field::RequestState,
];

pub(super) fn seeds() -> Vec<Vec<u8>> {
    with_heads(&[&[0xff, 0], &[0b11, 1], &[0, 2]], corpus::messages())
}

pub(super) fn run(data: &[u8]) {
    let ([chosen, how], data) = head(data);
    let Ok(Scanned::One(message)) = scan(Bytes::copy_from_slice(data), Limits::default()) else {
        return;
    };
    let spans = spans(&message, chosen);
    replacing(data, &spans, how);
    inserting(data, &spans);
}

/// The spans of some fields and perhaps of the body, in order.
fn spans(message: &Message, chosen: u8) -> Vec<Span> {
    let is_chosen = |(bit, _): &(usize, Field)| chosen & (1 << bit) != 0;
    let fields = FIELDS.into_iter().enumerate().filter(is_chosen);
    let mut spans: Vec<Span> = fields.filter_map(|(_, field)| message.span(field)).collect();
    if chosen == 0 {
        spans.extend(message.body_span());
    }
    spans.sort_by_key(|span| (span.start(), std::cmp::Reverse(span.end())));
    spans
}

fn replacing(data: &[u8], spans: &[Span], how: u8) {
    let texts: [&[u8]; 3] = [b"null", br#"{"new":[1,2]}"#, br#""""#];
    let text = texts[usize::from(how) % 3];
    let mut edits = Edits::new();
    // The order in which they are asked for does not matter.
    spans.iter().rev().for_each(|span| edits.replace(*span, text));
    let mut out = Vec::new();
    edits.apply(data, &mut out);

    let mut outer: Vec<Span> = Vec::new();
    for span in spans {
        if outer.last().is_none_or(|last| span.start() >= last.end()) {
            outer.push(*span);
        }
    }
    let mut expected = data.to_vec();
    for span in outer.iter().rev() {
        expected.splice(span.range(), text.iter().copied());
    }
    assert_eq!(out, expected);
    assert!(serde_json::from_slice::<&serde_json::value::RawValue>(&out).is_ok());
}

fn inserting(data: &[u8], spans: &[Span]) {
    let mut edits = Edits::new();
    spans.iter().for_each(|span| edits.insert(span.start(), Bytes::from_static(b" ")));
    assert_eq!(edits.is_empty(), spans.is_empty());
    let mut out = Vec::new();
    edits.apply(data, &mut out);
    let mut expected = data.to_vec();
    for span in spans.iter().rev() {
        expected.insert(span.start(), b' ');
    }
    assert_eq!(out, expected);
}
