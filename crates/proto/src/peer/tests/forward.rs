//! Both engines back to back, as a gateway has them: what comes in on one side
//! goes out on the other.

use super::*;
use crate::revision::Revision;
use crate::rpc::{Id, Message, Scanned, scan};

const OLDEST: &str = "2024-11-05";
const SESSIONS: &str = "2025-11-25";
const MODERN: &str = "2026-07-28";

/// A gateway's two engines; the test is the client and the server beside them.
struct Between {
    front: ServerPeer,
    back: ClientPeer,
    client: String,
    server: String,
    calls: Vec<Call>,
    /// Lines for the client, as they are written.
    to_client: Vec<String>,
    to_server: Vec<String>,
    heard: Vec<ClientOutput>,
    replied: Vec<(AskKey, Reply)>,
}

impl Between {
    fn new(client: &str, server: &str) -> Self {
        let mut config = config();
        config.forwarding = true;
        config.capabilities = r#"{"elicitation":{},"sampling":{}}"#.into();
        let mut between = Self {
            front: ServerPeer::new(identity(), Limits::default()),
            back: ClientPeer::new(config),
            client: client.into(),
            server: server.into(),
            calls: Vec::new(),
            to_client: Vec::new(),
            to_server: Vec::new(),
            heard: Vec::new(),
            replied: Vec::new(),
        };
        between.open();
        between
    }

    fn open(&mut self) {
        if self.client != MODERN {
            self.say(&format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{}","capabilities":{{"elicitation":{{}}}},"clientInfo":{{"name":"c","version":"0"}}}}}}"#,
                self.client
            ));
            self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        }
        let era = if self.server == MODERN { Era::Modern } else { Era::Legacy };
        self.back.connect(Duration::ZERO, Some(era));
        self.drain();
        let result = match era {
            Era::Modern => json!({ "supportedVersions": [MODERN], "capabilities": {} }),
            Era::Legacy => initialized(&self.server),
        };
        self.hear(&json!({ "jsonrpc": "2.0", "id": 1, "result": result }).to_string());
        self.to_client.clear();
        self.to_server.clear();
        self.heard.clear();
    }

    /// The client says this.
    fn say(&mut self, line: &str) {
        self.front.handle_input(Lane::Connection, Bytes::copy_from_slice(line.as_bytes()));
        self.drain();
    }

    /// The server says this.
    fn hear(&mut self, line: &str) {
        let lane = Lane::Connection;
        self.back.handle_input(Duration::ZERO, lane, Bytes::copy_from_slice(line.as_bytes()));
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.front.poll_output() {
            match output {
                ServerOutput::Send { bytes, .. } => {
                    self.to_client.push(String::from_utf8(bytes).unwrap());
                }
                ServerOutput::Call(call) => self.calls.push(call),
                ServerOutput::AskReplied(ask, reply) => self.replied.push((ask, reply)),
                _ => {}
            }
        }
        while let Some(output) = self.back.poll_output() {
            match output {
                ClientOutput::Send { bytes, .. } => {
                    self.to_server.push(String::from_utf8(bytes).unwrap());
                }
                other => self.heard.push(other),
            }
        }
    }

    /// The call that the client has just made is passed on; what the server gets.
    fn pass(&mut self) -> (CallKey, String) {
        let call = self.calls.pop().unwrap();
        let key = call.key;
        let mut forward = Forward::new(call.message, call.revision);
        forward.caller = Caller {
            info: call.client_info,
            capabilities: call.client_capabilities,
            log: call.log,
        };
        self.back.forward(Duration::ZERO, forward);
        self.drain();
        (key, self.to_server.pop().unwrap())
    }

    /// The server answers with this, which is passed back; what the client gets.
    fn back(&mut self, key: CallKey, line: &str) -> String {
        self.hear(line);
        let Some(ClientOutput::Forwarded(_, reply)) = self.heard.pop() else {
            panic!("no answer: {:?}", self.heard)
        };
        self.front.respond(key, Outcome::Forwarded(reply));
        self.drain();
        self.to_client.pop().unwrap()
    }
}

fn message(line: &str) -> Message {
    match scan(Bytes::copy_from_slice(line.as_bytes()), Limits::default()) {
        Ok(Scanned::One(message)) => message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn between_two_of_one_revision_only_id_and_token_change() {
    let mut between = Between::new(MODERN, MODERN);
    let params = |token: &str| {
        format!(
            r#"{{ "name":"a" , "extra":1.50, "_meta":{{"progressToken":{token},"x/y":[1e2],"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{"z":1}},"traceparent":"00-1"}}, "arguments":{{"n":1.0,"n":2}} }}"#
        )
    };
    between.say(&format!(
        r#"{{"jsonrpc":"2.0","id":"one","method":"tools/call","params":{}}}"#,
        params("\"t\"")
    ));
    let (key, sent) = between.pass();
    let expected =
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}}"#, params("2"));
    assert_eq!(sent, expected);
    let result = r#"{ "resultType":"complete","content":[],"new":{"a":1.000}, "_meta":{"k":0} }"#;
    let got = between.back(key, &format!(r#"{{"result":{result},"id":2,"jsonrpc":"2.0"}}"#));
    assert_eq!(got, format!(r#"{{"jsonrpc":"2.0","id":"one","result":{result}}}"#));
}

#[test]
fn a_session_in_front_of_a_server_without_says_it_in_each_request() {
    let mut between = Between::new(SESSIONS, MODERN);
    between.say(r#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"_meta":{"progressToken":0,"k":"v"}}}"#);
    let (key, sent) = between.pass();
    assert_eq!(
        sent,
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientInfo":{{"name":"c","version":"0"}},"io.modelcontextprotocol/clientCapabilities":{{"elicitation":{{}}}},"io.modelcontextprotocol/logLevel":"info","progressToken":2,"k":"v"}}}}}}"#
        )
    );
    let got = between.back(
        key,
        r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"public"}}"#,
    );
    assert_eq!(got, r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#);
    between.say(r#"{"jsonrpc":"2.0","id":8,"method":"prompts/list"}"#);
    let (_, sent) = between.pass();
    assert!(sent.contains(r#""params":{"_meta":{"io.modelcontextprotocol/protocolVersion""#));
    assert!(!sent.contains("progressToken"), "none was given: {sent}");
}

#[test]
fn a_request_without_a_session_says_less_in_one() {
    let mut between = Between::new(MODERN, OLDEST);
    let meta = meta(MODERN);
    between.say(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": meta } })
            .to_string(),
    );
    let (key, sent) = between.pass();
    assert_eq!(sent, r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{}}}"#);
    let got = between.back(key, r#"{"jsonrpc":"2.0","id":2,"result":{"tools":[],"y":2}}"#);
    let expected = json!({ "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
        "tools": [], "y": 2, "_meta": { "io.modelcontextprotocol/serverInfo":
            { "name": "test-server", "version": "1" } } });
    assert_eq!(value(got.as_bytes())["result"], expected);
}

#[test]
fn errors_keep_their_words_and_get_the_code_of_the_revision() {
    let mut between = Between::new(MODERN, SESSIONS);
    let meta = meta(MODERN);
    let params = json!({ "uri": "x://y", "_meta": meta });
    between.say(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": params })
            .to_string(),
    );
    let (key, _) = between.pass();
    let got = between.back(
        key,
        r#"{"jsonrpc":"2.0","id":2,"error":{"message":"no such","code":-32002,"data":{"n":1.0}}}"#,
    );
    assert_eq!(
        got,
        r#"{"jsonrpc":"2.0","id":1,"error":{"message":"no such","code":-32602,"data":{"n":1.0}}}"#
    );
}

#[test]
fn an_answer_that_has_no_form_in_the_clients_revision_is_an_error() {
    let mut between = Between::new(SESSIONS, MODERN);
    between.say(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}"#);
    let (key, _) = between.pass();
    let got = between
        .back(key, r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"novel","content":[]}}"#);
    assert_eq!(value(got.as_bytes())["error"]["code"], -32603, "{got}");
}

#[test]
fn d001_members_that_differ_by_case_only_are_not_passed_on() {
    let mut between = Between::new(SESSIONS, SESSIONS);
    between.say(
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","Method":"evil","params":{"Name":"danger_run","name":"safe_echo","arguments":{"Name":1}}}"#,
    );
    let (_, sent) = between.pass();
    assert_eq!(
        sent,
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"safe_echo","arguments":{"Name":1}}}"#
    );
}

#[test]
fn d051_progress_comes_back_under_the_token_that_was_given() {
    let mut between = Between::new(SESSIONS, OLDEST);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":"mine"}}}"#;
    between.say(call);
    let (key, sent) = between.pass();
    assert!(sent.contains(r#""progressToken":2"#), "{sent}");
    let progress = |n: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":2,"progress":{n},"total":1.50}}}}"#
        )
    };
    for (n, passes) in [("0.5", true), ("0.5", false), ("1e0", true)] {
        between.hear(&progress(n));
        let Some(ClientOutput::Notified { call: Some(2), message }) = between.heard.pop() else {
            panic!("{:?}", between.heard)
        };
        between.front.pass_notice(Some(key), &message, Revision::from_date(OLDEST).unwrap());
        between.drain();
        let expected = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":"mine","progress":{n},"total":1.50}}}}"#
        );
        assert_eq!(between.to_client.pop(), passes.then_some(expected));
    }
    between.hear(&progress("9").replace("\"progressToken\":2", "\"progressToken\":99"));
    assert!(matches!(between.heard.pop(), Some(ClientOutput::Ignored { .. })));
}

#[test]
fn logs_pass_from_the_level_that_was_asked_for() {
    let mut between = Between::new(SESSIONS, SESSIONS);
    let revision = Revision::from_date(SESSIONS).unwrap();
    let log = |level: &str| {
        let params = json!({ "level": level, "data": 1 });
        message(
            &json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
                .to_string(),
        )
    };
    between.front.pass_notice(None, &log("debug"), revision);
    between.front.pass_notice(None, &log("error"), revision);
    between.drain();
    assert_eq!(between.to_client.len(), 1);
    between.say(
        r#"{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"emergency"}}"#,
    );
    between.to_client.clear();
    between.front.pass_notice(None, &log("error"), revision);
    between.drain();
    assert!(between.to_client.is_empty());
}

#[test]
fn a_question_passes_to_a_session_and_its_answer_back() {
    let mut between = Between::new(SESSIONS, SESSIONS);
    let revision = Revision::from_date(SESSIONS).unwrap();
    between.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#);
    let (key, _) = between.pass();
    between.hear(
        r#"{"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"m","n":1.0}}"#,
    );
    let Some(ClientOutput::Asked { call: None, message: ask }) = between.heard.pop() else {
        panic!("{:?}", between.heard)
    };
    between.front.pass_ask(AskPlace::Of(key), &ask, revision).unwrap();
    between.drain();
    let put = between.to_client.pop().unwrap();
    assert_eq!(
        put,
        r#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","n":1.0}}"#
    );
    between.say(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"a":1.0}}}"#);
    let (_, reply) = between.replied.pop().unwrap();
    between.back.pass_answer(Duration::ZERO, &Id::Text("q".into()), &reply);
    between.drain();
    assert_eq!(
        between.to_server.pop().unwrap(),
        r#"{"jsonrpc":"2.0","id":"q","result":{"action":"accept","content":{"a":1.0}}}"#
    );
    // It is answered: a second answer meets no question.
    between.back.pass_answer(Duration::ZERO, &Id::Text("q".into()), &reply);
    between.drain();
    assert!(between.to_server.is_empty());
}

#[test]
fn the_end_of_a_call_takes_its_questions_back() {
    let mut between = Between::new(SESSIONS, SESSIONS);
    let revision = Revision::from_date(SESSIONS).unwrap();
    between.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#);
    let (key, _) = between.pass();
    let ask = message(r#"{"jsonrpc":"2.0","id":5,"method":"roots/list"}"#);
    between.front.pass_ask(AskPlace::Of(key), &ask, revision).unwrap();
    between.front.pass_ask(AskPlace::Beside(key), &ask, revision).unwrap();
    between.drain();
    between.to_client.clear();
    between.back(key, r#"{"jsonrpc":"2.0","id":2,"result":{"content":[]}}"#);
    assert_eq!(
        between.to_client,
        [r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#]
    );
}

#[test]
fn what_cannot_be_sent_ends_at_once() {
    let mut between = Between::new(SESSIONS, MODERN);
    let request = message(
        r#"{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a:b"}}"#,
    );
    let id = between
        .back
        .forward(Duration::ZERO, Forward::new(request, Revision::from_date(SESSIONS).unwrap()));
    between.drain();
    assert!(between.to_server.is_empty());
    assert!(
        matches!(between.heard.pop(), Some(ClientOutput::Resolved(of, Err(CallError::NotOffered(_)))) if of == id)
    );
}

#[test]
fn f40_a_session_results_type_means_nothing_to_a_client_without() {
    let mut between = Between::new(MODERN, SESSIONS);
    let meta = meta(MODERN);
    let request = |id: u64, method: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method,
                "params": { "name": "a", "_meta": meta } })
        .to_string()
    };
    between.say(&request(1, "tools/call"));
    let (key, _) = between.pass();
    let typed = r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"resultType":"input_required","inputRequests":{}}}"#;
    let reply = |revision| Reply::new(message(typed), Revision::from_date(revision).unwrap());
    assert!(!reply(SESSIONS).unwrap().is_input_required());
    assert!(reply(MODERN).unwrap().is_input_required());
    let got = between.back(key, typed);
    assert_eq!(value(got.as_bytes())["result"]["resultType"], "complete", "{got}");
    let mut between = Between::new(MODERN, MODERN);
    between.say(&request(1, "tools/list"));
    between.pass();
    let round = r#"{"resultType":"input_required","requestState":"s"}"#;
    between.hear(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{round}}}"#));
    let heard = between.heard.pop();
    assert!(
        matches!(heard, Some(ClientOutput::Resolved(_, Err(CallError::Protocol(_))))),
        "{heard:?}"
    );
}

#[test]
fn f42_what_a_hop_says_is_replaced_where_it_lies_after_a_member_was_taken_out() {
    let mut between = Between::new(MODERN, MODERN);
    between.say(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"Arguments":{{"x":1}},"name":"a","_meta":{{"k":1,"progressToken":"mine","io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}}}},"arguments":{{}}}}}}"#
    ));
    let (_, sent) = between.pass();
    assert_eq!(
        sent,
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"a","_meta":{{"k":1,"progressToken":2,"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}}}},"arguments":{{}}}}}}"#
        )
    );
}

#[test]
fn f42_members_that_differ_by_case_are_not_passed_on() {
    let mut between = Between::new(MODERN, MODERN);
    between.say(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"Id":3,"method":"tools/call","params":{{"name":"a","Arguments":{{"x":1}},"arguments":{{"Arguments":2}},"InputResponses":{{}},"_meta":{{"progresstoken":1,"IO.modelcontextprotocol/protocolVersion":"x","io.modelcontextprotocol/loglevel":"debug","io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}},"Own":1}}}}}}"#
    ));
    let (key, sent) = between.pass();
    assert_eq!(
        sent,
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"a","arguments":{{"Arguments":2}},"_meta":{{"io.modelcontextprotocol/protocolVersion":"{MODERN}","io.modelcontextprotocol/clientCapabilities":{{}},"Own":1}}}}}}"#
        )
    );
    let got = between.back(
        key,
        r#"{"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","Content":[1],"content":[],"structuredcontent":{},"ISERROR":true,"InputRequests":{},"Other":1,"_meta":{"IO.ModelContextProtocol/serverInfo":{},"k":0}}}"#,
    );
    assert_eq!(
        got,
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"Other":1,"_meta":{"k":0}}}"#
    );
}

#[test]
fn nothing_is_told_to_a_server_that_is_not_ready_to_hear_it() {
    let mut back = ClientPeer::new(config());
    back.connect(Duration::ZERO, Some(Era::Legacy));
    while back.poll_output().is_some() {}
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}"#;
    back.notify(&message(changed), Revision::from_date(SESSIONS).unwrap());
    assert!(back.poll_output().is_none(), "before the handshake is over");
}
