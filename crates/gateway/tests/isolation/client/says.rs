//! The forms of what a client says.

use crate::random::Random;
use serde_json::{Value, json};

pub(super) const LEGACY: &str = "2025-11-25";
pub(super) const MODERN: &str = "2026-07-28";

/// What a client can do, with its marker or as any other would say it.
pub(super) fn abilities(marker: &str, marked: bool) -> Value {
    let mut abilities = json!({ "elicitation": {}, "sampling": {}, "roots": {} });
    if marked {
        abilities["experimental"] = json!({ marker: {} });
    }
    abilities
}

/// The `_meta` of a request that has nothing of its client's own but where the
/// protocol has a place for it, and now and then where it may have one later.
pub(super) fn plain_meta(random: &mut Random, marker: &str, id: u64, modern: bool) -> Value {
    let mut meta = json!({ "progressToken": format!("{marker}-{id}") });
    if modern {
        meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": marker, "version": "1" });
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
    }
    if random.percent(20) {
        meta["io.modelcontextprotocol/later"] = json!(marker);
    }
    meta
}

/// The `_meta` of a request.
pub(super) fn meta(random: &mut Random, marker: &str, id: u64, modern: bool) -> Value {
    let mut meta = json!({ "of": marker });
    match random.below(3) {
        0 => meta["progressToken"] = json!(format!("{marker}-{id}")),
        // As another may have it at the same time.
        1 => meta["progressToken"] = json!(id),
        _ => {}
    }
    if modern {
        meta["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": marker, "version": "1" });
        // Those of several clients are mostly the same.
        let abilities = match random.below(8) {
            0 => json!({}),
            1 => json!({ "elicitation": {} }),
            2 => abilities(marker, true),
            _ => abilities(marker, false),
        };
        meta["io.modelcontextprotocol/clientCapabilities"] = abilities;
        if random.percent(60) {
            meta["io.modelcontextprotocol/logLevel"] = json!("debug");
        }
    }
    meta
}

/// What the server is to do in a call.
pub(super) fn plan(random: &mut Random) -> String {
    const STEPS: [(&str, usize); 20] = [
        ("w1", 8),
        ("w200", 12),
        ("w2000", 4),
        ("elicit", 8),
        ("sample", 4),
        ("roots", 4),
        ("gelicit", 4),
        ("gsample", 2),
        ("groots", 2),
        ("nelicit", 3),
        ("nroots", 2),
        ("log", 12),
        ("glog", 5),
        ("prog", 8),
        ("updated", 9),
        ("changed", 1),
        ("bad", 2),
        ("err", 3),
        ("die", 1),
        ("stubborn", 6),
    ];
    let mut plan = Vec::new();
    for _ in 0..random.below(6) {
        plan.push(random.weighed(&STEPS));
    }
    // Now and then there is never an answer.
    if random.percent(93) {
        plan.push("ok");
    }
    let after = [
        ("w100", 3),
        ("w400", 3),
        ("log", 4),
        ("prog", 2),
        ("nelicit", 2),
        ("nroots", 1),
        ("ok", 1),
    ];
    if random.percent(40) {
        for _ in 0..1 + random.below(3) {
            plan.push(random.weighed(&after));
        }
    }
    plan.join(",")
}

/// The answer to a question.
pub(super) fn answer(random: &mut Random, marker: &str, id: &Value, method: &str) -> Value {
    if random.percent(8) {
        let error = json!({ "code": -1, "message": format!("{marker} will not say") });
        return json!({ "jsonrpc": "2.0", "id": id, "error": error });
    }
    let result = match method {
        "elicitation/create" if random.percent(15) => json!({ "action": "decline" }),
        "elicitation/create" => json!({ "action": "accept", "content": { "name": marker } }),
        "sampling/createMessage" => json!({ "role": "assistant", "model": marker,
            "content": { "type": "text", "text": marker } }),
        _ => {
            let uri = format!("file:///{marker}");
            json!({ "roots": [{ "uri": uri, "name": marker }] })
        }
    };
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}
