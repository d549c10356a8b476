mod any;
mod docs;
mod shapes;
mod table;

use super::*;
use crate::method::Method;
use crate::rpc::{Json, Limits};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bytes::Bytes;

fn json(text: &str) -> Json {
    Json::parse(Bytes::copy_from_slice(text.as_bytes()), Limits::default()).unwrap()
}

fn text(json: &Json) -> String {
    String::from_utf8(json.as_bytes().to_vec()).unwrap()
}

fn paths(losses: &Losses) -> Vec<&str> {
    losses.iter().map(|loss| &*loss.path).collect()
}

const OLD: Revision = Revision::V2025_11_25;
const NEW: Revision = Revision::V2026_07_28;

#[test]
fn identity_is_the_very_same_slice() {
    let before = json(r#"{"content":[],"resultType":"complete"}"#);
    let start = before.as_bytes().as_ptr();
    let (after, losses) = translate(before, Part::Result(Method::ToolsCall), NEW, NEW).unwrap();
    assert_eq!(after.as_bytes().as_ptr(), start);
    assert!(losses.is_empty());
}

#[test]
fn what_no_change_names_is_the_very_same_slice() {
    let before = json(r#"{ "content" : [ ] , "x" : 1e0 }"#);
    let start = before.as_bytes().as_ptr();
    let (after, _) = translate(before, Part::Result(Method::ToolsCall), NEW, OLD).unwrap();
    assert_eq!(after.as_bytes().as_ptr(), start);
}

#[test]
fn results_gain_and_lose_their_type() {
    let part = Part::Result(Method::ToolsCall);
    let (up, _) = translate(json(r#"{"content":[],"x":1.50}"#), part, OLD, NEW).unwrap();
    assert_eq!(text(&up), r#"{"resultType":"complete","content":[],"x":1.50}"#);
    let (down, losses) = translate(up, part, NEW, OLD).unwrap();
    assert_eq!(text(&down), r#"{"content":[],"x":1.50}"#);
    assert!(losses.is_empty());
    let asking = json(r#"{"resultType":"input_required","inputRequests":{}}"#);
    assert_eq!(
        translate(asking, part, NEW, OLD).unwrap_err().to_string(),
        "resultType is not `complete`; the other revision cannot say that: \"input_required\""
    );
}

#[test]
fn lists_gain_hints_and_lose_what_has_no_place() {
    let part = Part::Result(Method::ToolsList);
    let before = r#"{"tools":[{"name":"a","execution":{"taskSupport":"required"},"z":0}]}"#;
    let (up, losses) = translate(json(before), part, OLD, NEW).unwrap();
    assert_eq!(
        text(&up),
        r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"a","z":0}]}"#
    );
    assert_eq!(paths(&losses), ["tools.*.execution"]);
    let (empty, _) = translate(json("{}"), part, OLD, NEW).unwrap();
    assert_eq!(text(&empty), r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#);
    let (down, losses) = translate(up, part, NEW, OLD).unwrap();
    assert_eq!(text(&down), r#"{"tools":[{"name":"a","z":0}]}"#);
    assert_eq!(paths(&losses), ["ttlMs", "cacheScope"]);
}

#[test]
fn revisions_are_found_by_their_names_only() {
    for &revision in Revision::ALL {
        assert_eq!(Revision::from_date(revision.date()), Some(revision));
    }
    assert_eq!(Revision::from_date("1900-01-01"), None);
    assert!(Revision::ALL.is_sorted());
    assert!(Revision::NEWEST_HANDSHAKE.is_legacy() && !Revision::NEWEST.is_legacy());
}
