//! Results in another revision's shape.

use bytes::Bytes;
use carrick_proto::method::Method;
use carrick_proto::revision::{Part, Revision, translate};
use carrick_proto::rpc::{Json, Limits};
use criterion::Criterion;
use micro::messages::text;
use serde_json::{Value, json};
use std::hint::black_box;

use crate::{copying, measure, numbered};

const PAIRS: [(&str, Revision, Revision); 5] = [
    ("same revision", Revision::V2026_07_28, Revision::V2026_07_28),
    ("neighbour, up", Revision::V2025_11_25, Revision::V2026_07_28),
    ("neighbour, down", Revision::V2026_07_28, Revision::V2025_11_25),
    ("far, up", Revision::V2024_11_05, Revision::V2026_07_28),
    ("far, down", Revision::V2026_07_28, Revision::V2024_11_05),
];

pub(crate) fn bench(criterion: &mut Criterion) {
    let result = json!({ "content": [{ "type": "text", "text": text(10 << 10) }] });
    pairs(criterion, "translate result, 10 KiB", Method::ToolsCall, &result);
    let tools = json!({ "tools": numbered(30, tool).iter().map(|tool| {
        serde_json::from_str(tool).unwrap_or_default()
    }).collect::<Vec<Value>>() });
    pairs(criterion, "translate tools list, 30 tools", Method::ToolsList, &tools);
}

fn tool(number: usize) -> String {
    json!({
        "name": format!("tool_{number}"),
        "title": format!("Tool {number}"),
        "description": "Looks something up in a place that is named, and says what it found there.",
        "inputSchema": { "type": "object", "properties": {
            "place": { "type": "string", "description": "Where to look" },
            "limit": { "type": "integer", "minimum": 1, "default": 10 },
        }, "required": ["place"] },
        "outputSchema": { "type": "object", "properties": { "found": { "type": "string" } } },
        "annotations": { "readOnlyHint": true, "title": format!("Tool {number}") },
        "_meta": { "example.com/number": number },
    })
    .to_string()
}

fn pairs(criterion: &mut Criterion, name: &str, method: Method, legacy: &Value) {
    let mut group = criterion.benchmark_group(name);
    for (pair, from, to) in PAIRS {
        let mut written = legacy.clone();
        if from == Revision::V2026_07_28 {
            written["resultType"] = json!("complete");
            if method == Method::ToolsList {
                written["ttlMs"] = json!(0);
                written["cacheScope"] = json!("private");
            }
        }
        let bytes = Bytes::from(written.to_string());
        let Ok(json) = Json::parse(bytes.clone(), Limits::default()) else {
            panic!("a result that is no JSON")
        };
        measure(&mut group, "carrick", pair, bytes.len(), || {
            translate(json.clone(), Part::Result(method), from, to).is_ok()
        });
        measure(&mut group, "limit memcpy", pair, bytes.len(), copying(&bytes));
        measure(&mut group, "usual Value", pair, bytes.len(), || {
            let value: Value = serde_json::from_slice(black_box(&bytes)).unwrap_or_default();
            value.to_string().len()
        });
    }
    group.finish();
}
