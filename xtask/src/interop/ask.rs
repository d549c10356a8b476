//! Whole turns with the built-in matcher, which needs no model: `carrick ask`.

use serde_json::{Value, json};

use super::drive::{carrick, json_lines};
use super::{Check, Rig, expect, printed};
use crate::Result;

/// A question, the call that it must lead to, and a part of the result.
#[derive(Clone, Copy)]
struct Question {
    name: &'static str,
    text: &'static str,
    server: &'static str,
    tool: &'static str,
    result: &'static str,
}

const QUESTIONS: [Question; 2] = [
    Question {
        name: "ask/time/now",
        text: "What time is it in Asia/Tokyo?",
        server: "time",
        tool: "get_current_time",
        result: "+09:00",
    },
    Question {
        name: "ask/time/convert",
        text: "Convert 12:30 from Asia/Tokyo to UTC",
        server: "time",
        tool: "convert_time",
        result: "03:30",
    },
];

/// Each question against the official time server.
pub(super) fn checks() -> Vec<Check> {
    QUESTIONS
        .into_iter()
        .map(|question| Check::new(question.name, move |rig| check(rig, question)))
        .collect()
}

fn check(rig: &Rig, question: Question) -> Result<()> {
    let command = rig.peers.python_server("mcp-server-time");
    let mut carrick = carrick(
        rig,
        question.server,
        &json!({"command": command.first(), "args": command.get(1..)}),
    )?;
    carrick.args(["ask", "--yes", "--json", "--model", "builtin:match", question.text]);
    verify(&json_lines(&printed(&mut carrick)?)?, question)
}

/// The events must hold the call, then its result, and last of all an answer.
fn verify(events: &[Value], question: Question) -> Result<()> {
    let seen = json!(events);
    let call = events.iter().position(|event| {
        event["type"] == "call"
            && event["server"] == question.server
            && event["tool"] == question.tool
    });
    let Some(call) = call else {
        return Err(format!("{}.{} was not called; seen: {seen}", question.server, question.tool));
    };
    let id = &events[call]["id"];
    let result =
        events[call..].iter().find(|event| event["type"] == "result" && event["id"] == *id);
    let fits = result.is_some_and(|result| {
        result["isError"] != true && result.to_string().contains(question.result)
    });
    expect(fits, &format!("no result holds {:?}", question.result), &seen)?;
    expect(
        events.last().is_some_and(|event| event["type"] == "answer"),
        "the last event is no answer",
        &seen,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_must_come_in_order() {
        let question = QUESTIONS[0];
        let call = json!({"type": "call", "id": "1", "server": "time", "tool": "get_current_time"});
        let result = json!({"type": "result", "id": "1", "isError": false, "content": [{"text": "09:00:00+09:00"}]});
        let answer = json!({"type": "answer", "text": "9 o'clock"});
        let text = json!({"type": "text", "text": "9"});
        let right = [call.clone(), result.clone(), text.clone(), answer.clone()];
        assert_eq!(verify(&right, question), Ok(()));
        assert!(verify(&[result.clone(), call.clone(), answer.clone()], question).is_err());
        assert!(verify(&[call.clone(), result.clone()], question).is_err());
        assert!(verify(&[call, answer, text], question).is_err());
        assert!(verify(&[], question).is_err());
    }
}
