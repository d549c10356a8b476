//! Reading the envelope of a call.

use bytes::Bytes;
use carrick_proto::rpc::{Limits, scan};
use criterion::Criterion;
use micro::messages::{MODERN, echo, text};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use std::hint::black_box;

use crate::{SIZES, copying, measure, searching};

/// What reads an envelope with serde and leaves the rest unread.
#[derive(Deserialize)]
#[expect(dead_code, reason = "reading them is what is measured")]
struct Envelope<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    method: Option<&'a str>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scan");
    for (name, size) in SIZES {
        let call = Bytes::from(echo(MODERN, &text(size)));
        let read = call.clone();
        measure(&mut group, "carrick", name, call.len(), || {
            scan(read.clone(), Limits::default()).is_ok()
        });
        measure(&mut group, "limit memchr", name, call.len(), searching(&call));
        measure(&mut group, "limit memcpy", name, call.len(), copying(&call));
        measure(&mut group, "usual RawValue", name, call.len(), || {
            serde_json::from_slice::<Envelope<'_>>(black_box(&call)).is_ok()
        });
        measure(&mut group, "usual Value", name, call.len(), || {
            serde_json::from_slice::<Value>(black_box(&call)).is_ok()
        });
    }
    group.finish();
}
