//! The faults that were found first, each by itself.

use crate::evidence::{Evidence, MARKERS};
use crate::server::{Memory, Nature, Worst};
use crate::support;
use carrick::transport::LineTransport;
use carrick_gateway::{Gateway, Sharing};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex, split};
use tokio::time::sleep;

const ALICE: usize = 0;
const BOB: usize = 1;

/// Servers of sessions: on stdio, and over HTTP.
const SERVERS: [Nature; 2] = [ON_STDIO, Nature { lanes: true, ..ON_STDIO }];
const ON_STDIO: Nature =
    Nature { modern: false, lanes: false, memory: Memory::Session, asks_at_once: false };

/// A client without a session that does as a test says.
struct Person {
    me: usize,
    abilities: Value,
    calls: u64,
    stream: BufReader<DuplexStream>,
    evidence: Evidence,
}

impl Person {
    fn new(me: usize, gateway: &Gateway, evidence: &Evidence) -> Self {
        let (ours, theirs) = duplex(1 << 20);
        let gateway = gateway.clone();
        tokio::spawn(async move {
            let (reader, writer) = split(theirs);
            let _ = carrick::serve(&gateway, LineTransport::new(reader, writer)).await;
        });
        let abilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
        Self { me, abilities, calls: 0, stream: BufReader::new(ours), evidence: evidence.clone() }
    }

    /// Calls the tool; its calls have the ids 1, 2 and so on.
    async fn call(&mut self, plan: &str, more: Value) {
        let mut params = json!({ "name": "run",
            "arguments": { "of": MARKERS[self.me], "plan": plan },
            "_meta": { "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/logLevel": "debug",
                "io.modelcontextprotocol/clientInfo": { "name": "c", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": self.abilities } });
        self.calls += 1;
        let id = self.calls;
        for (name, value) in more.as_object().unwrap() {
            params[name] = value.clone();
        }
        self.say(json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }))
            .await;
    }

    async fn cancel(&mut self) {
        self.say(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": { "requestId": 1 } }))
            .await;
    }

    async fn say(&mut self, message: Value) {
        self.stream.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// All that comes within ten seconds. Of the log only whose it is counts.
    async fn hear(&mut self) -> Vec<Value> {
        let mut heard = Vec::new();
        let mut line = String::new();
        let end = tokio::time::Instant::now() + Duration::from_secs(10);
        while let Ok(read) = tokio::time::timeout_at(end, self.stream.read_line(&mut line)).await {
            assert!(read.unwrap() > 0, "the gateway has gone");
            self.evidence.received(self.me, line.as_bytes());
            let message: Value = serde_json::from_str(&line).unwrap();
            line.clear();
            if message["method"] != "notifications/message" {
                heard.push(message);
            }
        }
        heard
    }
}

async fn two(server: Nature) -> (Evidence, Person, Person) {
    let evidence = Evidence::new(true);
    let server = Worst::new(server, evidence.clone());
    let gateway = support::gateway(server, Sharing::PerCall).await;
    let alice = Person::new(ALICE, &gateway, &evidence);
    let bob = Person::new(BOB, &gateway, &evidence);
    (evidence, alice, bob)
}

/// Bob has his own answer, and nothing else.
fn has_only_his_answer(heard: &[Value], evidence: &Evidence, case: &str) {
    let trace = evidence.trace();
    assert_eq!(heard.len(), 1, "{case}: {heard:?}\n{trace}");
    let text = &heard[0]["result"]["content"][0]["text"];
    assert_eq!(text, "tools/call:lapwing", "{case}: {heard:?}\n{trace}");
    assert_eq!(evidence.crossed(), None, "{case}\n{trace}");
}

const QUESTIONS: [&str; 6] = ["elicit", "gelicit", "sample", "gsample", "roots", "groots"];

#[tokio::test(start_paused = true)]
async fn f01_what_a_call_asks_that_was_given_up_is_put_to_nobody_else() {
    for server in SERVERS {
        for question in QUESTIONS {
            for stays in [true, false] {
                let case = format!("{question}, {server:?}, alice stays: {stays}");
                let (evidence, mut alice, mut bob) = two(server).await;
                alice.call(&format!("stubborn,w1000,{question},ok"), json!({})).await;
                sleep(Duration::from_millis(500)).await;
                if stays {
                    alice.cancel().await;
                } else {
                    drop(alice);
                }
                sleep(Duration::from_millis(10)).await;
                bob.call("w2000,ok", json!({})).await;
                has_only_his_answer(&bob.hear().await, &evidence, &case);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f01_what_a_parked_call_asks_after_its_time_is_put_to_nobody_else() {
    for server in SERVERS {
        for question in QUESTIONS {
            let case = format!("{question}, {server:?}");
            let (evidence, mut alice, mut bob) = two(server).await;
            alice.call(&format!("stubborn,elicit,w1000,{question},ok"), json!({})).await;
            let asked = &alice.hear().await[0];
            assert_eq!(asked["result"]["resultType"], "input_required", "{asked}");
            sleep(support::LONGEST / 4 - Duration::from_secs(10)).await;
            bob.call("w2000,ok", json!({})).await;
            has_only_his_answer(&bob.hear().await, &evidence, &case);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f02_what_one_call_logs_is_not_told_to_the_client_of_another() {
    let without_sessions =
        SERVERS.map(|server| Nature { modern: true, memory: Memory::Call, ..server });
    for server in SERVERS.into_iter().chain(without_sessions) {
        for can_be_asked in [true, false] {
            let (evidence, mut alice, mut bob) = two(server).await;
            if !can_be_asked {
                (alice.abilities, bob.abilities) = (json!({}), json!({}));
            }
            bob.call("w2000,ok", json!({})).await;
            alice.call("log,glog,ok,w100,log,glog,w100,log", json!({})).await;
            let case = format!("{server:?}, can be asked: {can_be_asked}");
            has_only_his_answer(&bob.hear().await, &evidence, &case);
            let answers = alice.hear().await;
            assert!(answers.iter().any(|message| message["id"] == 1), "{answers:?}");
            assert_eq!(evidence.crossed(), None, "{case}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f03_what_one_client_answered_does_not_answer_for_another() {
    for server in SERVERS {
        let (evidence, mut alice, mut bob) = two(server).await;
        for person in [&mut alice, &mut bob] {
            let marker = MARKERS[person.me];
            person.call("roots,ok", json!({})).await;
            let asked = person.hear().await.swap_remove(0);
            let question = &asked["result"]["inputRequests"]["ask_0"];
            assert_eq!(question["method"], "roots/list", "{server:?}: {asked}");
            let roots = json!({ "roots": [{ "uri": format!("file:///{marker}") }] });
            let more = json!({ "requestState": asked["result"]["requestState"],
                "inputResponses": { "ask_0": roots } });
            person.call("roots,ok", more).await;
            let done = person.hear().await.swap_remove(0);
            let text = &done["result"]["content"][0]["text"];
            let own = format!("answer:{marker} tools/call:{marker}");
            assert_eq!(*text, own, "{server:?}: {done}");
            assert_eq!(evidence.crossed(), None, "{server:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn f01_what_a_call_asks_is_put_to_its_own_client_beside_other_calls() {
    for server in SERVERS {
        let (evidence, mut alice, _) = two(server).await;
        alice.call("w15000,gelicit,ok", json!({})).await;
        alice.call("elicit,ok", json!({})).await;
        let asked = alice.hear().await.swap_remove(0);
        assert_eq!(asked["id"], 2, "{asked}");
        let more = json!({ "requestState": asked["result"]["requestState"],
            "inputResponses": { "ask_0": { "action": "decline" } } });
        alice.call("elicit,ok", more).await;
        // The call that was asked has ended when the other one asks.
        let heard = alice.hear().await;
        let of = |message: &Value| (message["id"].clone(), message["result"]["resultType"].clone());
        let heard: Vec<_> = heard.iter().map(of).collect();
        let expected = [(json!(3), json!("complete")), (json!(1), json!("input_required"))];
        assert_eq!(heard, expected, "{server:?}\n{}", evidence.trace());
    }
}
