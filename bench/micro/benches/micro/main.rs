//! Parts of Carrick by themselves, each beside the least that could do its work and, where
//! there is one, the usual way.
//!
//! What is named `limit …` bounds the rest of its group from below.

mod edits;
mod matcher;
mod names;
mod scan;
mod sse;
mod translate;
mod validate;
mod xml;

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput};

fn main() {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .sample_size(20)
        .configure_from_args();
    for bench in [
        scan::bench,
        edits::bench,
        translate::bench,
        sse::bench,
        xml::bench,
        validate::bench,
        names::bench,
        matcher::bench,
    ] {
        bench(&mut criterion);
    }
    criterion.final_summary();
}

/// The sizes that most groups have: a small call, one with a page of text, a large one.
const SIZES: [(&str, usize); 3] = [("100 B", 100), ("10 KiB", 10 << 10), ("1 MiB", 1 << 20)];

/// Measures what `work` gives back on `bytes` bytes.
fn measure<T>(
    group: &mut BenchmarkGroup<'_, WallTime>,
    what: &str,
    on: &str,
    bytes: usize,
    mut work: impl FnMut() -> T,
) {
    group.throughput(Throughput::Bytes(bytes as u64));
    group.bench_function(BenchmarkId::new(what, on), |bencher| bencher.iter(&mut work));
}

/// Copying, which whoever passes bytes on does at least once.
fn copying<'a>(bytes: &'a [u8]) -> impl FnMut() -> usize + 'a {
    let mut out = Vec::with_capacity(bytes.len());
    move || {
        out.clear();
        out.extend_from_slice(std::hint::black_box(bytes));
        out.len()
    }
}

/// Looking at every byte, sixteen or more at a time.
fn searching(bytes: &[u8]) -> impl FnMut() -> Option<usize> {
    // A byte that no text has.
    move || memchr::memchr(0xff, std::hint::black_box(bytes))
}

/// Text with a name, repeated with a number until there is enough.
fn numbered(count: usize, one: impl Fn(usize) -> String) -> Vec<String> {
    (0..count).map(one).collect()
}
