//! The method table is what the schemas say.

use crate::spec::{self, Spec};
use carrick_proto::method::Method;
use carrick_proto::revision::{Direction, Lifecycle, method_row};
use serde_json::Value;
use std::collections::BTreeSet;

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
