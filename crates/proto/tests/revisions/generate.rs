//! Messages made from a schema, with what a schema does not mention: unknown
//! members, white space, escapes and numbers written in odd ways.

use crate::spec::Spec;
use carrick_proto::revision::Part;
use serde_json::{Map, Value};

/// Makes text that a schema allows.
pub(crate) struct Generator<'a> {
    spec: &'a Spec,
    state: u64,
    /// Out of 100, how likely an optional member is.
    optional: u64,
    unknown: u64,
}

/// How deep optional members go.
const DEPTH: u32 = 9;

impl<'a> Generator<'a> {
    /// A generator with some of the optional members, by chance.
    pub(crate) fn new(spec: &'a Spec, seed: u64) -> Self {
        Self { spec, state: seed, optional: 50, unknown: 0 }
    }

    /// A generator with every optional member.
    pub(crate) fn full(spec: &'a Spec, seed: u64) -> Self {
        Self { optional: 100, ..Self::new(spec, seed) }
    }

    /// A value of this part, or none where the revision has no such part.
    pub(crate) fn part(&mut self, part: Part) -> Option<String> {
        let schema = self.spec.schema(part)?;
        let mut out = String::new();
        self.value("", &schema, 0, &mut out);
        Some(out)
    }

    fn value(&mut self, name: &str, schema: &Value, depth: u32, out: &mut String) {
        if let Some(text) = self.special(name) {
            return out.push_str(&text);
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = target.rsplit('/').next().unwrap_or_default();
            let schema = &self.spec.definitions[target];
            return self.value(name, schema, depth, out);
        }
        if let Some(list) = schema.get("anyOf").or(schema.get("oneOf")).and_then(Value::as_array) {
            // Deep down the first alternative is a plain one.
            let at = if depth > DEPTH { 0 } else { self.below(list.len() as u64) as usize };
            return self.value(name, &list[at], depth, out);
        }
        if let Some(value) = schema.get("const") {
            return self.plain(value, out);
        }
        if let Some(list) = schema.get("enum").and_then(Value::as_array) {
            let at = self.below(list.len() as u64) as usize;
            return self.plain(&list[at], out);
        }
        let kind = match schema.get("type") {
            Some(Value::Array(kinds)) => kinds[self.below(kinds.len() as u64) as usize].as_str(),
            Some(kind) => kind.as_str(),
            None if schema.get("properties").is_some() => Some("object"),
            None => None,
        };
        match kind {
            Some("object") => self.object(schema, depth, out),
            Some("array") => self.array(schema, depth, out),
            Some("string") => self.string(schema, out),
            Some("integer") => out.push_str(&self.below(1 << 40).to_string()),
            Some("number") => out.push_str(self.pick(&["0.50", "1e0", "0", "1.0", "25e-2"])),
            Some("null") => out.push_str("null"),
            Some("boolean") => out.push_str(self.pick(&["true", "false"])),
            _ => self.anything(out),
        }
    }

    /// Members whose meaning the schema does not tell.
    fn special(&mut self, name: &str) -> Option<String> {
        let text = match name {
            "resultType" => r#""complete""#,
            "inputSchema" => self.pick(&[
                r#"{"type":"object"}"#,
                r#"{"type": "object", "properties": {"a": {"type": "string", "x-header": 1e0}}, "required": ["a"]}"#,
            ]),
            "outputSchema" => {
                r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"\u0061":{"minimum":0.50}}}"#
            }
            _ => return None,
        };
        Some(text.into())
    }

    fn object(&mut self, schema: &Value, depth: u32, out: &mut String) {
        let properties = schema.get("properties").and_then(Value::as_object);
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        out.push('{');
        let mut members = 0;
        for (name, inner) in properties.unwrap_or(&Map::new()) {
            let wanted = depth < DEPTH && self.below(100) < self.optional;
            if required.contains(&&**name) || wanted {
                self.member(&mut members, name, out);
                self.value(name, inner, depth + 1, out);
            }
        }
        match schema.get("additionalProperties") {
            Some(inner) if inner.as_object().is_some_and(|o| !o.is_empty()) => {
                for at in 0..self.below(3) * u64::from(depth < DEPTH) {
                    self.member(&mut members, &format!("k{at}"), out);
                    self.value("", inner, depth + 1, out);
                }
            }
            _ if self.below(3) == 0 => {
                self.unknown += 1;
                let name = format!("x-{}", self.unknown);
                self.member(&mut members, &name, out);
                self.anything(out);
            }
            _ => {}
        }
        out.push_str(self.pick(&["}", " }", "}"]));
    }

    fn member(&mut self, members: &mut u32, name: &str, out: &mut String) {
        if *members > 0 {
            out.push_str(self.pick(&[",", ", ", " ,\t"]));
        }
        *members += 1;
        // One name in some is written with an escape.
        match (self.below(8), name.chars().next()) {
            (0, Some(first)) if first.is_ascii() => {
                out.push_str(&format!("\"\\u{:04x}{}\"", first as u32, &name[1..]));
            }
            _ => out.push_str(&format!("\"{name}\"")),
        }
        out.push_str(self.pick(&[":", ": ", " : "]));
    }

    fn array(&mut self, schema: &Value, depth: u32, out: &mut String) {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0);
        let count = if depth > DEPTH { least } else { least + self.below(3) };
        out.push('[');
        for at in 0..count {
            if at > 0 {
                out.push_str(self.pick(&[",", ", "]));
            }
            self.value("", schema.get("items").unwrap_or(&Value::Null), depth + 1, out);
        }
        out.push(']');
    }

    fn string(&mut self, schema: &Value, out: &mut String) {
        out.push_str(match schema.get("format").and_then(Value::as_str) {
            Some("byte") => r#""UklGRg==""#,
            Some("uri") => self.pick(&[r#""file:///a""#, r#""https://a.example/?b=c""#]),
            Some("uri-template") => r#""file:///{path}""#,
            _ => {
                self.pick(&[r#""""#, r#""a""#, r#""\"a\" \u4e2d\n""#, r#""Grüße 🌍 \ud83c\udf0d""#])
            }
        });
    }

    fn anything(&mut self, out: &mut String) {
        out.push_str(self.pick(&[
            "null",
            "-0.0",
            "12345678901234567890123",
            "1E+2",
            r#""\/""#,
            r#"[ 1.50 , {"a":[]} ]"#,
            r#"{"title":"t","b": {"_meta" :{}} }"#,
        ]));
    }

    fn plain(&mut self, value: &Value, out: &mut String) {
        out.push_str(&value.to_string());
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len() as u64) as usize]
    }

    /// The next number below `bound`, which is not zero.
    fn below(&mut self, bound: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
