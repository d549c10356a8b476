//! No bytes from outside make an engine panic, or answer what it must not.

use super::*;
use proptest::prelude::*;

fn near_messages() -> impl Strategy<Value = String> {
    let id = prop_oneof![
        Just("0".to_string()),
        Just("1".into()),
        Just("\"\"".into()),
        Just("1.5".into()),
        Just("null".into()),
        Just("{}".into()),
    ];
    let method = prop_oneof![
        Just("initialize"),
        Just("ping"),
        Just("tools/call"),
        Just("server/discover"),
        Just("notifications/initialized"),
        Just("notifications/cancelled"),
        Just("notifications/progress"),
        Just("logging/setLevel"),
        Just("subscriptions/listen"),
        Just("resources/subscribe"),
        Just(""),
    ];
    let params = prop_oneof![
        Just("{}".to_string()),
        Just("null".into()),
        Just("[]".into()),
        Just(r#"{"requestId":1,"progressToken":1,"progress":1,"level":"info"}"#.into()),
        Just(r#"{"protocolVersion":"2025-11-25"}"#.into()),
        Just(json!({ "_meta": meta("2026-07-28") }).to_string()),
        Just(json!({ "_meta": meta("1") }).to_string()),
        Just(json!({ "uri": "a://b" }).to_string()),
        Just(json!({ "_meta": meta("2026-07-28"), "notifications": {} }).to_string()),
    ];
    let parts =
        (proptest::option::of(id), proptest::option::of(method), proptest::option::of(params));
    (parts, any::<bool>(), any::<bool>()).prop_map(|((id, method, params), result, error)| {
        let mut members = vec![r#""jsonrpc":"2.0""#.to_string()];
        members.extend(id.map(|id| format!("\"id\":{id}")));
        members.extend(method.map(|method| format!("\"method\":\"{method}\"")));
        members.extend(params.map(|params| format!("\"params\":{params}")));
        members.extend(result.then(|| r#""result":{}"#.to_string()));
        members.extend(error.then(|| r#""error":{"code":-32022,"message":""}"#.to_string()));
        format!("{{{}}}", members.join(","))
    })
}

proptest! {
    #[test]
    fn a_server_survives_any_conversation(lines in proptest::collection::vec(near_messages(), 0..20)) {
        let mut server = Server::new();
        for line in &lines {
            let before = server.sent.len();
            server.say_on(Lane::Connection, line);
            let said: Value = serde_json::from_str(line).unwrap();
            let answerable = said.get("id").is_some() || said.get("method").is_none();
            prop_assert!(answerable || server.sent.len() == before, "{} was answered", line);
            prop_assert!(server.sent.len() <= before + 1, "{} was answered twice", line);
        }
        for call in server.calls.clone() {
            server.respond(call.key, json!({}));
        }
        prop_assert_eq!(server.peer.in_flight(), 0);
    }

    #[test]
    fn a_client_survives_any_conversation(lines in proptest::collection::vec(near_messages(), 0..20)) {
        let mut client = Client::new(config());
        for line in &lines {
            client.say(line);
            client.pass(SECOND / 2);
        }
        client.peer.handle_closed("over");
        client.drain();
        let ends = client.heard.iter().filter(|output| matches!(output, ClientOutput::Failed(_)));
        let opened = client.heard.iter().any(|output| matches!(output, ClientOutput::Ready(_)));
        prop_assert_eq!(ends.count(), usize::from(!opened));
        prop_assert_eq!(client.peer.poll_timeout(), None);
    }

    #[test]
    fn any_bytes_are_survived_by_both(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut server = Server::in_session();
        server.peer.handle_input(Lane::Connection, bytes.clone().into());
        let mut client = Client::connected("2026-07-28");
        client.peer.handle_input(SECOND, Lane::Connection, bytes.into());
    }
}
