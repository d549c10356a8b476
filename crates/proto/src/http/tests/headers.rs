use proptest::prelude::*;

use std::{format, string::ToString};

use super::{
    super::{
        Accept, Field, MAX_SESSION_ID_LEN, MediaType, MirroredBody, MirroredHeaders, MirroredName,
        MismatchReason, SessionIdError, ValueError, check_session_id, decode_value, encode_value,
        is_stateless, name,
    },
    field,
};

fn accept(value: &str) -> (bool, bool) {
    let accept = Accept::from_values([value.as_bytes()]);
    (accept.json, accept.event_stream)
}

#[test]
fn d023_media_ranges_and_qualities() {
    for both in [
        "*/*",
        "application/*, text/*",
        "application/json;q=0.1, text/event-stream;q=0.9",
        "Application/JSON , TEXT/Event-Stream",
        "application/json; charset=\"a,b;q=0\", text/event-stream",
        "text/*;q=0.5, application/json;q=1.000",
    ] {
        assert_eq!(accept(both), (true, true), "{both}");
    }
    for json_only in [
        "application/json",
        "application/*",
        "*/*, text/event-stream;q=0",
        "*/*, text/*;q=0.0",
        "text/event-stream;q=0.000, */*",
        "application/json, text/event-stream;q=abc",
        "application/json, text/plain, event-stream",
    ] {
        assert_eq!(accept(json_only), (true, false), "{json_only}");
    }
    for neither in ["", "text/html", "application/xml, text/plain", "*/json", "*/*;q=0"] {
        assert_eq!(accept(neither), (false, false), "{neither}");
    }
}

#[test]
fn d023_the_header_may_be_split_or_absent() {
    let split = Accept::from_values([&b"application/json"[..], b"text/event-stream"]);
    assert!(split.json && split.event_stream);
    let absent = Accept::from_values(core::iter::empty());
    assert!(absent.json && absent.event_stream);
}

#[test]
fn d024_only_the_type_itself_counts() {
    for json in ["application/json", "APPLICATION/JSON; charset=utf-8", "application/json;"] {
        assert_eq!(MediaType::of(field(json)), MediaType::Json, "{json}");
    }
    for other in ["text/plain", "text/plain; a=application/json", "application/jsonp", ""] {
        assert_eq!(MediaType::of(field(other)), MediaType::Other, "{other}");
    }
    assert_eq!(MediaType::of(Field::Absent), MediaType::Other);
    assert_eq!(MediaType::of(Field::Repeated), MediaType::Other);
    assert_eq!(MediaType::of(field("text/event-stream;charset=utf-8")), MediaType::EventStream);
}

const VERSION: &str = "2026-07-28";

fn headers<'a>(method: Field<'a>, name: Field<'a>) -> MirroredHeaders<'a> {
    MirroredHeaders { version: field(VERSION), method, name }
}

fn call<'a>() -> MirroredBody<'a> {
    MirroredBody { version: Some(VERSION), method: "tools/call", name: MirroredName::Is("echo") }
}

#[test]
fn d019_repeated_and_missing_headers_are_refused() {
    let twice = Field::from_values([&b"tools/call"[..], b"tools/call"]);
    let error = headers(twice, field("echo")).check(&call()).unwrap_err();
    assert_eq!((error.header.as_str(), error.reason), (name::METHOD, MismatchReason::Repeated));

    let error = headers(field("tools/call"), Field::Absent).check(&call()).unwrap_err();
    assert_eq!((error.header.as_str(), error.reason), (name::NAME, MismatchReason::Missing));

    let mut no_version = headers(field("tools/call"), field("echo"));
    no_version.version = Field::Absent;
    let error = no_version.check(&call()).unwrap_err();
    assert_eq!(error.header, name::PROTOCOL_VERSION);
    assert_eq!(error.reason, MismatchReason::Missing);
}

#[test]
fn d020_blanks_around_a_value_do_not_count_but_case_does() {
    let blanks = field("  \ttools/call \t");
    assert_eq!(headers(blanks, field("\techo ")).check(&call()), Ok(()));
    let error = headers(field("Tools/Call"), field("echo")).check(&call()).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"header mcp-method says "Tools/Call" but the body says "tools/call""#
    );
}

#[test]
fn d022_the_header_must_name_the_revision_of_the_body() {
    let mut headers = headers(field("tools/call"), field("echo"));
    headers.version = field("2025-11-25");
    assert_eq!(headers.check(&call()).unwrap_err().header, name::PROTOCOL_VERSION);
    assert!(headers.check_version(Some("2025-06-18")).is_err());
    assert_eq!(headers.check_version(Some("2025-11-25")), Ok(()));
    assert_eq!(headers.check_version(None), Ok(()));
}

#[test]
fn names_are_compared_decoded() {
    let mut body = call();
    body.name = MirroredName::Is("Hello, 世界");
    let good = field("=?base64?SGVsbG8sIOS4lueVjA==?=");
    assert_eq!(headers(field("tools/call"), good).check(&body), Ok(()));
    for bad in ["=?base64?SGVsbG8sIOS4lueVjA?=", "=?base64?SGVsbG8?=", "Hello"] {
        assert!(headers(field("tools/call"), field(bad)).check(&body).is_err(), "{bad}");
    }
}

#[test]
fn a_name_the_body_lacks_is_a_mismatch_and_no_name_at_all_is_not() {
    let mut body = call();
    body.name = MirroredName::Missing;
    assert_eq!(headers(field("tools/call"), Field::Absent).check(&body), Ok(()));
    assert!(headers(field("tools/call"), field("echo")).check(&body).is_err());
    assert!(headers(field("tools/call"), Field::Repeated).check(&body).is_err());
    body.name = MirroredName::NotMirrored;
    assert_eq!(headers(field("tools/call"), field("x")).check(&body), Ok(()));
}

#[test]
fn a_mismatch_repeats_only_a_bounded_part() {
    let long = "世".repeat(10_000);
    let mut body = call();
    body.name = MirroredName::Is(&long);
    let error = headers(field("tools/call"), field("x")).check(&body).unwrap_err();
    assert!(error.to_string().len() < 300);
}

#[test]
fn the_examples_of_the_value_encoding() {
    for (text, header) in [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ("a\tb", "a\tb"),
        ("", ""),
    ] {
        assert_eq!(encode_value(text), header);
        assert_eq!(decode_value(header.as_bytes()).unwrap(), text);
    }
}

#[test]
fn only_the_whole_wrapper_is_decoded_and_strictly() {
    for literal in ["=?base64?abc", "base64?abc?=", "=?BASE64?abcd?=", "=?base64?="] {
        assert_eq!(decode_value(literal.as_bytes()).unwrap(), literal);
    }
    for bad in
        ["=?base64?YQ?=", "=?base64?YQ=?=", "=?base64?YR==?=", "=?base64?Y Q=?=", "=?base64?-_8=?="]
    {
        assert_eq!(decode_value(bad.as_bytes()), Err(ValueError::Base64), "{bad}");
    }
    assert_eq!(decode_value(b"=?base64?/w==?="), Err(ValueError::Utf8));
    assert_eq!(decode_value("世".as_bytes()), Err(ValueError::Character));
    assert_eq!(decode_value(b"a\x7f"), Err(ValueError::Character));
}

#[test]
fn d038_session_ids_are_visible_ascii_of_sane_length() {
    assert_eq!(check_session_id(b"1868a90c-~!,"), Ok("1868a90c-~!,"));
    assert_eq!(check_session_id(b""), Err(SessionIdError::Empty));
    for bad in [&b"a b"[..], b"a\tb", b"a\x7f", "é".as_bytes()] {
        assert_eq!(check_session_id(bad), Err(SessionIdError::Character));
    }
    let long = [b'a'; 64 * 1024];
    assert!(check_session_id(&long[..MAX_SESSION_ID_LEN]).is_ok());
    let error = check_session_id(&long).unwrap_err();
    assert_eq!(error, SessionIdError::TooLong { len: 65_536 });
    assert!(format!("{error}").contains("1024"));
}

#[test]
fn a_modern_body_or_header_makes_a_request_stateless() {
    let modern = |version: &str| version == VERSION;
    assert!(is_stateless(Field::Absent, Some("v999.0.0"), modern));
    assert!(is_stateless(field("2025-11-25"), Some(VERSION), modern));
    assert!(is_stateless(field(VERSION), None, modern));
    assert!(!is_stateless(field("2025-11-25"), None, modern));
    assert!(!is_stateless(Field::Absent, None, modern));
    assert!(!is_stateless(Field::Repeated, None, modern));
}

proptest! {
    #[test]
    fn values_survive_the_header(text in any::<std::string::String>()) {
        let header = encode_value(&text);
        prop_assert_eq!(Field::from_values([header.as_bytes()]), Field::One(header.as_bytes()));
        prop_assert_eq!(decode_value(header.as_bytes()).unwrap(), text.as_str());
    }

    #[test]
    fn no_bytes_make_the_readers_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let one = Field::from_values([&bytes[..]]);
        let _ = Accept::from_values([&bytes[..]]);
        let _ = MediaType::of(one);
        let _ = decode_value(&bytes);
        let _ = check_session_id(&bytes);
    }
}
