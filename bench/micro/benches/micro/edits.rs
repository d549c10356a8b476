//! Putting another progress token and another member into a call that is passed on.

use bytes::Bytes;
use carrick_proto::rpc::{Edits, Field, Limits, Scanned, scan};
use criterion::Criterion;
use micro::messages::{MODERN, echo, text};
use serde_json::{Value, json};
use std::hint::black_box;

use crate::{SIZES, copying, measure};

pub(crate) fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("edits");
    for (name, size) in SIZES {
        let call = echo(MODERN, &text(size));
        let call = Bytes::from(call.replace(r#""_meta":{"#, r#""_meta":{"progressToken":1,"#));
        let Ok(Scanned::One(message)) = scan(call.clone(), Limits::default()) else {
            panic!("a call that is none")
        };
        let (Some(token), Some(meta)) =
            (message.span(Field::MetaProgressToken), message.span(Field::Meta))
        else {
            panic!("a call without metadata")
        };
        let mut out = Vec::with_capacity(call.len() + 64);
        measure(&mut group, "carrick", name, call.len(), || {
            out.clear();
            let mut edits = Edits::new();
            edits.replace(token, Bytes::from_static(b"4711"));
            edits.insert(meta.start() + 1, Bytes::from_static(br#""traceparent":"00-1","#));
            edits.apply(black_box(&call), &mut out);
            out.len()
        });
        measure(&mut group, "limit memcpy", name, call.len(), copying(&call));
        measure(&mut group, "usual Value", name, call.len(), || {
            let mut value: Value = serde_json::from_slice(black_box(&call)).unwrap_or_default();
            value["params"]["_meta"]["progressToken"] = json!(4711);
            value["params"]["_meta"]["traceparent"] = json!("00-1");
            value.to_string().len()
        });
    }
    group.finish();
}
