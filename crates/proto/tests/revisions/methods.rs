//! The method table is what the schemas say.

use crate::spec::{self, Spec};
use carrick_proto::method::Method;
use carrick_proto::revision::{Direction, Lifecycle, method_row};
use carrick_proto::rpc::{Limits, Scanned, scan};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn the_method_table_is_what_the_schemas_say() {
    let Some(specs) = spec::load("the method table compared with the schemas") else { return };
    for spec in &specs {
        for (sender, names) in [
            (Direction::FromClient, ["ClientRequest", "ClientNotification"].as_slice()),
            (Direction::FromServer, &["ServerRequest", "InputRequest", "ServerNotification"]),
        ] {
            let said: BTreeSet<&str> =
                names.iter().flat_map(|name| methods_of(spec, name)).collect();
            let known: BTreeSet<&str> = Method::ALL
                .iter()
                .filter(|&&method| {
                    let row = method_row(method).expect("a row");
                    let sends = row.direction == sender || row.direction == Direction::Both;
                    sends && row.exists_in(spec.revision) && !is_ignored(spec, method, sender)
                })
                .map(|method| method.name())
                .collect();
            assert_eq!(known, said, "{} {sender:?}", spec.revision);
        }
    }
}

/// Where servers send no requests, clients have no progress to report: such a
/// notification still comes to nothing, as any from a client does there.
fn is_ignored(spec: &Spec, method: Method, sender: Direction) -> bool {
    let per_request = spec.revision.rules().lifecycle == Lifecycle::PerRequest;
    per_request && sender == Direction::FromClient && method == Method::Progress
}

#[test]
fn results_that_may_be_kept_are_those_with_a_lifetime() {
    let Some(specs) = spec::load("caching compared with the schemas") else { return };
    let newest = specs.last().expect("a revision");
    for &method in Method::ALL {
        let Some((name, _)) = newest.message(method) else { continue };
        let result = name.replace("Request", "Result");
        let lives = newest
            .definitions
            .get(&result)
            .is_some_and(|result| result.pointer("/properties/ttlMs").is_some());
        assert_eq!(method_row(method).expect("a row").cacheable, lives, "{method:?}");
    }
}

/// The methods of a union of messages, or of the one message it is.
fn methods_of<'a>(spec: &'a Spec, union: &str) -> Vec<&'a str> {
    let Some(definition) = spec.definitions.get(union) else { return Vec::new() };
    let method = |message: &'a Value| {
        message.pointer("/properties/method/const").and_then(Value::as_str).expect("a method")
    };
    let Some(list) = definition.get("anyOf").and_then(Value::as_array) else {
        return vec![method(definition)];
    };
    let names = list.iter().map(|one| one["$ref"].as_str().expect("a reference"));
    names.map(|name| method(&spec.definitions[name.rsplit('/').next().expect("a name")])).collect()
}

/// Members whose names differ from those of the schemas only by case are told apart
/// by the scan: what it knows is what the schemas have.
#[test]
fn f42_the_names_that_a_scan_knows_are_those_of_the_schemas() {
    let Some(specs) = spec::load("the names of members compared with the schemas") else { return };
    let mut checked = 0;
    for spec in &specs {
        for (name, definition) in &spec.definitions {
            let is_message = definition.pointer("/properties/method/const").is_some();
            let (place, body) = match definition.pointer("/properties/params") {
                Some(params) if is_message => ("params", params),
                _ if name.ends_with("Result") => ("result", definition),
                _ => continue,
            };
            let properties = properties(spec, body);
            let meta = properties.get("_meta").map(|meta| self::properties(spec, meta));
            let named = properties.keys().map(|member| (member, false));
            let inner = meta.iter().flatten().map(|(member, _)| (member, true));
            for (member, in_meta) in named.chain(inner) {
                assert!(is_shadowed(place, member, in_meta), "{name}: {member} in {place}");
                checked += 1;
            }
        }
    }
    assert!(checked > 500, "{checked}");
}

fn is_shadowed(place: &str, member: &str, in_meta: bool) -> bool {
    let other = member.to_ascii_uppercase();
    let body = match in_meta {
        true => format!(r#"{{"_meta":{{"{other}":1}}}}"#),
        false => format!(r#"{{"{other}":1}}"#),
    };
    let method = if place == "params" { r#""method":"x","# } else { "" };
    let text = format!(r#"{{"jsonrpc":"2.0","id":1,{method}"{place}":{body}}}"#);
    match scan(text.into_bytes().into(), Limits::default()) {
        Ok(Scanned::One(message)) => message.shadows().len() == 1,
        other => panic!("{member}: {other:?}"),
    }
}

/// The properties of a schema and of those that it is made of.
fn properties(spec: &Spec, schema: &Value) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.rsplit('/').next().expect("a name");
        found.extend(properties(spec, &spec.definitions[name]));
    }
    for list in ["allOf", "anyOf"] {
        for part in schema[list].as_array().into_iter().flatten() {
            found.extend(properties(spec, part));
        }
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        found.insert(name.clone(), schema.clone());
    }
    found
}
