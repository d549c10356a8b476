//! The published schemas, made strict, and a validator for each part.

use carrick_proto::method::Method;
use carrick_proto::revision::{Part, Revision};
use jsonschema::Validator;
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::rc::Rc;

/// One revision's definitions.
pub(crate) struct Spec {
    pub(crate) revision: Revision,
    /// As published.
    pub(crate) definitions: Map<String, Value>,
    /// Where they stand in the document: `definitions` or `$defs`.
    key: &'static str,
    dialect: Value,
    strict: Map<String, Value>,
    validators: RefCell<HashMap<String, Rc<Validator>>>,
}

/// Where the schemas are, if they are there; otherwise says what is left out, unless
/// somebody counts on it: whoever names the folder, and whoever sets `CI`.
pub(crate) fn folder(left_out: &str) -> Option<PathBuf> {
    let named = std::env::var_os("CARRICK_SPEC_DIR");
    let must = named.is_some() || std::env::var_os("CI").is_some_and(|ci| is_on(&ci));
    let folder = named.map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/spec"),
        PathBuf::from,
    );
    if folder.is_dir() {
        return Some(folder);
    }
    assert!(!must, "no schemas in {}: `cargo xtask spec` fetches them", folder.display());
    println!("left out: {left_out}; `cargo xtask spec` fetches the schemas");
    None
}

/// What build machines set `CI` to; some people set it to `false` or to nothing.
fn is_on(ci: &OsStr) -> bool {
    !ci.is_empty() && ci != "0" && ci != "false"
}

/// Every revision's schema, oldest first; none when they are not there.
pub(crate) fn load(left_out: &str) -> Option<Vec<Spec>> {
    let folder = folder(left_out)?;
    let read = |&revision: &Revision| {
        let path = folder.join(revision.date()).join("schema.json");
        let text = std::fs::read_to_string(&path).expect("a schema for every revision");
        Spec::new(revision, serde_json::from_str(&text).expect("a schema is JSON"))
    };
    Some(Revision::ALL.iter().map(read).collect())
}

impl Spec {
    fn new(revision: Revision, mut document: Value) -> Self {
        let key = if document.get("$defs").is_some() { "$defs" } else { "definitions" };
        let Value::Object(mut definitions) = document[key].take() else { panic!("no definitions") };
        merge(&mut definitions);
        // Published without null and fractions, for want of a way to say them.
        definitions.entry("JSONValue").and_modify(|any| *any = json!({}));
        let mut strict = definitions.clone();
        strict.iter_mut().for_each(|(name, schema)| close(name, schema));
        let dialect = document["$schema"].take();
        Self { revision, definitions, key, dialect, strict, validators: RefCell::default() }
    }

    /// The definition of the request or notification with this method.
    pub(crate) fn message(&self, method: Method) -> Option<(&String, &Value)> {
        self.definitions
            .iter()
            .find(|(_, d)| d.pointer("/properties/method/const") == Some(&json!(method.name())))
    }

    /// The schema of a part, as published; none where the revision has none.
    pub(crate) fn schema(&self, part: Part) -> Option<Value> {
        let reference = |name: &str| json!({"$ref": format!("#/{}/{name}", self.key)});
        let existing = |name: &str| self.definitions.contains_key(name).then(|| reference(name));
        match part {
            Part::Params(method) => {
                let (_, message) = self.message(method)?;
                Some(message.pointer("/properties/params").cloned().unwrap_or(json!({})))
            }
            Part::Result(method) => {
                let (name, _) = self.message(method)?;
                let name = name.strip_suffix("Request")?;
                existing(&format!("{name}Result")).or_else(|| existing("EmptyResult"))
            }
            Part::ClientCapabilities => existing("ClientCapabilities"),
            Part::ServerCapabilities => existing("ServerCapabilities"),
            Part::Implementation => existing("Implementation"),
            _ => None,
        }
    }

    /// What a value of this part breaks, in words; empty when nothing. Members
    /// that the revision does not name break something too, unless their names
    /// start with `x-` or the schema says that there may be any.
    pub(crate) fn faults(&self, part: Part, value: &Value) -> Vec<String> {
        let name = format!("{part:?}");
        let validator = self.validators.borrow().get(&name).cloned();
        let validator = validator.unwrap_or_else(|| {
            let built = Rc::new(self.validator(part));
            self.validators.borrow_mut().insert(name, built.clone());
            built
        });
        validator.iter_errors(value).map(|e| format!("{}: {e}", e.instance_path())).collect()
    }

    fn validator(&self, part: Part) -> Validator {
        let mut schema = self.schema(part).expect("the revision has this part");
        close("", &mut schema);
        self.allow_meta(&mut schema);
        let document = json!({
            "$schema": self.dialect,
            "allOf": [schema],
            (self.key): self.strict,
        });
        jsonschema::validator_for(&document).expect("a valid schema")
    }

    /// All params and results of sessions may have `_meta`, named or not.
    fn allow_meta(&self, schema: &mut Value) {
        if !self.revision.is_legacy() {
            return;
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let name = target.rsplit('/').next().unwrap_or_default();
            *schema = self.strict[name].clone();
        }
        for alternatives in ["anyOf", "allOf"] {
            let list = schema.get_mut(alternatives).and_then(Value::as_array_mut);
            list.into_iter().flatten().for_each(|one| self.allow_meta(one));
        }
        if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
            properties.entry("_meta").or_insert(json!({"type": "object"}));
        }
    }
}

/// Writes a definition that is several others at once as one.
fn merge(definitions: &mut Map<String, Value>) {
    let several = |definition: &Value| -> Option<Vec<String>> {
        let list = definition.get("allOf")?.as_array()?.iter();
        let names = list.map(|one| Some(one.get("$ref")?.as_str()?.rsplit('/').next()?.to_owned()));
        names.collect()
    };
    let merged: Vec<(String, Value)> = definitions
        .iter()
        .filter_map(|(name, definition)| {
            let mut all = json!({"type": "object", "properties": {}, "required": []});
            for part in several(definition)?.iter().map(|name| &definitions[name]) {
                let properties = all["properties"].as_object_mut()?;
                properties.extend(part["properties"].as_object()?.clone());
                let required = part["required"].as_array().into_iter().flatten().cloned();
                all["required"].as_array_mut()?.extend(required);
            }
            Some((name.clone(), all))
        })
        .collect();
    definitions.extend(merged);
}

/// Forbids members that a schema does not name where it does not say that
/// there may be others. What a tool says of its arguments is JSON Schema, whose
/// words are not the protocol's; `_meta` is everybody's.
fn close(name: &str, schema: &mut Value) {
    let Value::Object(object) = schema else {
        let list = schema.as_array_mut().into_iter().flatten();
        return list.for_each(|inner| close("", inner));
    };
    let named = object.get("properties").is_some_and(|p| p != &json!({}));
    let open = name.ends_with("MetaObject");
    if named && !open && !object.contains_key("additionalProperties") {
        object.insert("additionalProperties".into(), json!(false));
        object.insert("patternProperties".into(), json!({"^x-": {}}));
    }
    for (member, inner) in object.iter_mut() {
        match inner {
            Value::Object(properties) if member == "properties" => properties
                .iter_mut()
                .filter(|(property, _)| name != "Tool" || !property.ends_with("Schema"))
                .for_each(|(_, inner)| close("", inner)),
            _ => close("", inner),
        }
    }
}
