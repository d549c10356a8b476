//! What a server knows on one connection, and what it does when it hears
//! something.

use super::plan::Call;
use super::{Memory, Minds, Nature, Remembered, say};
use crate::evidence::{Evidence, MARKERS, owners};
use carrick::proto::peer::Lane;
use carrick::transport::Event;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

pub(super) struct Mind {
    pub(super) nature: Nature,
    remembered: Remembered,
    everywhere: Minds,
    events: mpsc::UnboundedSender<Event>,
    evidence: Evidence,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    over: bool,
    /// The tasks of calls, by the id of the call; stubborn ones go on when they
    /// are cancelled.
    tasks: BTreeMap<String, (Lane, AbortHandle, bool)>,
    questions: BTreeMap<u64, Question>,
    asked: u64,
    /// Exchanges that are over.
    past: BTreeSet<u64>,
    subscriptions: BTreeSet<String>,
    /// Listens: their ids and resources.
    listens: BTreeMap<String, (Lane, Value, Vec<String>)>,
}

struct Question {
    text: Vec<u8>,
    call: Option<String>,
    answered: oneshot::Sender<()>,
}

impl Mind {
    pub(super) fn new(
        nature: Nature,
        remembered: Remembered,
        everywhere: Minds,
        events: mpsc::UnboundedSender<Event>,
        evidence: Evidence,
    ) -> Arc<Self> {
        Arc::new(Self { nature, remembered, everywhere, events, evidence, state: Mutex::default() })
    }

    /// Takes in a message of the gateway's.
    pub(super) fn hear(self: &Arc<Self>, lane: Lane, bytes: &[u8]) {
        self.evidence.note(|| format!("  > server {lane:?} {}", String::from_utf8_lossy(bytes)));
        let message: Value = serde_json::from_slice(bytes).unwrap();
        let method = message["method"].as_str().unwrap_or("answer");
        let told: BTreeSet<String> =
            owners(bytes).map(|owner| format!("{method}:{}", MARKERS[owner])).collect();
        if self.nature.memory != Memory::Call {
            self.remembered.lock().unwrap().extend(told.iter().cloned());
        }
        if message["method"].is_null() {
            return self.answered(&message, bytes);
        }
        if message["id"].is_null() {
            return self.notified(&message);
        }
        let call = Call::new(self.clone(), lane, &message, told);
        if message["params"]["inputResponses"].is_object() {
            // The rounds of a call come in one request again and again.
            self.evidence.answered(&say::without_answers(&message), bytes);
        }
        self.requested(call, &message);
    }

    fn requested(self: &Arc<Self>, call: Call, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "server/discover" if self.nature.modern => call.answer(say::discovered()),
            "initialize" if !self.nature.modern => call.answer(say::initialized()),
            "ping" | "logging/setLevel" if !self.nature.modern => call.answer(json!({})),
            "resources/subscribe" if !self.nature.modern => {
                self.state().subscriptions.insert(text(&params["uri"]));
                call.answer(json!({ "_meta": { "memory": call.memory() } }));
            }
            "resources/unsubscribe" if !self.nature.modern => {
                self.state().subscriptions.remove(&text(&params["uri"]));
                call.answer(json!({ "_meta": { "memory": call.memory() } }));
            }
            "subscriptions/listen" if self.nature.modern => self.listen(&call, message),
            "tools/call" | "prompts/get" | "resources/read" | "completion/complete" => {
                self.begin(call);
            }
            method => match say::listed(method, params, &call.memory(), self.nature.modern) {
                Some(list) => call.answer(list),
                None => call.fail(-32601),
            },
        }
    }

    fn begin(self: &Arc<Self>, call: Call) {
        let (id, lane, stubborn) = (call.id.to_string(), call.lane, call.is_stubborn());
        let task = tokio::spawn(call.run()).abort_handle();
        self.state().tasks.insert(id, (lane, task, stubborn));
    }

    fn listen(&self, call: &Call, message: &Value) {
        let filter = &message["params"]["notifications"];
        let uris = filter["resourceSubscriptions"].as_array();
        let uris = uris.into_iter().flatten().map(text).collect();
        let entry = (call.lane, call.id.clone(), uris);
        self.state().listens.insert(call.id.to_string(), entry);
        self.say(
            call.lane,
            &json!({ "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": { "notifications": filter, "_meta":
                    { "io.modelcontextprotocol/subscriptionId": call.id } } }),
        );
    }

    fn notified(self: &Arc<Self>, message: &Value) {
        match message["method"].as_str() {
            Some("notifications/cancelled") => {
                self.cancelled(&message["params"]["requestId"].to_string());
            }
            Some("notifications/initialized") if self.nature.asks_at_once => {
                // It wants to know all at once, and before anybody has called.
                let mind = self.clone();
                let task = tokio::spawn(async move {
                    let everything = mind.memory();
                    drop(mind.ask("elicitation/create", Lane::Connection, &everything, None));
                    mind.log(Lane::Connection, &everything);
                    drop(mind.ask("roots/list", Lane::Connection, &mind.memory(), None).await);
                    mind.log(Lane::Connection, &mind.memory());
                });
                let entry = (Lane::Connection, task.abort_handle(), true);
                self.state().tasks.insert("initialized".into(), entry);
            }
            _ => {}
        }
    }

    fn cancelled(&self, id: &str) {
        let mut state = self.state();
        state.listens.remove(id);
        if state.tasks.get(id).is_none_or(|(_, _, stubborn)| *stubborn) {
            return;
        }
        if let Some((_, task, _)) = state.tasks.remove(id) {
            task.abort();
        }
        let of_it = |(key, question): (&u64, &Question)| {
            (question.call.as_deref() == Some(id)).then_some(*key)
        };
        let open: Vec<u64> = state.questions.iter().filter_map(of_it).collect();
        drop(state);
        // Of the others it still takes an answer.
        for key in open.into_iter().filter(|key| key % 2 == 0) {
            let question = self.state().questions.remove(&key);
            let text = question.map(|question| question.text).unwrap_or_default();
            let reason = String::from_utf8_lossy(&text);
            let params = json!({ "requestId": key, "reason": reason });
            let message = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": params });
            self.say(Lane::Connection, &message);
        }
    }

    /// Nobody reads what comes on an exchange.
    pub(super) fn abandoned(&self, exchange: u64) {
        let mut state = self.state();
        state.past.insert(exchange);
        if !self.nature.modern {
            return;
        }
        let lane = Lane::Exchange(exchange);
        let on_it = state.tasks.iter().find(|(_, (of, ..))| *of == lane);
        let id = on_it.map(|(id, _)| id.clone());
        state.listens.retain(|_, (of, ..)| *of != lane);
        drop(state);
        if let Some(id) = id {
            self.cancelled(&id);
        }
    }

    /// The connection is over.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.over = true;
        for (_, task, _) in std::mem::take(&mut state.tasks).into_values() {
            task.abort();
        }
    }

    /// It dies.
    pub(super) fn die(&self) {
        // The gateway may have gone first.
        let _ = self.events.send(Event::Closed("it died".into()));
        self.end();
    }

    /// All that was told on this connection.
    pub(super) fn memory(&self) -> String {
        let remembered = self.remembered.lock().unwrap();
        remembered.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Asks something of a session; ready when it was answered.
    pub(super) fn ask(
        &self,
        method: &str,
        lane: Lane,
        memory: &str,
        call: Option<String>,
    ) -> oneshot::Receiver<()> {
        let (answered, was_answered) = oneshot::channel();
        let key = {
            let mut state = self.state();
            state.asked += 1;
            let text = memory.as_bytes().to_vec();
            let key = state.asked;
            state.questions.insert(key, Question { text, call, answered });
            key
        };
        let params = say::question(method, memory);
        let message = json!({ "jsonrpc": "2.0", "id": key, "method": method, "params": params });
        self.say(lane, &message);
        was_answered
    }

    fn answered(&self, message: &Value, bytes: &[u8]) {
        let question = message["id"].as_u64().and_then(|id| self.state().questions.remove(&id));
        if let Some(question) = question {
            self.evidence.answered(&question.text, bytes);
            // A call that asked and did not wait goes its way.
            let _ = question.answered.send(());
        }
    }

    pub(super) fn log(&self, lane: Lane, memory: &str) {
        let params = json!({ "level": "warning", "data": { "memory": memory } });
        let method = "notifications/message";
        self.say(lane, &json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Everything has changed that anybody has subscribed to.
    pub(super) fn change_everything(&self) {
        let minds = self.everywhere.lock().unwrap().clone();
        minds.iter().filter_map(Weak::upgrade).for_each(|mind| mind.tell_of_updates());
    }

    fn tell_of_updates(&self) {
        let memory = self.memory();
        let (subscriptions, listens) = {
            let state = self.state();
            (state.subscriptions.clone(), state.listens.clone())
        };
        let updated = |uri: &str, mut meta: Value| {
            meta["memory"] = json!(memory);
            json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated",
                "params": { "uri": uri, "_meta": meta } })
        };
        for uri in &subscriptions {
            self.say(Lane::Connection, &updated(uri, json!({})));
        }
        for (lane, id, uris) in listens.values() {
            for uri in uris {
                let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
                self.say(*lane, &updated(uri, meta));
            }
        }
    }

    /// Says something, where it can still be heard.
    pub(super) fn say(&self, lane: Lane, message: &Value) {
        let is_answer = message["method"].is_null();
        let lane = {
            let mut state = self.state();
            if state.over {
                return;
            }
            match lane {
                Lane::Exchange(exchange) if self.nature.lanes => {
                    if !state.past.contains(&exchange) {
                        if is_answer {
                            state.past.insert(exchange);
                        }
                        lane
                    } else if self.nature.modern || is_answer {
                        return;
                    } else {
                        Lane::Connection
                    }
                }
                _ => Lane::Connection,
            }
        };
        self.evidence.note(|| format!("  < server {lane:?} {message}"));
        let bytes = message.to_string().into();
        // The gateway may have gone.
        let _ = self.events.send(Event::Message { lane, bytes });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
