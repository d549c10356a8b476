//! What `tools --long` says of a tool's arguments.

use super::first_paragraph;
use carrick::types::ToolAnnotations;
use carrick_host::permission::visible;
use serde_json::Value;

/// Objects within objects that are shown, and references that are followed.
const DEPTH: usize = 5;

/// Values of a choice that are listed; of a longer one this many, and how many more.
const VALUES: usize = 20;

/// Lines that one tool may have: a schema that refers to itself would have no end.
const LINES: usize = 500;

/// What the tool says it does to the world, as one line; none when it says nothing.
pub(super) fn hints(annotations: Option<&ToolAnnotations>) -> Option<String> {
    let hints = annotations?;
    let said = [
        (hints.read_only_hint, "only reads", "may change things"),
        (hints.destructive_hint, "may destroy something", "destroys nothing"),
        (hints.idempotent_hint, "a repeat changes nothing more", "a repeat does it again"),
        (hints.open_world_hint, "reaches beyond this machine", "reaches a closed set of things"),
    ];
    let said =
        said.iter().filter_map(|(hint, yes, no)| hint.map(|hint| if hint { yes } else { no }));
    let said: Vec<&str> = said.copied().collect();
    (!said.is_empty()).then(|| format!("    [it says of itself: {}]", said.join(", ")))
}

/// A line for each argument, those within objects indented below them.
pub(super) fn arguments(schema: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    Shown { root: schema, lines: &mut lines }.members(schema, 1);
    if lines.len() >= LINES {
        lines.push("    … (--json has the whole schema)".into());
    }
    lines
}

struct Shown<'a> {
    root: &'a Value,
    lines: &'a mut Vec<String>,
}

impl<'a> Shown<'a> {
    fn members(&mut self, schema: &'a Value, depth: usize) {
        let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
        for (name, member) in schema["properties"].as_object().into_iter().flatten() {
            if self.lines.len() >= LINES {
                return;
            }
            let member = self.resolved(member);
            let mark = if required.iter().any(|r| r == name) { "" } else { "?" };
            let text = member["description"].as_str().unwrap_or_default();
            let kind = self.kinds(member, depth);
            let bounds = bounds(member);
            let line = format!("{name}{mark}: {kind}{bounds}  {}", first_paragraph(text));
            self.lines.push(format!("{}{}", "    ".repeat(depth), visible(line.trim_end())));
            if depth < DEPTH {
                self.within(member, depth + 1);
            }
        }
    }

    /// The members of an object, or of the objects in a list or among which one chooses.
    fn within(&mut self, schema: &'a Value, depth: usize) {
        self.members(schema, depth);
        let items = self.resolved(&schema["items"]);
        self.members(items, depth);
        for choice in choices(schema) {
            let choice = self.resolved(choice);
            self.members(choice, depth);
        }
    }

    /// The schema that a reference within this one leads to.
    fn resolved(&self, schema: &'a Value) -> &'a Value {
        let mut schema = schema;
        for _ in 0..DEPTH {
            let Some(reference) = schema["$ref"].as_str() else { break };
            let Some(found) = reference.strip_prefix('#').and_then(|at| self.root.pointer(at))
            else {
                break;
            };
            schema = found;
        }
        schema
    }

    /// The types or values that a schema takes, such as `string`, `"a"|"b"` or
    /// `list of integer`.
    fn kinds(&self, schema: &'a Value, depth: usize) -> String {
        if let Some(values) = values(schema) {
            return values;
        }
        let mut kinds = match &schema["type"] {
            Value::String(kind) => vec![self.kind(kind, schema, depth)],
            Value::Array(kinds) => {
                let kinds = kinds.iter().filter_map(Value::as_str);
                kinds.map(|kind| self.kind(kind, schema, depth)).collect()
            }
            _ => Vec::new(),
        };
        if depth < DEPTH {
            let choices = choices(schema).filter(|choice| choice["type"] != "null");
            kinds.extend(choices.map(|choice| self.kinds(self.resolved(choice), depth + 1)));
        }
        // That a value may be null says no more than that it may be left out.
        kinds.retain(|kind| kind != "null");
        let mut known = std::collections::BTreeSet::new();
        kinds.retain(|kind| known.insert(kind.clone()));
        if kinds.is_empty() { "any".to_owned() } else { kinds.join("|") }
    }

    fn kind(&self, kind: &str, schema: &'a Value, depth: usize) -> String {
        match &schema["items"] {
            Value::Object(_) if kind == "array" && depth < DEPTH => {
                format!("list of {}", self.kinds(self.resolved(&schema["items"]), depth + 1))
            }
            _ if kind == "array" => "list".into(),
            _ => kind.to_owned(),
        }
    }
}

fn choices(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().flat_map(|name| schema[name].as_array().into_iter().flatten())
}

/// The values among which one chooses, where there is such a list.
fn values(schema: &Value) -> Option<String> {
    if let Some(only) = schema.get("const") {
        return Some(only.to_string());
    }
    let values = schema["enum"].as_array()?;
    let mut text: Vec<String> = values.iter().take(VALUES).map(Value::to_string).collect();
    if values.len() > VALUES {
        text.push(format!("… ({} more)", values.len() - VALUES));
    }
    Some(text.join("|"))
}

/// What else a value must be, and what it is when it is left out.
fn bounds(schema: &Value) -> String {
    let mut said = Vec::new();
    for (name, word) in [
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
        ("multipleOf", "a multiple of"),
    ] {
        if let Some(bound) = schema.get(name).filter(|bound| bound.is_number()) {
            said.push(format!("{word} {bound}"));
        }
    }
    for (least, most, of) in
        [("minLength", "maxLength", "characters"), ("minItems", "maxItems", "elements")]
    {
        match (schema[least].as_u64(), schema[most].as_u64()) {
            (Some(least), Some(most)) => said.push(format!("{least} to {most} {of}")),
            (Some(least), None) => said.push(format!("at least {least} {of}")),
            (None, Some(most)) => said.push(format!("at most {most} {of}")),
            (None, None) => {}
        }
    }
    said.extend(schema["format"].as_str().map(str::to_owned));
    said.extend(schema["pattern"].as_str().map(|pattern| format!("matches {pattern}")));
    said.extend(schema.get("default").map(|default| format!("default {default}")));
    if said.is_empty() { String::new() } else { format!(" ({})", said.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn kind(schema: &Value) -> String {
        let all = json!({ "properties": { "x": schema } });
        let lines = arguments(&all);
        lines[0].trim_start().trim_start_matches("x?: ").to_owned()
    }

    #[test]
    fn f76_types_and_values_are_told_whatever_their_form() {
        for (schema, expected) in [
            (json!({"type": "string"}), "string"),
            (json!({"type": ["integer", "null"]}), "integer"),
            (json!({"anyOf": [{"type": "number"}, {"type": "null"}]}), "number"),
            (json!({"oneOf": [{"type": "string"}, {"type": "integer"}]}), "string|integer"),
            (json!({"enum": [1, "a"], "type": "string"}), "1|\"a\""),
            (json!({"const": "only"}), "\"only\""),
            (
                json!({"enum": (0..25).collect::<Vec<_>>()}),
                "0|1|2|3|4|5|6|7|8|9|10|11|12|13|14|15|16|17|18|19|… (5 more)",
            ),
            (json!({"type": "array", "items": {"type": "integer"}}), "list of integer"),
            (json!({"type": "array", "items": {"enum": ["a"]}}), "list of \"a\""),
            (json!({"type": "array"}), "list"),
            (
                json!({"type": "integer", "minimum": 1, "maximum": 14, "default": 3}),
                "integer (at least 1, at most 14, default 3)",
            ),
            (
                json!({"type": "string", "format": "date", "minLength": 2, "default": ""}),
                "string (at least 2 characters, date, default \"\")",
            ),
            (json!(true), "any"),
        ] {
            assert_eq!(kind(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn f76_objects_within_are_shown_and_references_followed() {
        let schema = json!({
            "properties": {
                "a": { "type": "object", "required": ["b"], "properties": { "b": { "type": "string" } } },
                "c": { "type": "array", "items": { "$ref": "#/$defs/item" } },
            },
            "required": ["c"],
            "$defs": { "item": { "type": "object", "properties": { "d": { "const": 1 } } } },
        });
        assert_eq!(
            arguments(&schema),
            ["    a?: object", "        b: string", "    c: list of object", "        d?: 1"]
        );
    }

    #[test]
    fn f76_a_schema_that_refers_to_itself_ends() {
        let schema = json!({
            "properties": { "a": { "$ref": "#" }, "b": { "$ref": "#" }, "c": { "$ref": "#/x" }, "d": { "$ref": "#" } },
        });
        let lines = arguments(&schema);
        assert!(lines.len() <= LINES + 1, "{}", lines.len());
        assert!(lines.iter().all(|line| !line.contains("                        ")));
        let looped = json!({ "properties": { "a": { "$ref": "#/properties/a" } } });
        assert_eq!(arguments(&looped), ["    a?: any"]);
    }

    #[test]
    fn f76_hints_are_told_as_the_servers_own_words() {
        let mut annotations = ToolAnnotations::default();
        assert_eq!(hints(None), None);
        assert_eq!(hints(Some(&annotations)), None);
        annotations.read_only_hint = Some(true);
        annotations.open_world_hint = Some(false);
        assert_eq!(
            hints(Some(&annotations)).unwrap(),
            "    [it says of itself: only reads, reaches a closed set of things]"
        );
    }
}
