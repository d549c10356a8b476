//! Messages as events of a stream, and back.

use carrick_proto::sse::{Decoder, Limits, encode_event};
use criterion::Criterion;
use micro::messages::{MODERN, echo, text};
use std::hint::black_box;

use crate::{SIZES, copying, measure, searching};

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("SSE encode");
    for (name, size) in SIZES {
        let data = echo(MODERN, &text(size));
        let mut out = Vec::with_capacity(data.len() + 64);
        measure(&mut group, "carrick", name, data.len(), || {
            out.clear();
            encode_event(&mut out, None, Some("17"), None, black_box(data.as_bytes())).is_ok()
        });
        measure(&mut group, "limit memcpy", name, data.len(), copying(data.as_bytes()));
    }
    group.finish();
    let mut group = criterion.benchmark_group("SSE decode");
    for (name, size) in SIZES {
        let mut stream = Vec::new();
        let data = echo(MODERN, &text(size));
        let written = encode_event(&mut stream, None, Some("17"), None, data.as_bytes());
        assert!(written.is_ok(), "an event that cannot be written");
        measure(&mut group, "carrick", name, stream.len(), || {
            let mut decoder = Decoder::new(Limits::default());
            // As from a socket.
            stream.chunks(16 << 10).for_each(|chunk| decoder.push(black_box(chunk)));
            decoder.next().is_some()
        });
        measure(&mut group, "limit memchr", name, stream.len(), searching(&stream));
        measure(&mut group, "limit memcpy", name, stream.len(), copying(&stream));
        measure(&mut group, "usual String", name, stream.len(), || {
            String::from_utf8_lossy(black_box(&stream)).lines().map(str::len).sum::<usize>()
        });
    }
    group.finish();
}
