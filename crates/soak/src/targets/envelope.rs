//! The scan of a message agrees with serde_json about what is JSON, and its spans
//! are the values that serde_json finds.

use bytes::Bytes;
use carrick::proto::rpc::{Field, Json, Kind, Limits, Message, ScanErrorKind, Scanned, scan};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::corpus;

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = corpus::messages();
    seeds.extend(corpus::files("json"));
    // Its `_meta` is read like that of a request.
    let result = br#"{"jsonrpc":"2.0","id":2,"result":{"_meta":{"progressToken":0}}}"#;
    seeds.push(result.to_vec());
    // A response with a member that is none of a response's.
    let odd = br#"{"jsonrpc":"2.0","id":3,"result":{},"params":{"name":"x"}}"#;
    seeds.push(odd.to_vec());
    seeds
}

pub(super) fn run(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let theirs = serde_json::from_slice::<&RawValue>(data).is_ok();
    assert_eq!(Json::parse(bytes.clone(), Limits::default()).is_ok(), theirs);
    match scan(bytes.clone(), Limits::default()) {
        Ok(Scanned::One(message)) => {
            assert!(theirs);
            check(&message, data);
        }
        Ok(Scanned::Batch(messages)) => {
            assert!(theirs);
            messages.iter().flatten().for_each(|message| check(message, message.bytes()));
        }
        Err(error) => {
            let not_json = matches!(error.kind, ScanErrorKind::Json(_));
            assert!(!not_json || !theirs, "{error}");
        }
    }
}

/// What the scan found is what a full parser finds. Numbers out of range and
/// halves of surrogate pairs are text to the scan, and no values to serde_json.
fn check(message: &Message, data: &[u8]) {
    assert_eq!(message.bytes(), data);
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let read = |span: &[u8]| serde_json::from_slice::<Value>(span).ok();
    if let Some(method) = value.get("method") {
        assert_eq!(method.as_str(), Some(&*message.method_name()));
    }
    // A message may have members of another kind's besides its own.
    let body = value.get(match message.kind() {
        Kind::Request | Kind::Notification => "params",
        Kind::Result => "result",
        Kind::Error => "error",
    });
    if let Some(span) = message.body_span() {
        assert_eq!(read(&data[span.range()]).as_ref(), body);
    }
    for (field, pointer) in [
        (Field::Name, "/params/name"),
        (Field::Arguments, "/params/arguments"),
        (Field::Uri, "/params/uri"),
        (Field::MetaProgressToken, "/_meta/progressToken"),
        (Field::StructuredContent, "/result/structuredContent"),
    ] {
        if let Some(found) = message.field(field) {
            let value = if pointer.starts_with("/_meta") { body } else { Some(&value) };
            let there = value.and_then(|value| value.pointer(pointer));
            assert_eq!(read(found).as_ref(), there, "{field:?}");
        }
    }
}
