//! Servers on their own stdin and stdout, fed the handed cases byte for byte.

use crate::support::{BOUND, case, peer_path};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;

/// Everything a server writes when it reads this file and then the end of its stdin; it must
/// exit with 0.
#[track_caller]
fn feed(command: &mut Command, input: &[u8]) -> Vec<Value> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input).unwrap();
    drop(stdin);
    let (sender, lines) = channel();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|l| sender.send(l)));
    let mut messages = Vec::new();
    loop {
        match lines.recv_timeout(BOUND) {
            Ok(line) => messages.push(serde_json::from_str(&line).expect("a message")),
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
            Err(_) => {
                child.kill().unwrap();
                panic!("the server did not end; it said {messages:#?}");
            }
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(0), "{messages:#?}");
    messages
}

/// What the fixture answers to a case.
#[track_caller]
fn answers(name: &str) -> Vec<Value> {
    let input = std::fs::read(case(name)).unwrap();
    feed(Command::new(peer_path()).arg("fixture"), &input)
}

/// All messages with this id.
fn with_id<'a>(messages: &'a [Value], id: &Value) -> Vec<&'a Value> {
    messages.iter().filter(|message| message.get("id") == Some(id)).collect()
}

/// The one answer with this id.
#[track_caller]
fn one<'a>(messages: &'a [Value], id: &Value) -> &'a Value {
    match with_id(messages, id)[..] {
        [message] => message,
        _ => panic!("not one answer {id}: {messages:#?}"),
    }
}

fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

#[test]
fn d001_member_names_match_exactly() {
    let messages = answers("D001/in.jsonl");
    assert_eq!(text(one(&messages, &json!(1))), "safe: x", "{messages:#?}");
    assert!(!messages.iter().any(|message| text(message) == "danger"), "{messages:#?}");
}

#[test]
fn d002_a_batch_is_refused_and_the_connection_stays_up() {
    let mut input = std::fs::read(case("D001/in.jsonl")).unwrap();
    input.extend(std::fs::read(case("D002/in.jsonl")).unwrap());
    input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":\"after\",\"method\":\"ping\"}\n");
    let messages = feed(Command::new(peer_path()).arg("fixture"), &input);
    let refused: Vec<&Value> = messages.iter().filter(|m| m["error"].is_object()).collect();
    assert_eq!(refused.len(), 3, "{messages:#?}");
    for message in refused {
        assert_eq!(message["error"]["code"], -32600, "{message}");
        assert!(message["id"].is_null(), "{message}");
    }
    assert!(one(&messages, &json!("after"))["result"].is_object(), "{messages:#?}");
}

#[test]
fn d004_an_empty_method_is_a_request() {
    let messages = answers("D004/in.jsonl");
    let code = &one(&messages, &json!("e1"))["error"]["code"];
    assert!([json!(-32601), json!(-32600)].contains(code), "{messages:#?}");
    assert_eq!(one(&messages, &json!("e2"))["error"]["code"], -32600);
}

#[test]
fn d005_absent_null_and_array_params() {
    let messages = answers("D005/in.jsonl");
    let listed = one(&messages, &json!(1));
    assert!(
        listed["result"]["tools"].is_array() || listed["error"]["code"] == -32602,
        "{messages:#?}"
    );
    assert_eq!(one(&messages, &json!(2))["error"]["code"], -32602);
    assert_eq!(text(one(&messages, &json!(3))), "ok");
}

#[test]
fn d006_integral_ids_in_float_form() {
    let messages = answers("D006/in.jsonl");
    for id in [json!(1), json!(100)] {
        assert!(one(&messages, &id)["result"].is_object(), "{messages:#?}");
    }
    let refused: Vec<&Value> = messages.iter().filter(|m| m["error"].is_object()).collect();
    assert_eq!(refused.len(), 1, "{messages:#?}");
    assert_eq!(refused[0]["error"]["code"], -32600);
}

#[test]
fn d007_zero_and_the_empty_string_are_ordinary() {
    let messages = answers("D007/in.jsonl");
    let with_zero = with_id(&messages, &json!(0));
    assert!(with_zero.iter().all(|m| m.get("result").is_none()), "{messages:#?}");
    one(&messages, &json!(""));
    let cancelled = messages.iter().position(|message| message["id"] == "").unwrap();
    assert!(
        messages[cancelled..].iter().all(|m| m["method"] != "notifications/progress"),
        "{messages:#?}"
    );
}

#[test]
fn d008_an_id_in_use_is_refused() {
    let messages = answers("D008/in.jsonl");
    let both = with_id(&messages, &json!(5));
    let [first, second] = both[..] else { panic!("{messages:#?}") };
    assert_eq!(first["error"]["code"], -32600);
    assert_eq!(text(second), "slept 300");
}

#[test]
fn d013_what_was_asked_before_the_end_of_stdin_is_answered() {
    let messages = answers("D013/in.jsonl");
    assert!(one(&messages, &json!(0))["result"].is_object());
    assert_eq!(text(one(&messages, &json!(1))), "slept 200");
}

#[test]
fn d014_early_pings_are_answered() {
    let messages = answers("D014/in.jsonl");
    for id in [json!("p0"), json!(0), json!("p1"), json!("l1"), json!("p2")] {
        assert!(one(&messages, &id)["result"].is_object(), "{messages:#?}");
    }
}

#[test]
fn the_built_in_servers_take_the_same_input() {
    let input = std::fs::read(case("D014/in.jsonl")).unwrap();
    for arguments in [&["server", "time"][..], &["server", "files"]] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_carrick"));
        command.args(arguments).current_dir(folder.path());
        let messages = feed(&mut command, &input);
        assert!(one(&messages, &json!("p2"))["result"].is_object(), "{messages:#?}");
    }
}
