//! A client with a word of its own in all that it sends, which does whatever
//! clients do, in any order.

mod http;
mod known;
mod lines;
mod requests;
mod says;

use crate::evidence::{Evidence, MARKERS};
use crate::random::Random;
use carrick::server::Principal;
use carrick_gateway::Gateway;
use http::Posts;
use known::{Asked, Known, Round};
use lines::Pipe;
use requests::Requests;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// How a client is joined to the gateway.
pub(crate) enum Way {
    /// By a pipe, as over stdio, or by one for each request.
    Pipes(Gateway),
    /// At an address of HTTP.
    Http(carrick::net::HttpClient, String),
}

pub(crate) struct Client {
    me: usize,
    modern: bool,
    way: Way,
    /// Whom it acts for, if anybody knows.
    principal: Option<Principal>,
    wire: Option<Wire>,
    known: Arc<Known>,
    evidence: Evidence,
    /// The id of the next request. Every client counts from 1.
    next: u64,
}

enum Wire {
    Pipe(Pipe),
    Requests(Requests),
    Posts(Posts),
}

/// What a client may do next.
#[derive(Clone, Copy)]
enum Act {
    Call,
    Answer,
    Retry,
    Cancel,
    Ask,
    List,
    Subscribe,
    Level,
    Notify,
    Leave,
}

/// How often it does each.
const ACTS: [(Act, usize); 10] = [
    (Act::Call, 30),
    (Act::Answer, 25),
    (Act::Retry, 4),
    (Act::Cancel, 7),
    (Act::Ask, 12),
    (Act::List, 7),
    (Act::Subscribe, 10),
    (Act::Level, 3),
    (Act::Notify, 3),
    (Act::Leave, 3),
];

impl Client {
    pub(crate) fn new(me: usize, way: Way, random: &mut Random, evidence: Evidence) -> Self {
        let modern = random.percent(60);
        let is_known = random.percent(30);
        let principal = is_known.then(|| Principal::new("issuer", &format!("subject {me}")));
        let known = Arc::new(Known::new(me, modern, evidence.clone()));
        Self { me, modern, way, principal, wire: None, known, evidence, next: 1 }
    }

    /// Does one thing.
    pub(crate) async fn step(&mut self, random: &mut Random) {
        if self.known.is_gone() {
            self.leave();
        }
        if self.wire.is_none() {
            return self.enter(random).await;
        }
        match random.weighed(&ACTS) {
            Act::Call => self.call(random),
            Act::Answer if self.modern => self.retry(random, false),
            Act::Answer => self.answer(random),
            Act::Retry if self.modern => self.retry(random, true),
            Act::Retry => self.answer_late(random),
            Act::Cancel => self.cancel(random),
            Act::Ask => self.ask(random),
            Act::List => self.list(random),
            Act::Subscribe if self.modern => self.listen(random),
            Act::Subscribe => self.subscribe(random),
            Act::Level if !self.modern => {
                let level = random.pick(&["debug", "info", "emergency"]);
                self.request(random, "logging/setLevel", json!({ "level": level }));
            }
            Act::Level => self.request(random, "server/discover", json!({})),
            Act::Notify => self.notify(random),
            Act::Leave => self.leave(),
        }
    }

    /// The connection breaks, or the client goes away.
    fn leave(&mut self) {
        self.evidence.note(|| format!("{} leaves", self.marker()));
        self.wire = None;
        self.known = Arc::new(Known::new(self.me, self.modern, self.evidence.clone()));
    }

    async fn enter(&mut self, random: &mut Random) {
        self.evidence.note(|| format!("{} enters, modern: {}", self.marker(), self.modern));
        let (known, principal) = (self.known.clone(), self.principal.clone());
        let wire = match &self.way {
            Way::Pipes(gateway) if self.modern && random.percent(75) => {
                Wire::Requests(Requests::new(gateway.clone(), principal, known))
            }
            Way::Pipes(gateway) => Wire::Pipe(Pipe::open(gateway, principal, known)),
            Way::Http(http, url) => Wire::Posts(Posts::new(http.clone(), url.clone(), known)),
        };
        self.wire = Some(wire);
        if self.modern {
            return;
        }
        let params = json!({ "protocolVersion": says::LEGACY,
            "capabilities": says::abilities(self.marker(), true),
            "clientInfo": { "name": self.marker(), "version": "1" } });
        let message =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        self.known.asks(0, Asked { method: "initialize".into(), params });
        self.send(&message);
        for _ in 0..100 {
            if self.known.is_open() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if let Some(Wire::Posts(posts)) = &mut self.wire {
            posts.listen(random.percent(90));
        }
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized",
            "params": { "_meta": { "of": self.marker() } } }));
    }

    fn call(&mut self, random: &mut Random) {
        let plan = says::plan(random);
        let (method, params) = match random.below(4) {
            0 => {
                let uri = format!("memory://{}/{plan}", self.marker());
                ("resources/read", json!({ "uri": uri }))
            }
            1 => {
                let arguments = json!({ "of": self.marker(), "plan": plan });
                ("prompts/get", json!({ "name": "run", "arguments": arguments }))
            }
            _ => {
                let arguments = json!({ "of": self.marker(), "plan": plan, "n": self.next });
                let tool = random.weighed(&[("run", 8), ("mirrored", 1)]);
                ("tools/call", json!({ "name": tool, "arguments": arguments }))
            }
        };
        self.request(random, method, params);
    }

    /// Something that is answered and never asks.
    fn ask(&mut self, random: &mut Random) {
        match random.below(3) {
            0 => self.request(random, "vendor/unknown", json!({ "of": self.marker() })),
            _ => {
                let value = format!("{} {}", self.marker(), says::plan(random));
                let params = json!({ "ref": { "type": "ref/prompt", "name": "run" },
                    "argument": { "name": "plan", "value": value } });
                self.request(random, "completion/complete", params);
            }
        }
    }

    fn list(&mut self, random: &mut Random) {
        let list = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
        let cursor = match random.below(4) {
            0 => Some(format!("{} made it up", self.marker())),
            1 => self.known.cursor(random),
            _ => None,
        };
        let mut params = cursor.map_or(json!({}), |cursor| json!({ "cursor": cursor }));
        if random.percent(60) {
            // A request that any client could have sent.
            params["_meta"] = says::plain_meta(random, self.marker(), self.next, self.modern);
        }
        let method = random.pick(&list);
        self.request(random, method, params);
    }

    fn subscribe(&mut self, random: &mut Random) {
        let uri = self.uri(random);
        let subscribe = random.percent(75);
        let method = if subscribe { "resources/subscribe" } else { "resources/unsubscribe" };
        self.request(random, method, json!({ "uri": uri }));
    }

    fn listen(&mut self, random: &mut Random) {
        let uris = [self.uri(random), self.uri(random)];
        let filter = json!({ "toolsListChanged": true, "resourceSubscriptions": uris });
        self.request(random, "subscriptions/listen", json!({ "notifications": filter }));
    }

    fn uri(&self, random: &mut Random) -> String {
        format!("memory://{}/{}", self.marker(), random.below(2))
    }

    /// Answers what it was asked in a session, one way or another.
    fn answer(&mut self, random: &mut Random) {
        if let Some((id, method)) = self.known.take_question(random) {
            let answer = says::answer(random, self.marker(), &id, &method);
            self.send(&answer);
        }
    }

    /// Answers what it has answered before, or what was taken back.
    fn answer_late(&mut self, random: &mut Random) {
        if let Some((id, method)) = self.known.past_question(random) {
            let answer = says::answer(random, self.marker(), &id, &method);
            self.send(&answer);
        }
    }

    /// Comes back with answers; `again` when it has done so before.
    fn retry(&mut self, random: &mut Random, again: bool) {
        let round =
            if again { self.known.past_round(random) } else { self.known.take_round(random) };
        let Some(Round { asked, state, questions }) = round else { return };
        let mut params = asked.params;
        let mut answers = serde_json::Map::new();
        for (key, method) in questions {
            let answer = says::answer(random, self.marker(), &Value::Null, &method);
            // A refusal has no form here: the answer is missing.
            if let Some(result) = answer.get("result") {
                answers.insert(key, result.clone());
            }
        }
        params["inputResponses"] = Value::Object(answers);
        params["requestState"] = state;
        self.request(random, &asked.method, params);
    }

    fn cancel(&mut self, random: &mut Random) {
        let Some(id) = self.known.running(random) else { return };
        match &mut self.wire {
            Some(Wire::Posts(posts)) => posts.give_up(id),
            Some(Wire::Requests(requests)) => requests.give_up(id),
            Some(Wire::Pipe(_)) | None => {}
        }
        self.evidence.note(|| format!("{} gives {id} up", MARKERS[self.me]));
        if self.modern && !matches!(self.wire, Some(Wire::Pipe(_))) {
            return;
        }
        let params = json!({ "requestId": id, "reason": self.marker() });
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": params }));
    }

    fn notify(&mut self, random: &mut Random) {
        let marker = self.marker();
        let (method, params) = match random.below(3) {
            0 => ("notifications/roots/list_changed", json!({ "_meta": { "of": marker } })),
            1 => (
                "notifications/progress",
                json!({ "progressToken": 1, "progress": 1,
                "message": marker }),
            ),
            _ => ("notifications/vendor", json!({ "of": marker })),
        };
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn request(&mut self, random: &mut Random, method: &str, mut params: Value) {
        let id = self.next;
        self.next += 1;
        let kept = params.get("_meta").cloned();
        let kept = kept.filter(|kept| kept["of"].is_null() || random.percent(70));
        params["_meta"] =
            kept.unwrap_or_else(|| says::meta(random, self.marker(), id, self.modern));
        self.known.asks(id, Asked { method: method.into(), params: params.clone() });
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }

    fn send(&mut self, message: &Value) {
        self.evidence.note(|| format!("{} > {message}", MARKERS[self.me]));
        match &mut self.wire {
            Some(Wire::Pipe(pipe)) => pipe.send(message),
            Some(Wire::Requests(requests)) => requests.send(message),
            Some(Wire::Posts(posts)) => posts.send(message),
            None => {}
        }
    }

    fn marker(&self) -> &'static str {
        MARKERS[self.me]
    }
}
