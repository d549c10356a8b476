use std::{string::String, time::Duration, vec, vec::Vec};

use proptest::prelude::*;

use super::{Decoder, EncodeError, Event, Limits, SseError, encode_event};

fn decode_in(chunks: &[&[u8]]) -> (Vec<Event>, String) {
    let mut decoder = Decoder::new(Limits::default());
    let mut events = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        events.extend(decoder.by_ref().map(|event| event.unwrap()));
    }
    (events, String::from(decoder.last_event_id()))
}

fn decode(bytes: &[u8]) -> (Vec<Event>, String) {
    decode_in(&[bytes])
}

fn message(data: &str) -> Event {
    Event { event: "message".into(), data: data.into(), id: None, retry: None }
}

macro_rules! handed {
    ($path:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed/", $path))
    };
}

#[test]
fn d028_whole_grammar_in_one_stream() {
    let (events, last_id) = decode(handed!("D028/stream.sse"));
    let log = |data: &str| {
        message(&std::format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{data}"}}}}"#
        ))
    };
    let mut split = log("一");
    split.data = split
        .data
        .replace(r#","method""#, ",\n\"method\"")
        .replace(r#","params""#, ",\n\"params\"");
    let mut primer = message("");
    primer.id = Some("7".into());
    primer.retry = Some(Duration::from_millis(1500));
    let result = message(r#"{"jsonrpc":"2.0","id":1,"result":{"ok":true}}"#);
    let lone_data = message("");
    assert_eq!(events, [split, log("no space"), log("cr only"), lone_data, primer, result]);
    assert_eq!(last_id, "7");
}

#[test]
fn d029_priming_event_keeps_its_id_and_names_are_told_apart() {
    let (events, last_id) = decode(handed!("D029/stream.sse"));
    let seen: Vec<_> =
        events.iter().map(|e| (e.event.as_str(), e.data.as_str(), e.id.as_deref())).collect();
    assert_eq!(
        seen,
        [
            ("message", "", Some("s1-0")),
            ("ping", "pong", None),
            ("error", "oops", None),
            ("message", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Some("s1-1")),
        ]
    );
    assert_eq!(last_id, "s1-1");
}

#[test]
fn d031_ids_with_nul_and_odd_retries() {
    let limits = Limits::default();
    let (events, last_id) = decode(handed!("D031/stream.sse"));
    assert_eq!(last_id, "ok1");
    let retries: Vec<_> = events.iter().map(|e| e.retry).collect();
    assert_eq!(retries, [None, Some(limits.retry_floor), Some(limits.retry_ceiling)]);
}

#[test]
fn d031_bare_id_resets() {
    let (events, last_id) = decode(b"id: a\n\nid\n\n");
    assert_eq!(events[1].id.as_deref(), Some(""));
    assert_eq!(last_id, "");
}

#[test]
fn an_id_counts_only_once_its_event_is_whole() {
    let mut decoder = Decoder::new(Limits::default());
    decoder.push(b"id: a\n\nid: b\ndata: x\n");
    assert_eq!(decoder.by_ref().count(), 1);
    assert_eq!(decoder.last_event_id(), "a");
    assert!(decoder.is_mid_event());
    decoder.push(b"\n");
    assert_eq!(decoder.by_ref().count(), 1);
    assert_eq!(decoder.last_event_id(), "b");
    assert!(!decoder.is_mid_event());
}

#[test]
fn a_carriage_return_ends_a_line_before_the_next_chunk() {
    let mut decoder = Decoder::new(Limits::default());
    decoder.push(b"data: x\r\r");
    assert_eq!(decoder.next(), Some(Ok(message("x"))));
    decoder.push(b"\ndata: y\r\n\r");
    assert_eq!(decoder.next(), Some(Ok(message("y"))));
    decoder.push(b"\n");
    assert_eq!(decoder.next(), None);
}

#[test]
fn only_one_space_is_dropped_and_a_name_alone_is_no_event() {
    let (events, _) = decode(b"event: lost\n\ndata:  two\n\nevent:\ndata: d\n\n");
    assert_eq!(events, [message(" two"), message("d")]);
}

#[test]
fn a_byte_order_mark_counts_only_at_the_start() {
    let (events, _) = decode("\u{feff}data: a\n\n\u{feff}data: b\n\ndata: c\n\n".as_bytes());
    assert_eq!(events, [message("a"), message("c")]);
}

#[test]
fn bytes_that_are_not_utf8_read_as_replacements() {
    let (events, _) = decode(b"data: a\xFFb\n\n");
    assert_eq!(events, [message("a\u{fffd}b")]);
}

#[test]
fn an_event_above_the_limit_ends_the_stream_with_its_name() {
    for stream in [&b"data: 123\ndata: 456\n\n"[..], b"data: 12345678", b": a long comment\n"] {
        let limits = Limits { max_event_bytes: 11, ..Limits::default() };
        let mut decoder = Decoder::new(limits);
        decoder.push(stream);
        let error = decoder.next().unwrap().unwrap_err();
        assert_eq!(error, SseError::EventTooLarge { limit: 11 });
        assert!(std::format!("{error}").contains("max_event_bytes"));
        decoder.push(b"data: 1\n\n");
        assert_eq!(decoder.next(), None);
    }
}

#[test]
fn an_event_at_the_limit_passes() {
    let limits = Limits { max_event_bytes: 11, ..Limits::default() };
    let mut decoder = Decoder::new(limits);
    decoder.push(b"data: 12345\n\ndata: 67890\n\n");
    assert_eq!(decoder.by_ref().filter(Result::is_ok).count(), 2);
}

#[test]
fn line_breaks_in_data_become_data_lines() {
    let mut out = Vec::new();
    encode_event(&mut out, Some("log"), Some("s-1"), Some(Duration::from_secs(2)), b"a\nb\r\nc\rd")
        .unwrap();
    assert_eq!(out, b"event: log\nid: s-1\nretry: 2000\ndata: a\ndata: b\ndata: c\ndata: d\n\n");
}

#[test]
fn fields_that_would_start_another_one_are_refused() {
    let mut out = Vec::new();
    let name = encode_event(&mut out, Some("a\nid: x"), None, None, b"");
    assert_eq!(name, Err(EncodeError::EventName));
    for id in ["a\rb", "a\nb", "a\0b"] {
        assert_eq!(encode_event(&mut out, None, Some(id), None, b""), Err(EncodeError::Id));
    }
    assert!(out.is_empty());
}

/// Pieces that meet in every interesting way when strung together.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        &b"\r"[..],
        b"\n",
        b"\r\n",
        b"\n\n",
        b"data: x",
        b"data:y",
        b"data",
        b"id: 1",
        b"id",
        b"id: \0",
        b"event: e",
        b"retry: 20",
        b"retry: x",
        b": c",
        b"\xEF\xBB\xBF",
        b"\xEF\xBB",
        b"\xE4\xB8\x80",
        b"\xFF",
        b":",
        b" ",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_chunking_gives_the_same_events(
        bytes in stream(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut rest = &bytes[..];
        for cut in cuts.iter().rev() {
            let (left, right) = rest.split_at(*cut);
            chunks.insert(0, right);
            rest = left;
        }
        chunks.insert(0, rest);
        let single: Vec<_> = bytes.chunks(1).collect();
        let whole = decode(&bytes);
        prop_assert_eq!(&decode_in(&chunks), &whole);
        prop_assert_eq!(&decode_in(&single), &whole);
    }

    #[test]
    fn what_is_written_is_read_back(
        name in "[a-z]{1,8}",
        id in prop::option::of("[ -~]{0,12}"),
        retry in prop::option::of(100u64..300_000),
        data in "[a-z :\u{e9}\n]{0,40}",
    ) {
        let retry = retry.map(Duration::from_millis);
        let mut out = Vec::new();
        encode_event(&mut out, Some(&name), id.as_deref(), retry, data.as_bytes()).unwrap();
        let (events, _) = decode(&out);
        prop_assert_eq!(events, [Event { event: name, data, id, retry }]);
    }
}
