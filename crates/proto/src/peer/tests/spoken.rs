//! Servers that speak some revisions only.

use super::*;
use crate::revision::Revision;

fn speaking(revisions: &[Revision]) -> Server {
    let identity = Identity::clone(&identity()).speaking(revisions);
    let mut server = Server::new();
    server.peer = ServerPeer::new(Arc::new(identity), Limits::default());
    server
}

fn initialize(revision: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        { "protocolVersion": revision, "capabilities": {},
          "clientInfo": { "name": "t", "version": "0" } } })
}

#[test]
fn d045_a_server_without_sessions_refuses_the_handshake_and_names_its_revisions() {
    let mut server = speaking(&[Revision::NEWEST]);
    server.say(&initialize("2025-06-18"));
    let error = &server.sent[0]["error"];
    assert_eq!(error["code"], -32022);
    assert_eq!(error["data"]["supported"], json!([Revision::NEWEST.date()]));
    assert_eq!(error["data"]["requested"], "2025-06-18");
    server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover",
        "params": { "_meta": meta(Revision::NEWEST.date()) } }));
    let versions = &server.sent[1]["result"]["supportedVersions"];
    assert_eq!(versions, &json!([Revision::NEWEST.date()]));
}

#[test]
fn a_server_of_one_session_revision_answers_with_that_one() {
    let only = Revision::ALL[1];
    let mut server = speaking(&[only]);
    // What it knows nothing of means nothing.
    server.say(&json!({ "jsonrpc": "2.0", "id": 1, "method": "server/discover",
        "params": { "_meta": meta(Revision::NEWEST.date()) } }));
    let error = &server.sent[0]["error"];
    assert_eq!(error["code"], -32602, "no error of a newer server's: {error}");
    assert!(error["message"].as_str().unwrap().contains(only.date()));
    server.say(&initialize(Revision::NEWEST_HANDSHAKE.date()));
    assert_eq!(server.sent[1]["result"]["protocolVersion"], only.date());
}

#[test]
fn a_client_meets_each_of_them() {
    for revision in Revision::ALL {
        let mut server = speaking(&[*revision]);
        let mut client = Client::new(config());
        // The probe, its answer, and perhaps the handshake and its answer.
        for _ in 0..4 {
            for message in core::mem::take(&mut client.sent) {
                server.say(&message);
            }
            for message in core::mem::take(&mut server.sent) {
                client.say(&message.to_string());
            }
        }
        assert_eq!(client.ready().revision, *revision);
    }
}
