use super::*;

fn narrowed(schema: Value) -> Value {
    let schema = serde_json::value::to_raw_value(&schema).unwrap();
    serde_json::from_str(narrow(&schema).unwrap().get()).unwrap()
}

/// Every keyword in places where a schema stands.
fn keywords(schema: &Value, found: &mut Vec<String>) {
    let Some(members) = schema.as_object() else { return };
    for (keyword, value) in members {
        found.push(keyword.clone());
        match keyword.as_str() {
            "properties" => {
                value.as_object().unwrap().values().for_each(|one| keywords(one, found));
            }
            "anyOf" => value.as_array().unwrap().iter().for_each(|one| keywords(one, found)),
            "items" => keywords(value, found),
            _ => {}
        }
    }
}

#[test]
fn d123_what_some_providers_refuse_is_told_another_way() {
    let source = include_str!("../../../../../cases/handed/D123/schema.json");
    let out = narrowed(serde_json::from_str(source).unwrap());
    let mut found = Vec::new();
    keywords(&out, &mut found);
    let known =
        [KNOWN, &["type", "description", "properties", "items", "anyOf", "enum", "nullable"]];
    for keyword in &found {
        assert!(known.concat().contains(&keyword.as_str()), "{keyword} is left in {out}");
    }
    let property = |name: &str| &out["properties"][name];
    assert_eq!(property("d"), &json!({ "type": "string", "enum": ["a", "b"] }));
    assert_eq!(property("n"), &json!({ "type": "integer", "nullable": true, "minimum": 1 }));
    assert_eq!(property("k"), &json!({ "type": "string", "enum": ["x"] }));
    assert_eq!(
        property("m")["anyOf"],
        json!([{ "type": "string" }, { "type": "number", "description": "(less than: 5)" }])
    );
    assert_eq!(property("u")["description"], "(format: \"uri\")");
    assert_eq!(property("w"), &json!({ "type": "array", "items": { "type": "string" } }));
    assert_eq!(out["required"], json!(["d"]));
}

#[test]
fn d066_names_of_parameters_are_no_keywords() {
    let names =
        ["$ref", "type", "properties", "items", "const", "required", "additionalProperties"];
    let each = names.iter().map(|name| ((*name).to_owned(), json!({ "type": "string" })));
    let each: Map<String, Value> = each.collect();
    let out = narrowed(json!({ "type": "object", "properties": each, "required": names }));
    assert_eq!(out["properties"], Value::Object(each));
    assert_eq!(out["required"], json!(names));
}

#[test]
fn references_lead_within_the_schema_and_end() {
    let out = narrowed(json!({
        "$defs": { "node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/node" } } },
            "a b": { "type": "integer" } },
        "properties": { "list": { "$ref": "#/$defs/node" }, "n": { "$ref": "#/$defs/a%20b" },
            "self": { "$ref": "#" }, "away": { "$ref": "https://example.com/x" },
            "none": { "$ref": "#/$defs/none", "description": "Whatever." } },
    }));
    assert_eq!(out["properties"]["n"], json!({ "type": "integer" }));
    assert_eq!(out["properties"]["away"], json!({}));
    assert_eq!(out["properties"]["none"], json!({ "description": "Whatever." }));
    let mut found = Vec::new();
    keywords(&out, &mut found);
    assert!(!found.iter().any(|keyword| keyword == "$ref"));
}

#[test]
fn what_repeats_itself_many_times_stays_small() {
    let mut defs = Map::new();
    let text = "x".repeat(10_000);
    for n in 0..30 {
        let next = format!("#/$defs/{}", n + 1);
        let both = json!({ "a": { "$ref": next }, "b": { "$ref": next } });
        defs.insert(
            n.to_string(),
            json!({ "type": "object", "properties": both, "description": text }),
        );
    }
    let out = narrowed(json!({ "$defs": defs, "properties": { "all": { "$ref": "#/$defs/0" } } }));
    assert!(out.to_string().len() < 2 << 20, "{}", out.to_string().len());
}

#[test]
fn choices_and_parts_are_put_together() {
    let out = narrowed(json!({ "properties": {
        "maybe": { "anyOf": [{ "type": "string", "maxLength": 3 }, { "type": "null" }], "title": "T" },
        "kinds": { "type": ["string", "integer", "null"] },
        "both": { "allOf": [{ "type": "object", "properties": { "a": {} }, "required": ["a"] },
            { "properties": { "b": {} }, "required": ["b"] }] },
        "numbers": { "enum": [1, 2] },
        "either": { "enum": ["a", null] },
        "above": { "type": "number", "exclusiveMinimum": 0 },
        "text": { "type": "string", "properties": {}, "required": ["x"], "pattern": "^a" },
    } }));
    let property = |name: &str| &out["properties"][name];
    assert_eq!(
        property("maybe"),
        &json!({ "type": "string", "nullable": true, "title": "T", "description": "(maxLength: 3)" })
    );
    assert_eq!(
        property("kinds"),
        &json!({ "anyOf": [{ "type": "string" }, { "type": "integer" }], "nullable": true })
    );
    assert_eq!(property("both")["required"], json!(["a", "b"]));
    assert_eq!(property("both")["properties"], json!({ "a": {}, "b": {} }));
    assert_eq!(property("numbers"), &json!({ "description": "(enum: [1,2])" }));
    assert_eq!(property("either"), &json!({ "type": "string", "enum": ["a"], "nullable": true }));
    assert_eq!(property("above"), &json!({ "type": "number", "description": "(greater than: 0)" }));
    assert_eq!(property("text"), &json!({ "type": "string", "description": "(pattern: \"^a\")" }));
    assert_eq!(out["type"], "object");
}
