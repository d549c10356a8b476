//! Arguments against a tool's schema.

use carrick::validate::Schema;
use criterion::Criterion;
use micro::messages::text;
use serde_json::{Value, json};
use std::hint::black_box;

use crate::measure;

pub(crate) fn bench(criterion: &mut Criterion) {
    let schema = json!({ "type": "object", "properties": {
        "place": { "type": "string", "minLength": 1 },
        "limit": { "type": "integer", "minimum": 1, "maximum": 100 },
        "unit": { "enum": ["m", "km", "mi"] },
        "rows": { "type": "array", "items": { "type": "object", "properties": {
            "id": { "type": "integer" },
            "name": { "type": "string", "maxLength": 100 },
            "tags": { "type": "array", "items": { "type": "string" } },
        }, "required": ["id", "name"] } },
    }, "required": ["place"], "additionalProperties": false });
    let row = |id: usize| json!({ "id": id, "name": text(40), "tags": ["one", "two"] });
    let rows: Vec<Value> = (0..1000).map(row).collect();
    let raw = serde_json::value::to_raw_value(&schema);
    let raw = raw.unwrap_or_else(|error| panic!("a schema that is no JSON: {error}"));
    let compiled = Schema::new(&raw).unwrap_or_else(|error| panic!("{error}"));
    let mut group = criterion.benchmark_group("validate");
    for (name, arguments) in [
        ("small arguments", json!({ "place": "Lisbon", "limit": 5, "unit": "km" })),
        ("1,000 rows", json!({ "place": "Lisbon", "rows": rows })),
    ] {
        let written = arguments.to_string();
        measure(&mut group, "carrick check", name, written.len(), || {
            compiled.check(black_box(&arguments)).is_ok()
        });
        // Whoever checks a value has read it first.
        measure(&mut group, "limit reading it", name, written.len(), || {
            serde_json::from_str::<Value>(black_box(&written)).is_ok()
        });
    }
    measure(&mut group, "carrick compile", "the schema", raw.get().len(), || {
        Schema::new(black_box(&raw)).is_ok()
    });
    measure(&mut group, "limit reading it", "the schema", raw.get().len(), || {
        serde_json::from_str::<Value>(black_box(raw.get())).is_ok()
    });
    group.finish();
}
