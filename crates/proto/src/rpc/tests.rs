use super::*;
use crate::method::Method;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use alloc::{format, vec};
use bytes::Bytes;
use proptest::prelude::*;

fn one(text: &str) -> Result<Message, ScanError> {
    match scan(Bytes::copy_from_slice(text.as_bytes()), Limits::default())? {
        Scanned::One(message) => Ok(message),
        Scanned::Batch(_) => panic!("a batch"),
    }
}

fn kind(text: &str) -> ScanErrorKind {
    one(text).expect_err("refused").kind
}

#[test]
fn finds_the_parts_of_a_request() {
    let message = one(r#" {"id":7, "params":{"arguments":{"a":[1,{"name":"no"}]},"name":"x",
        "_meta":{"progressToken":"p","io.modelcontextprotocol/protocolVersion":"v"}},
        "method":"tools/call","jsonrpc":"2.0"} "#)
    .unwrap();
    assert_eq!(message.kind(), Kind::Request);
    assert_eq!(message.id(), Some(&Id::Number(7)));
    assert_eq!(message.method(), Method::ToolsCall);
    assert_eq!(message.text(Field::Name).as_deref(), Some("x"));
    assert_eq!(message.field(Field::Arguments), Some(&br#"{"a":[1,{"name":"no"}]}"#[..]));
    assert_eq!(message.id_at(Field::MetaProgressToken), Some(Id::Text("p".into())));
    assert_eq!(message.text(Field::MetaProtocolVersion).as_deref(), Some("v"));
}

#[test]
fn names_with_escapes_are_the_names_they_spell() {
    let message = one(
        r#"{"jsonrpc":"2.0","\u0069d":1,"method":"tools\/list","params":{"n\u0061me":"\u4e2d"}}"#,
    )
    .unwrap();
    assert_eq!(message.method(), Method::ToolsList);
    assert_eq!(message.text(Field::Name).as_deref(), Some("中"));
}

#[test]
fn d001_names_match_exactly_and_near_ones_have_no_effect() {
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"resources/list","params":{"name":"safe_echo","Name":"danger_run","arguments":{"t":"x"}}}"#;
    let message = one(text).unwrap();
    assert_eq!(message.method(), Method::ToolsCall);
    assert_eq!(message.text(Field::Name).as_deref(), Some("safe_echo"));

    let mut edits = Edits::new();
    message.shadows().iter().for_each(|span| edits.remove_member(*span));
    let mut out = Vec::new();
    edits.apply(text.as_bytes(), &mut out);
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"safe_echo","arguments":{"t":"x"}}}"#
    );
}

#[test]
fn f42_every_name_that_is_known_is_known_in_other_letters() {
    use super::message::{OF_ENVELOPE, OF_ERROR, OF_META, OF_PARAMS, OF_RESULT};
    let within = |place: &str, member: &str| match place {
        "" => format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x",{member}}}"#),
        "params" => format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{{member}}}}}"#),
        "meta" => {
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"_meta":{{{member}}}}}}}"#)
        }
        place => format!(r#"{{"jsonrpc":"2.0","id":1,"{place}":{{{member}}}}}"#),
    };
    let mut names = 0;
    for (place, table) in [
        ("", OF_ENVELOPE),
        ("params", OF_PARAMS),
        ("result", OF_RESULT),
        ("error", OF_ERROR),
        ("meta", OF_META),
    ] {
        for name in table {
            let name = core::str::from_utf8(name).unwrap();
            names += 1;
            for other in [name.to_ascii_uppercase(), name.to_ascii_lowercase()] {
                let message = one(&within(place, &format!(r#""{other}" : 1"#)));
                let shadows = message.map(|message| message.shadows().to_vec());
                if other == name {
                    // It may be refused where it means something.
                    assert!(
                        shadows.is_ok_and(|s| s.is_empty()) || place.is_empty(),
                        "{place} {other}"
                    );
                } else {
                    assert_eq!(shadows.unwrap().len(), 1, "{place} {other}");
                }
            }
        }
    }
    assert!(names > 90, "{names}");
    let own = one(&within("params", r#""Own":1,"own":2,"arguments":{"Name":1}"#)).unwrap();
    assert!(own.shadows().is_empty());
}

#[test]
fn members_that_decide_something_may_not_appear_twice() {
    let twice = [
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","m\u0065thod":"tools/list"}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","name":"b"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":{"progressToken":1,"progressToken":2}}}"#,
    ];
    for text in twice {
        let error = one(text).expect_err("refused");
        assert!(matches!(error.kind, ScanErrorKind::Duplicate(_)), "{text}: {error}");
        assert_eq!(error.kind.code(), -32600);
        let answered = error.id.as_ref().map(|id| *id == Id::Number(1));
        let sure = !text.contains(r#""id":2"#);
        assert_eq!(answered, sure.then_some(true), "which of two ids it has nobody can tell");
    }
    assert!(one(r#"{"jsonrpc":"2.0","id":1,"method":"x","other":1,"other":2}"#).is_ok());
}

#[test]
fn d004_any_method_member_makes_a_request() {
    let message = one(r#"{"jsonrpc":"2.0","id":"e1","method":""}"#).unwrap();
    assert_eq!((message.kind(), message.method()), (Kind::Request, Method::Unknown));
    let error = one(r#"{"jsonrpc":"2.0","id":"e2","method":7}"#).expect_err("refused");
    assert_eq!(error.kind, ScanErrorKind::Method);
    assert_eq!(error.id, Some(Id::Text("e2".into())));
}

#[test]
fn d005_params_absent_null_or_an_array() {
    let body = |text| one(text).map(|m| m.body().is_none());
    assert_eq!(body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#), Ok(true));
    assert_eq!(body(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}"#), Ok(true));
    let error = one(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":[]}"#).expect_err("");
    assert_eq!((error.kind.code(), error.id), (-32602, Some(Id::Number(2))));
}

#[test]
fn d006_integral_floats_are_integers() {
    let id = |text: &str| {
        one(&format!(r#"{{"jsonrpc":"2.0","id":{text},"method":"ping"}}"#))
            .map(|m| m.id().unwrap().clone())
    };
    assert_eq!(id("1.0"), Ok(Id::Number(1)));
    assert_eq!(id("1e2"), Ok(Id::Number(100)));
    assert_eq!(id("-0"), Ok(Id::Number(0)));
    assert_eq!(id("9223372036854775807"), Ok(Id::Number(i64::MAX)));
    for bad in ["1.5", "1e300", "9223372036854775808", "true", "null", "[]", "{}"] {
        assert_eq!(id(bad).expect_err(bad).kind, ScanErrorKind::Id, "{bad}");
    }
}

#[test]
fn d007_zero_and_the_empty_string_are_ids() {
    assert_eq!(one(r#"{"jsonrpc":"2.0","id":0,"method":"x"}"#).unwrap().id(), Some(&Id::Number(0)));
    assert_eq!(
        one(r#"{"jsonrpc":"2.0","id":"","method":"x"}"#).unwrap().id().cloned(),
        Some(Id::Text("".into()))
    );
}

#[test]
fn responses_and_what_only_looks_like_them() {
    assert_eq!(one(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).unwrap().kind(), Kind::Result);
    let no_id = one(r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}"#).unwrap();
    assert_eq!((no_id.kind(), no_id.id()), (Kind::Error, None));
    let padded = r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#;
    assert_eq!(one(padded).unwrap().kind(), Kind::Result);
    assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1}"#), ScanErrorKind::Shape);
    let both = r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#;
    assert!(one(both).expect_err("refused").is_response);
    assert_eq!(kind(r#"{"id":1,"method":"x"}"#), ScanErrorKind::Version);
    assert_eq!(kind("7"), ScanErrorKind::NotAnObject);
}

#[test]
fn broken_json_is_told_from_json_that_is_no_message() {
    let bad = [
        "",
        "{",
        "{]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "[1,]",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":.5}",
        "{\"a\":1e}",
        "{\"a\":-}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12g4\"}",
        "{\"a\":\"\n\"}",
        "{\"a\":tru}",
        "{} {}",
        "{\"a\":1 \"b\":2}",
        "nul",
        "'a'",
    ];
    for text in bad {
        assert!(matches!(kind(text), ScanErrorKind::Json(JsonError::Syntax(_))), "{text:?}");
    }
    let latin = scan(Bytes::from_static(b"{\"a\":\"\xe9\"}"), Limits::default());
    assert_eq!(latin.expect_err("refused").kind, ScanErrorKind::Json(JsonError::Utf8(6)));
}

#[test]
fn depth_is_bounded_without_using_the_stack() {
    let nested = |n: usize| {
        format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":{{"a":{}{}}}}}"#,
            "[".repeat(n),
            "]".repeat(n)
        )
    };
    assert!(one(&nested(128)).is_ok());
    assert!(matches!(kind(&nested(129)), ScanErrorKind::Json(JsonError::Depth(_))));
    assert!(matches!(kind(&"[{\"a\":".repeat(500_000)), ScanErrorKind::Json(_)));
}

#[test]
fn a_batch_reports_each_element() {
    let text = r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},1,{"jsonrpc":"2.0","method":"x"}]"#;
    let Ok(Scanned::Batch(batch)) = scan(Bytes::from_static(text.as_bytes()), Limits::default())
    else {
        panic!("a batch")
    };
    let kinds: Vec<_> = batch.iter().map(|m| m.as_ref().map(Message::kind).ok()).collect();
    assert_eq!(kinds, vec![Some(Kind::Request), None, Some(Kind::Notification)]);
}

#[test]
fn removed_members_take_one_comma_along() {
    let source = br#"{"a":1, "b":2 ,"c":3,"d":4}"#;
    let span = |name: &str| member(source, name).expect("there").whole;
    let without = |names: &[&str]| {
        let mut edits = Edits::new();
        names.iter().for_each(|name| edits.remove_member(span(name)));
        let mut out = Vec::new();
        edits.apply(source, &mut out);
        let value: serde_json::Value = serde_json::from_slice(&out).expect("still JSON");
        value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join("")
    };
    assert_eq!(without(&["a"]), "bcd");
    assert_eq!(without(&["a", "b"]), "cd");
    assert_eq!(without(&["c", "d"]), "ab");
    assert_eq!(without(&["a", "d"]), "bc");
    assert_eq!(without(&["a", "b", "c", "d"]), "");
}

#[test]
fn written_messages_are_read_back() {
    let mut out = Vec::new();
    request(&mut out, &Id::Text("a\"\n".into()), "tools/list", b"{\"cursor\":\"\"}");
    let message = one(&String::from_utf8(out).unwrap()).unwrap();
    assert_eq!(message.id(), Some(&Id::Text("a\"\n".into())));
    assert_eq!(message.text(Field::Cursor).as_deref(), Some(""));
    for (body, members, expected) in [
        ("{}", "\"x\":1", r#"{"jsonrpc":"2.0","id":-5,"result":{"x":1}}"#),
        ("{ }", "\"x\":1", r#"{"jsonrpc":"2.0","id":-5,"result":{"x":1 }}"#),
        ("{\"y\":2}", "\"x\":1", r#"{"jsonrpc":"2.0","id":-5,"result":{"x":1,"y":2}}"#),
        ("{\"y\":2}", "", r#"{"jsonrpc":"2.0","id":-5,"result":{"y":2}}"#),
    ] {
        let mut out = Vec::new();
        result_response_with(&mut out, &Id::Number(-5), body.as_bytes(), members.as_bytes());
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
    let mut out = Vec::new();
    error_response(&mut out, None, -32700, "no\u{1}", Some(b"[1]"));
    assert_eq!(
        String::from_utf8(out).unwrap(),
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"no\u0001","data":[1]}}"#
    );
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,40}".prop_map(serde_json::Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
            proptest::collection::vec((".{0,8}", inner), 0..6)
                .prop_map(|members| members.into_iter().collect::<serde_json::Map<_, _>>().into()),
        ]
    })
}

proptest! {
    #[test]
    fn agrees_with_a_full_parser_on_what_is_json(value in json(), at in any::<usize>(), byte: u8) {
        let mut text = value.to_string().into_bytes();
        prop_assert!(Json::parse(text.clone().into(), Limits::default()).is_ok());
        if !text.is_empty() {
            let at = at % text.len();
            text[at] = byte;
        }
        let ours = Json::parse(text.clone().into(), Limits::default()).is_ok();
        let theirs = serde_json::from_slice::<&serde_json::value::RawValue>(&text).is_ok();
        prop_assert_eq!(ours, theirs, "{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = scan(bytes.into(), Limits::default());
    }

    #[test]
    fn escaping_is_what_a_parser_undoes(text in ".*") {
        let mut out = vec![b'"'];
        push_escaped(&mut out, &text);
        out.push(b'"');
        prop_assert_eq!(serde_json::from_slice::<String>(&out).unwrap(), text.to_string());
    }
}

#[test]
fn what_stands_for_itself_in_a_string_ends_at_the_first_byte_that_does_not() {
    for length in 0..70 {
        for at in 0..length {
            for special in [b'"', b'\\', 0, 0x1f] {
                for other in [b' ', b'!', b'#', b'[', b']', 0x7f, 0x80, 0xff] {
                    let mut text = alloc::vec![other; length];
                    assert_eq!(super::json::plain_len(&text), length);
                    text[at] = special;
                    text[length - 1] = if at + 1 == length { special } else { b'"' };
                    assert_eq!(super::json::plain_len(&text), at, "{text:?}");
                }
            }
        }
    }
}
