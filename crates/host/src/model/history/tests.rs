use std::fmt::Write as _;

use serde_json::Value;

use super::*;

/// A compact view: `U(results; parts)` and `A(parts)`.
fn show(turns: &[Turn<'_>]) -> String {
    let mut text = String::new();
    for turn in turns {
        match turn {
            Turn::User { results, parts } => {
                text.push_str("U(");
                for result in results {
                    let mark = if result.is_error { "!" } else { "" };
                    write!(text, "{}{mark}={} ", result.id, show_parts(&result.content)).unwrap();
                }
                write!(text, "{}) ", show_parts(parts)).unwrap();
            }
            Turn::Assistant(parts) => {
                text.push_str("A(");
                for part in parts {
                    match part {
                        AssistantPart::Text(words) => write!(text, "'{words}' ").unwrap(),
                        AssistantPart::Opaque(opaque) => write!(text, "{} ", opaque.raw).unwrap(),
                        AssistantPart::Call { id, name, arguments } => {
                            write!(text, "{id}:{name}{arguments} ").unwrap();
                        }
                    }
                }
                text.push_str(") ");
            }
        }
    }
    text
}

fn show_parts(parts: &[UserPart<'_>]) -> String {
    let shown = parts.iter().map(|part| match part {
        UserPart::Text(text) if text.starts_with("Cancelled") => "CANCELLED".to_owned(),
        UserPart::Text(text) => format!("'{text}'"),
        UserPart::Image(image) => format!("<{}>", image.mime),
    });
    shown.collect::<Vec<_>>().join(" ")
}

fn call(id: &str, name: &str, arguments: &str) -> Block {
    let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
    Block::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments })
}

fn result(id: &str, text: &str) -> Block {
    Block::ToolResult {
        call_id: id.into(),
        name: "tool".into(),
        content: vec![ResultPart::Text(text.into())],
        is_error: false,
    }
}

fn says(role: Role, content: Vec<Block>) -> Message {
    Message { role, content }
}

/// Reads the handed history, which is in the form of Anthropic's messages.
fn handed() -> Vec<Message> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed/D124/history.json");
    let history: Vec<Value> = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let block = |block: &Value| match block["type"].as_str().unwrap() {
        "tool_use" => call(
            block["id"].as_str().unwrap(),
            block["name"].as_str().unwrap(),
            &block["input"].to_string(),
        ),
        "tool_result" => {
            result(block["tool_use_id"].as_str().unwrap(), block["content"].as_str().unwrap())
        }
        other => panic!("{other}"),
    };
    let message = |message: &Value| {
        let role = if message["role"] == "user" { Role::User } else { Role::Assistant };
        let content = match &message["content"] {
            Value::String(text) => vec![Block::Text(text.clone())],
            Value::Array(blocks) => blocks.iter().map(block).collect(),
            other => panic!("{other}"),
        };
        says(role, content)
    };
    history.iter().map(message).collect()
}

#[test]
fn d124_every_call_gets_one_result_right_after_it() {
    let messages = handed();
    assert_eq!(
        show(&strict(&messages, Some("m"))),
        "U('go') A(t1:a{} t2:b{} ) U(t1='ok' t2!=CANCELLED 'next') "
    );
}

#[test]
fn d124_a_history_that_ends_in_a_call_is_repaired() {
    let messages = [Message::user("go"), says(Role::Assistant, vec![call("t", "a", "{}")])];
    assert_eq!(show(&strict(&messages, Some("m"))), "U('go') A(t:a{} ) U(t!=CANCELLED ) ");
}

#[test]
fn d124_late_doubled_and_foreign_results_become_text() {
    let messages = [
        Message::user("go"),
        says(Role::Assistant, vec![call("t", "a", "{}")]),
        says(Role::Assistant, vec![Block::Text("hm".into())]),
        says(Role::User, vec![result("t", "late"), result("x", "foreign")]),
    ];
    let note = "'[a result of tool that answers no call]'";
    assert_eq!(
        show(&strict(&messages, Some("m"))),
        format!("U('go') A(t:a{{}} ) U(t!=CANCELLED ) A('hm' ) U({note} 'late' {note} 'foreign') ")
    );
    let messages = [
        says(Role::Assistant, vec![call("t", "a", "{}")]),
        says(Role::User, vec![result("t", "one"), result("t", "two")]),
    ];
    assert_eq!(
        show(&strict(&messages, Some("m"))),
        format!("A(t:a{{}} ) U(t='one' {note} 'two') ")
    );
}

#[test]
fn results_stand_in_the_order_of_the_calls_before_all_else() {
    let messages = [
        says(Role::Assistant, vec![call("1", "a", "{}"), call("2", "b", "{}")]),
        says(Role::User, vec![Block::Text("also".into()), result("2", "two")]),
        says(Role::User, vec![result("1", "one")]),
    ];
    assert_eq!(show(&strict(&messages, Some("m"))), "A(1:a{} 2:b{} ) U(1='one' 2='two' 'also') ");
}

#[test]
fn ids_become_unique_and_safe_together_with_their_results() {
    let messages = [
        says(Role::Assistant, vec![call("call 0", "a", "{}"), call("call 0", "b", "{}")]),
        says(Role::User, vec![result("call 0", "one"), result("call 0", "two")]),
        says(Role::Assistant, vec![call("call 0", "a", "[1]"), call("", "b", "{}")]),
        says(Role::User, vec![result("call 0", "three"), result("", "four")]),
    ];
    assert_eq!(
        show(&strict(&messages, Some("m"))),
        "A(call_0:a{} call_0_2:b{} ) U(call_0='one' call_0_2='two' ) \
         A(call_0_3:a{} call:b{} ) U(call_0_3='three' call='four' ) "
    );
}

#[test]
fn empty_text_foreign_blocks_and_unreadable_pictures_are_handled() {
    let opaque = |model: &str| {
        let raw = RawValue::from_string("{\"o\":1}".into()).unwrap();
        Block::Opaque(Opaque { model: model.into(), raw })
    };
    let image = |mime: &str| Block::Image(Image { mime: mime.into(), base64: "AAAA".into() });
    let messages = [
        says(
            Role::User,
            vec![Block::Text(" \n".into()), image("image/svg+xml"), image("image/png")],
        ),
        says(Role::Assistant, vec![opaque("other"), Block::Text(String::new())]),
        Message::user("more"),
        says(Role::Assistant, vec![opaque("m"), Block::Text("yes".into())]),
    ];
    assert_eq!(
        show(&strict(&messages, Some("m"))),
        "U('[a picture of type image/svg+xml, about 3 bytes, not shown]' <image/png> 'more') \
         A({\"o\":1} 'yes' ) "
    );
}
