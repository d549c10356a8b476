//! Types for values that were written without any.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::value::RawValue;

/// Gives top-level values the types that `schema` asks for.
///
/// In the form `<function=…><parameter=…>` a value is text; the decoder takes what looks
/// like JSON as JSON. Where the schema's `properties` name a type that the value does not
/// have, but has when read the other way (`3` as `"3"`, `"True"` as `true`), it is read
/// that way. All else, and what has no such type, stays as it is.
pub fn fit(arguments: &RawValue, schema: &str) -> Box<RawValue> {
    let unchanged = || arguments.to_owned();
    let Ok(schema) = serde_json::from_str::<Schema<'_>>(schema) else { return unchanged() };
    let Ok(members) = serde_json::from_str::<Members<'_>>(arguments.get()) else {
        return unchanged();
    };
    let written: Vec<String> = members
        .0
        .iter()
        .map(|(name, value)| {
            let types = schema.properties.get(name).map(|p| p.types()).unwrap_or_default();
            let value = fit_value(value.get(), &types);
            format!("{}:{value}", serde_json::Value::from(name.as_str()))
        })
        .collect();
    RawValue::from_string(format!("{{{}}}", written.join(","))).unwrap_or_else(|_| unchanged())
}

#[derive(Deserialize)]
struct Schema<'a> {
    #[serde(borrow, default)]
    properties: HashMap<String, Property<'a>>,
}

#[derive(Deserialize)]
#[serde(transparent)]
struct Property<'a>(#[serde(borrow)] &'a RawValue);

impl Property<'_> {
    fn types(&self) -> Vec<String> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Types {
            One(String),
            Several(Vec<String>),
        }
        #[derive(Deserialize)]
        struct Typed {
            r#type: Types,
        }
        match serde_json::from_str::<Typed>(self.0.get()) {
            Ok(Typed { r#type: Types::One(one) }) => vec![one],
            Ok(Typed { r#type: Types::Several(several) }) => several,
            Err(_) => Vec::new(),
        }
    }
}

/// The members of an object in their order.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                mut map: A,
            ) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(members)
            }
        }

        deserializer.deserialize_map(Visitor).map(Members)
    }
}

fn fit_value(value: &str, types: &[String]) -> String {
    if types.is_empty() || has_type(value, types) {
        return value.to_owned();
    }
    match serde_json::from_str::<String>(value) {
        Ok(text) => {
            let text = text.trim();
            // Python's way of writing them.
            let literal = match text {
                "True" => "true",
                "False" => "false",
                "None" => "null",
                _ => text,
            };
            if has_type(literal, types) { literal.to_owned() } else { value.to_owned() }
        }
        Err(_) if types.iter().any(|t| t == "string") => serde_json::Value::from(value).to_string(),
        Err(_) => value.to_owned(),
    }
}

/// Whether `value` is JSON of one of `types`.
fn has_type(value: &str, types: &[String]) -> bool {
    let Ok(value) = serde_json::from_str::<serde_json::Value>(value) else { return false };
    types.iter().any(|name| match name.as_str() {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(arguments: &str, schema: &str) -> String {
        let arguments = RawValue::from_string(arguments.to_owned()).unwrap();
        fit(&arguments, schema).get().to_owned()
    }

    #[test]
    fn values_take_the_type_asked_for() {
        let schema = r#"{"properties":{"s":{"type":"string"},"n":{"type":"integer"},"b":{"type":["boolean","null"]},
            "a":{"type":"array"},"x":{"anyOf":[]}}}"#;
        let arguments = r#"{"s":1.0,"n":" 3 ","b":"True","a":"[1, 2]","x":5,"y":"6"}"#;
        let expected = r#"{"s":"1.0","n":3,"b":true,"a":[1, 2],"x":5,"y":"6"}"#;
        assert_eq!(fitted(arguments, schema), expected);
        assert_eq!(fitted(expected, schema), expected);
        assert_eq!(fitted(r#"{"s":{"a": "b"}}"#, schema), r#"{"s":"{\"a\": \"b\"}"}"#);
    }

    #[test]
    fn what_cannot_be_fitted_stays() {
        let schema = r#"{"properties":{"n":{"type":"integer"},"b":{"type":"boolean"}}}"#;
        for arguments in [r#"{"n":"three","b":1}"#, r#"{"n":"3.5"}"#, "{}"] {
            assert_eq!(fitted(arguments, schema), arguments);
        }
        assert_eq!(fitted(r#"{"n":"3"}"#, "true"), r#"{"n":"3"}"#);
        assert_eq!(fitted(r#"{"n":"3"}"#, r#"{"type":"object"}"#), r#"{"n":"3"}"#);
    }
}
