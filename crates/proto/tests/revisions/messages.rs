//! Every message of every schema is read and written, unknown members and all.

use crate::generate::Generator;
use crate::spec::{self, Spec};
use bytes::Bytes;
use carrick_proto::method::Method;
use carrick_proto::revision::{Part, method_row, translate};
use carrick_proto::rpc::{self, Id, Json, Kind, Limits, Message, Scanned};
use serde_json::Value;

/// Made of each message and each result.
const ROUNDS: u64 = 40;

#[test]
fn every_message_of_every_schema_is_read_and_written() {
    let Some(specs) = spec::load("reading and writing every message of the schemas") else {
        return;
    };
    for spec in &specs {
        for &method in Method::ALL {
            let row = method_row(method).expect("a row");
            if !row.exists_in(spec.revision) {
                continue;
            }
            for seed in 0..ROUNDS {
                call(spec, method, row.is_request, seed);
                if row.is_request {
                    answer(spec, method, seed);
                }
            }
        }
    }
}

fn call(spec: &Spec, method: Method, is_request: bool, seed: u64) {
    let part = Part::Params(method);
    let Some(params) = made(spec, part, seed) else { panic!("{method:?} has a message") };
    let mut bytes = Vec::new();
    match is_request {
        true => rpc::request(&mut bytes, &Id::Number(1), method.name(), params.as_bytes()),
        false => rpc::notification(&mut bytes, method.name(), params.as_bytes()),
    }
    let message = read(bytes);
    let kind = if is_request { Kind::Request } else { Kind::Notification };
    assert_eq!((message.kind(), message.method()), (kind, method));
    unchanged(spec, part, &message, &params);
}

fn answer(spec: &Spec, method: Method, seed: u64) {
    let part = Part::Result(method);
    let Some(result) = made(spec, part, seed) else { panic!("{method:?} has a result") };
    let mut bytes = Vec::new();
    rpc::result_response(&mut bytes, &Id::Text("a".into()), result.as_bytes());
    let message = read(bytes);
    assert_eq!(message.kind(), Kind::Result);
    unchanged(spec, part, &message, &result);
}

/// The body is the text that was written, and translating it to the revision
/// it is in gives the very same slice.
fn unchanged(spec: &Spec, part: Part, message: &Message, text: &str) {
    let body = message.body().expect("a body");
    assert_eq!(body.as_bytes(), text.as_bytes());
    let start = body.as_bytes().as_ptr();
    let (same, losses) = translate(body, part, spec.revision, spec.revision).expect("no change");
    assert!(losses.is_empty());
    assert_eq!(same.as_bytes().as_ptr(), start);
}

/// A value of this part that the revision's own strict schema allows.
fn made(spec: &Spec, part: Part, seed: u64) -> Option<String> {
    let mut generator =
        if seed == 0 { Generator::full(spec, seed) } else { Generator::new(spec, seed) };
    let text = generator.part(part)?;
    let value: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    let faults = spec.faults(part, &value);
    assert!(faults.is_empty(), "{} {part:?}: {faults:?} in {text}", spec.revision);
    Some(text)
}

fn read(bytes: Vec<u8>) -> Message {
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match rpc::scan(Bytes::from(bytes), Limits::default()) {
        Ok(Scanned::One(message)) => message,
        other => panic!("{other:?}: {text}"),
    }
}

/// Text as a part that can be translated.
pub(crate) fn json(text: &str) -> Json {
    Json::parse(Bytes::copy_from_slice(text.as_bytes()), Limits::default()).expect("JSON")
}
