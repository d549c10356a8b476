//! What a client knows of its conversation, and what it makes of what it
//! receives.

use crate::evidence::{Evidence, MARKERS, owners};
use crate::random::Random;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

pub(super) struct Known {
    me: usize,
    modern: bool,
    evidence: Evidence,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    open: bool,
    gone: bool,
    session: Option<String>,
    asked: BTreeMap<u64, Asked>,
    /// Questions of a server's in a session.
    questions: Vec<(Value, String)>,
    past_questions: Vec<(Value, String)>,
    /// Calls that wait for answers.
    rounds: Vec<Round>,
    past_rounds: Vec<Round>,
    cursors: Vec<String>,
}

/// A request that was sent.
#[derive(Clone)]
pub(super) struct Asked {
    pub(super) method: String,
    pub(super) params: Value,
}

/// A call to which the client is to come back.
#[derive(Clone)]
pub(super) struct Round {
    pub(super) asked: Asked,
    pub(super) state: Value,
    /// The keys and methods of its questions.
    pub(super) questions: Vec<(String, String)>,
}

impl Known {
    pub(super) fn new(me: usize, modern: bool, evidence: Evidence) -> Self {
        Self { me, modern, evidence, state: Mutex::default() }
    }

    pub(super) fn is_open(&self) -> bool {
        self.state().open
    }

    pub(super) fn is_gone(&self) -> bool {
        self.state().gone
    }

    /// The other side has closed the connection, or ended the session.
    pub(super) fn set_gone(&self) {
        self.state().gone = true;
    }

    pub(super) fn session(&self) -> Option<String> {
        self.state().session.clone()
    }

    pub(super) fn set_session(&self, session: &str) {
        self.state().session = Some(session.to_owned());
    }

    pub(super) fn asks(&self, id: u64, asked: Asked) {
        self.state().asked.insert(id, asked);
    }

    pub(super) fn take_question(&self, random: &mut Random) -> Option<(Value, String)> {
        let mut state = self.state();
        let question = take(&mut state.questions, random)?;
        state.past_questions.push(question.clone());
        Some(question)
    }

    pub(super) fn past_question(&self, random: &mut Random) -> Option<(Value, String)> {
        any(&self.state().past_questions, random)
    }

    pub(super) fn take_round(&self, random: &mut Random) -> Option<Round> {
        let mut state = self.state();
        let round = take(&mut state.rounds, random)?;
        state.past_rounds.push(round.clone());
        Some(round)
    }

    pub(super) fn past_round(&self, random: &mut Random) -> Option<Round> {
        any(&self.state().past_rounds, random)
    }

    /// Where a list went on.
    pub(super) fn cursor(&self, random: &mut Random) -> Option<String> {
        any(&self.state().cursors, random)
    }

    /// A request that has no answer yet.
    pub(super) fn running(&self, random: &mut Random) -> Option<u64> {
        let ids: Vec<u64> = self.state().asked.keys().copied().filter(|id| *id > 0).collect();
        any(&ids, random)
    }

    /// Bytes have come that are not, or not yet, a message.
    pub(super) fn raw(&self, bytes: &[u8]) {
        self.evidence.received(self.me, bytes);
    }

    /// A message has come; true when it is an answer.
    pub(super) fn message(&self, bytes: &[u8]) -> bool {
        self.evidence.note(|| format!("{} < {}", MARKERS[self.me], String::from_utf8_lossy(bytes)));
        self.evidence.received(self.me, bytes);
        let message: Value = serde_json::from_slice(bytes).unwrap();
        let kind = match (message["id"].is_null(), message["method"].as_str()) {
            (_, None) => self.answered(&message),
            (true, Some(method)) => self.noticed(method, &message),
            (false, Some(method)) => {
                let question = (message["id"].clone(), method.to_owned());
                self.state().questions.push(question);
                kind_of_question(method)
            }
        };
        if owners(bytes).any(|owner| owner == self.me) {
            self.evidence.delivered(self.modern, kind);
        }
        message["method"].is_null()
    }

    fn answered(&self, message: &Value) -> &'static str {
        let id = message["id"].as_u64();
        let Some(asked) = id.and_then(|id| self.state().asked.remove(&id)) else {
            return "stray answer";
        };
        if message["error"].is_object() {
            return "error";
        }
        let result = &message["result"];
        if self.modern && result["resultType"] == "input_required" {
            return self.asked_in_round(asked, result);
        }
        if let Some(cursor) = result["nextCursor"].as_str() {
            self.state().cursors.push(cursor.to_owned());
        }
        match asked.method.as_str() {
            "initialize" => {
                self.state().open = true;
                "initialized"
            }
            "tools/call" => "tool result",
            "prompts/get" => "prompt",
            "resources/read" => "resource",
            "completion/complete" => "completion",
            list if list.ends_with("list") => "list",
            _ => "other result",
        }
    }

    fn asked_in_round(&self, asked: Asked, result: &Value) -> &'static str {
        let requests = result["inputRequests"].as_object().cloned().unwrap_or_default();
        let method = |request: &Value| request["method"].as_str().unwrap_or_default().to_owned();
        let questions: Vec<_> =
            requests.iter().map(|(key, request)| (key.clone(), method(request))).collect();
        let kind = questions.first().map_or("question", |(_, method)| kind_of_question(method));
        let state = result["requestState"].clone();
        self.state().rounds.push(Round { asked, state, questions });
        kind
    }

    fn noticed(&self, method: &str, message: &Value) -> &'static str {
        match method {
            "notifications/message" => "log",
            "notifications/progress" => "progress",
            "notifications/resources/updated" => "updated",
            "notifications/cancelled" => {
                let mut state = self.state();
                let id = &message["params"]["requestId"];
                if let Some(at) = state.questions.iter().position(|(of, _)| of == id) {
                    let question = state.questions.swap_remove(at);
                    state.past_questions.push(question);
                }
                "withdrawn"
            }
            _ => "other notice",
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

fn kind_of_question(method: &str) -> &'static str {
    match method {
        "elicitation/create" => "elicitation",
        "sampling/createMessage" => "sampling",
        "roots/list" => "roots",
        _ => "other question",
    }
}

fn take<T>(from: &mut Vec<T>, random: &mut Random) -> Option<T> {
    (!from.is_empty()).then(|| from.swap_remove(random.below(from.len())))
}

fn any<T: Clone>(from: &[T], random: &mut Random) -> Option<T> {
    (!from.is_empty()).then(|| from[random.below(from.len())].clone())
}
