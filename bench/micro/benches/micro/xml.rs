//! Requests in what a model writes.

use carrick_proto::xml::decode::{Decoded, Decoder, Finish, Limits};
use criterion::Criterion;
use micro::messages::text;
use std::hint::black_box;

use crate::{copying, measure, searching};

pub(crate) fn bench(criterion: &mut Criterion) {
    let prose = text(2 << 10);
    let arguments = serde_json::json!({ "path": "notes.md", "text": text(10 << 10) });
    let request = |arguments: &str| {
        format!(
            "{prose}\n<use_mcp_tool>\n<server_name>files</server_name>\n<tool_name>write</tool_name>\n<arguments>\n{arguments}\n</arguments>\n</use_mcp_tool>\n"
        )
    };
    let mut group = criterion.benchmark_group("XML decode");
    for (name, output) in [
        ("2 KiB of prose", prose.clone()),
        ("prose and a small call", request(r#"{"path":"notes.md"}"#)),
        ("prose and a call of 10 KiB", request(&arguments.to_string())),
    ] {
        let bytes = output.as_bytes();
        measure(&mut group, "carrick at once", name, bytes.len(), || calls([&*output]));
        // As a model writes: a few letters at a time.
        let pieces: Vec<&str> =
            bytes.chunks(4).map(|piece| str::from_utf8(piece).unwrap_or_default()).collect();
        measure(&mut group, "carrick in pieces", name, bytes.len(), || {
            calls(pieces.iter().copied())
        });
        measure(&mut group, "limit memchr", name, bytes.len(), searching(bytes));
        measure(&mut group, "limit memcpy", name, bytes.len(), copying(bytes));
    }
    group.finish();
}

/// The calls in a model's output.
fn calls<'a>(pieces: impl IntoIterator<Item = &'a str>) -> usize {
    let mut decoder = Decoder::new(Limits::default());
    let mut found = 0;
    let mut count = |decoder: &mut Decoder| {
        while let Some(decoded) = decoder.next() {
            found += usize::from(matches!(decoded, Decoded::Call(_)));
        }
    };
    for piece in pieces {
        decoder.push(black_box(piece));
        count(&mut decoder);
    }
    decoder.finish(Finish::Ended);
    count(&mut decoder);
    found
}
