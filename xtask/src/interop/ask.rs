//! Whole turns: `carrick ask`, with the built-in matcher and with scripted models.

use serde_json::{Value, json};

use super::entries::{Official, carrick, json_lines, servers};
use super::{Check, Rig, expect, printed};
use crate::Result;

mod scripted;

/// A question, the call that it must lead to, and a part of the result.
#[derive(Clone, Copy)]
struct Question {
    name: &'static str,
    text: &'static str,
    /// The servers; none for those that are there without any config.
    servers: &'static [Official],
    call: Expected,
}

/// A call that must be made, and a part of its result.
#[derive(Clone, Copy)]
struct Expected {
    server: &'static str,
    /// The tool, or the method that reads a resource.
    tool: &'static str,
    result: &'static str,
}

const QUESTIONS: [Question; 4] = [
    Question {
        name: "ask/match/time/now",
        text: "What time is it in Asia/Tokyo?",
        servers: &[Official::Time],
        call: Expected { server: "time", tool: "get_current_time", result: "+09:00" },
    },
    Question {
        name: "ask/match/time/convert",
        text: "Convert 12:30 from Asia/Tokyo to UTC",
        servers: &[Official::Time],
        call: Expected { server: "time", tool: "convert_time", result: "03:30" },
    },
    Question {
        name: "ask/match/builtin/time",
        text: "What time is it in Tokyo when it is 09:00 in Paris?",
        servers: &[],
        call: Expected { server: "time", tool: "convert_time", result: "Asia/Tokyo" },
    },
    Question {
        name: "ask/match/builtin/files",
        text: "Which files here mention carrick?",
        servers: &[],
        call: Expected { server: "files", tool: "search_files", result: "note.txt" },
    },
];

/// Every question to the matcher, and every conversation with a scripted model.
pub(super) fn checks() -> Vec<Check> {
    let questions = QUESTIONS
        .into_iter()
        .map(|question| Check::new(question.name, move |rig| check(rig, question)));
    questions.chain(scripted::checks()).collect()
}

fn check(rig: &Rig, question: Question) -> Result<()> {
    let servers = (!question.servers.is_empty()).then(|| servers(rig, question.servers));
    let mut carrick = carrick(rig, servers.as_ref())?;
    carrick.args(["ask", "--yes", "--json", "--model", "builtin:match", question.text]);
    verify(&json_lines(&printed(&mut carrick)?)?, &[question.call]).map(drop)
}

/// The events must hold every call, after each its result, and last of all an answer,
/// which is given back.
fn verify<'a>(events: &'a [Value], calls: &[Expected]) -> Result<&'a Value> {
    let seen = json!(events);
    for expected in calls {
        let call = events.iter().position(|event| {
            event["type"] == "call"
                && event["server"] == expected.server
                && event["tool"] == expected.tool
        });
        let Some(call) = call else {
            return Err(format!(
                "{}/{} was not asked for; seen: {seen}",
                expected.server, expected.tool
            ));
        };
        let id = &events[call]["id"];
        let result =
            events[call..].iter().find(|event| event["type"] == "result" && event["id"] == *id);
        let fits = result.is_some_and(|result| {
            result["isError"] != true && result.to_string().contains(expected.result)
        });
        expect(fits, &format!("no result holds {:?}", expected.result), &seen)?;
    }
    events
        .last()
        .filter(|event| event["type"] == "answer")
        .ok_or_else(|| format!("the last event is no answer; seen: {seen}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_must_come_in_order() {
        let wanted = [QUESTIONS[0].call];
        let call = json!({"type": "call", "id": "1", "server": "time", "tool": "get_current_time"});
        let result = json!({"type": "result", "id": "1", "isError": false, "content": [{"text": "09:00:00+09:00"}]});
        let answer = json!({"type": "answer", "text": "9 o'clock"});
        let text = json!({"type": "text", "text": "9"});
        let right = [call.clone(), result.clone(), text.clone(), answer.clone()];
        assert_eq!(verify(&right, &wanted), Ok(&answer));
        assert!(verify(&[result.clone(), call.clone(), answer.clone()], &wanted).is_err());
        assert!(verify(&[call.clone(), result.clone()], &wanted).is_err());
        assert!(verify(&[call, answer, text], &wanted).is_err());
        assert!(verify(&[], &wanted).is_err());
    }
}
