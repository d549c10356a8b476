//! A call, and what a server does in it: its client says so in the call.
//!
//! A plan is a list of steps with commas between: `w300` waits so many
//! milliseconds; `elicit`, `sample` and `roots` ask and wait for the answer,
//! with a `g` before on the stream that belongs to no call, with an `n` before
//! without waiting; `log` and `glog`, `prog`, `updated`, `changed` tell; `ok`,
//! `bad` and `err` answer; `die` ends the server. What comes after an answer is
//! done all the same. With `stubborn` it goes on when it is cancelled.

use super::mind::Mind;
use super::{Memory, say};
use carrick::proto::peer::Lane;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub(super) struct Call {
    mind: Arc<Mind>,
    pub(super) lane: Lane,
    pub(super) id: Value,
    method: String,
    uri: Value,
    token: Value,
    /// Whether the client wants log messages of it.
    logs: bool,
    plan: Vec<String>,
    /// The first step that is still to be done.
    from: usize,
    /// What was told in this call alone.
    told: BTreeSet<String>,
}

impl Call {
    pub(super) fn new(
        mind: Arc<Mind>,
        lane: Lane,
        message: &Value,
        told: BTreeSet<String>,
    ) -> Self {
        let params = &message["params"];
        let meta = &params["_meta"];
        let from = params["requestState"].as_str().and_then(|state| state.split_once(':'));
        let modern = mind.nature.modern;
        Self {
            lane,
            id: message["id"].clone(),
            method: message["method"].as_str().unwrap_or_default().to_owned(),
            uri: params["uri"].clone(),
            token: meta["progressToken"].clone(),
            logs: !modern || meta["io.modelcontextprotocol/logLevel"].is_string(),
            plan: plan(params).split(',').map(str::to_owned).collect(),
            from: from.and_then(|(step, _)| step.parse().ok()).unwrap_or(0),
            told,
            mind,
        }
    }

    pub(super) fn is_stubborn(&self) -> bool {
        self.plan.iter().any(|step| step == "stubborn")
    }

    pub(super) async fn run(self) {
        for (number, step) in self.plan.iter().enumerate().skip(self.from) {
            match step.as_str() {
                "ok" | "bad" => self.succeed(step == "bad"),
                "err" => self.fail(-32603),
                "die" => return self.mind.die(),
                "log" | "glog" if self.logs => self.log(step == "glog"),
                "prog" => self.progress(number),
                "updated" => self.mind.change_everything(),
                "changed" => self.changed(),
                wait if wait.starts_with('w') => {
                    let wait = wait[1..].parse().unwrap_or(0);
                    tokio::time::sleep(Duration::from_millis(wait)).await;
                }
                other => {
                    if self.ask(number, other).await {
                        return;
                    }
                }
            }
        }
    }

    /// Asks, if that is what the step says; true when the call ends for it.
    async fn ask(&self, number: usize, step: &str) -> bool {
        let (kind, lane) = match step.strip_prefix('g') {
            Some(kind) => (kind, Lane::Connection),
            None => (step, self.lane),
        };
        let (kind, waits) = match kind.strip_prefix('n') {
            Some(kind) => (kind, false),
            None => (kind, true),
        };
        let method = match kind {
            "elicit" => "elicitation/create",
            "sample" => "sampling/createMessage",
            "roots" => "roots/list",
            _ => return false,
        };
        if self.mind.nature.modern {
            return self.ask_in_round(number, method);
        }
        let answered = self.mind.ask(method, lane, &self.memory(), Some(self.id.to_string()));
        if waits {
            // Without an answer it goes on once the question has been taken back.
            let _ = answered.await;
        }
        false
    }

    fn ask_in_round(&self, number: usize, method: &str) -> bool {
        if self.method == "completion/complete" {
            return false;
        }
        let memory = self.memory();
        let question = json!({ "method": method, "params": say::question(method, &memory) });
        let result = json!({ "resultType": "input_required", "inputRequests": { "q": question },
            "requestState": format!("{}:{memory}", number + 1) });
        self.say(&json!({ "jsonrpc": "2.0", "id": self.id, "result": result }));
        true
    }

    /// What it remembers when it speaks of this call.
    pub(super) fn memory(&self) -> String {
        match self.mind.nature.memory {
            Memory::Call => self.told.iter().map(String::as_str).collect::<Vec<_>>().join(" "),
            Memory::Session | Memory::Everybody => self.mind.memory(),
        }
    }

    fn succeed(&self, is_error: bool) {
        let mut result = say::result(&self.method, &self.uri, &self.memory(), is_error);
        if self.mind.nature.modern {
            say::add_modern(&mut result);
        }
        self.answer(result);
    }

    pub(super) fn answer(&self, result: Value) {
        self.say(&json!({ "jsonrpc": "2.0", "id": self.id, "result": result }));
    }

    pub(super) fn fail(&self, code: i32) {
        let memory = self.memory();
        let error = json!({ "code": code, "message": format!("No: {memory}"),
            "data": { "memory": memory } });
        self.say(&json!({ "jsonrpc": "2.0", "id": self.id, "error": error }));
    }

    fn log(&self, beside: bool) {
        let apart = beside && !self.mind.nature.modern;
        self.mind.log(if apart { Lane::Connection } else { self.lane }, &self.memory());
    }

    fn progress(&self, number: usize) {
        if !self.token.is_null() {
            let params = json!({ "progressToken": self.token, "progress": number + 1,
                "message": self.memory() });
            let method = "notifications/progress";
            self.say(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
        }
    }

    fn changed(&self) {
        if !self.mind.nature.modern {
            let params = json!({ "_meta": { "memory": self.memory() } });
            let method = "notifications/tools/list_changed";
            let message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
            self.mind.say(Lane::Connection, &message);
        }
    }

    fn say(&self, message: &Value) {
        self.mind.say(self.lane, message);
    }
}

/// The plan that a request brings: in the arguments, or at the end of its URI or
/// of the text to complete.
fn plan(params: &Value) -> &str {
    params["arguments"]["plan"]
        .as_str()
        .or_else(|| params["uri"].as_str()?.rsplit('/').next())
        .or_else(|| params["argument"]["value"].as_str()?.rsplit(' ').next())
        .unwrap_or("ok")
}
