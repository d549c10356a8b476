//! Which schemas lead to which, and so how much work a value can cause.
//!
//! A schema applies others to the same value (`allOf`, `$ref`) or to what the
//! value holds (`properties`, `items`). Names below `properties` are names,
//! whatever keyword they look like.

use super::SchemaError;
use serde_json::Value;
use std::collections::HashMap;

/// Most schemas within one.
const MAX_SCHEMAS: usize = 10_000;
/// Most schemas that may be applied, one inside another, to the same value.
const MAX_CHAIN: usize = 64;
/// Most schemas that one evaluation may look at, when each part of the value is
/// looked at through every reference to it. (The validator remembers results
/// where references form a circle, so those count once.)
const MAX_EXPANDED: u64 = 100_000;

/// Keywords whose value is a schema, a list of schemas, or a map of schemas
/// that apply to the same value.
const SAME_VALUE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// The same for what the value holds.
const PARTS: [&str; 10] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "items",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Those of both lists whose value is a map of names to schemas.
const MAPS: [&str; 4] = ["dependentSchemas", "dependencies", "patternProperties", "properties"];

/// All schemas that can be reached from one.
#[derive(Debug)]
pub(super) struct Graph {
    schemas: Vec<Edges>,
    /// The schemas, those first that others of the same value depend on.
    order: Vec<usize>,
    chain: usize,
}

/// Where a schema leads.
#[derive(Debug, Default)]
struct Edges {
    same_value: Vec<usize>,
    parts: Vec<usize>,
}

impl Graph {
    pub(super) fn new(root: &Value) -> Result<Self, SchemaError> {
        let schemas = Walk::new(root).run()?;
        let (order, chain) = in_order(&schemas)?;
        let graph = Self { schemas, order, chain };
        graph.check_expansion()?;
        Ok(graph)
    }

    /// The most schemas that are applied, one inside another, to one value.
    pub(super) fn longest_chain(&self) -> usize {
        self.chain
    }

    /// A bound on the schemas that are looked at on the way from a value to one
    /// that lies `depth` levels below.
    pub(super) fn cost(&self, depth: usize) -> u64 {
        let mut below = vec![0_u64; self.schemas.len()];
        for _ in 0..depth {
            let mut here = vec![0_u64; self.schemas.len()];
            for &at in &self.order {
                let edges = &self.schemas[at];
                let same = edges.same_value.iter().map(|to| here[*to]);
                let parts = edges.parts.iter().map(|to| below[*to]);
                here[at] = same.chain(parts).fold(1, u64::saturating_add);
            }
            below = here;
        }
        below.first().copied().unwrap_or(1)
    }

    /// Refuses schemas that are reached over very many ways.
    fn check_expansion(&self) -> Result<(), SchemaError> {
        let all = |at: usize| {
            let edges = &self.schemas[at];
            edges.same_value.iter().chain(&edges.parts).copied().collect::<Vec<_>>()
        };
        let mut expanded = vec![None; self.schemas.len()];
        let mut open = vec![false; self.schemas.len()];
        // By hand, since a chain through parts may be as long as there are schemas.
        let mut stack = vec![(0, all(0), 0)];
        open[0] = true;
        while let Some((at, edges, next)) = stack.last_mut() {
            if let Some(&to) = edges.get(*next) {
                *next += 1;
                if expanded[to].is_none() && !open[to] {
                    open[to] = true;
                    stack.push((to, all(to), 0));
                }
                continue;
            }
            // What is still open is a circle's other end.
            let sum =
                edges.iter().map(|to| expanded[*to].unwrap_or(1)).fold(1, u64::saturating_add);
            if sum > MAX_EXPANDED {
                let text = "its references multiply to more than can be checked in bounded time";
                return Err(SchemaError::TooLarge(text.into()));
            }
            expanded[*at] = Some(sum);
            stack.pop();
        }
        Ok(())
    }
}

/// An order in which every schema comes after those that it applies to the same
/// value, and the longest chain of such.
fn in_order(schemas: &[Edges]) -> Result<(Vec<usize>, usize), SchemaError> {
    const CIRCLE: usize = usize::MAX;
    let mut lengths = vec![0; schemas.len()];
    let mut order = Vec::with_capacity(schemas.len());
    for start in 0..schemas.len() {
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            if lengths[at] != 0 && lengths[at] != CIRCLE {
                continue;
            }
            lengths[at] = CIRCLE;
            let edges = &schemas[at].same_value;
            if let Some(&to) = edges.get(next) {
                stack.push((at, next + 1));
                match lengths[to] {
                    0 => stack.push((to, 0)),
                    CIRCLE => {
                        let text = "a reference leads back to its own beginning".to_owned();
                        return Err(SchemaError::Invalid(text));
                    }
                    _ => {}
                }
                continue;
            }
            lengths[at] = 1 + edges.iter().map(|to| lengths[*to]).max().unwrap_or(0);
            order.push(at);
        }
    }
    let longest = lengths.into_iter().max().unwrap_or(1);
    if longest > MAX_CHAIN {
        let text = format!("more than {MAX_CHAIN} schemas apply, one inside another, to one value");
        return Err(SchemaError::TooLarge(text));
    }
    Ok((order, longest))
}

/// Goes over all schemas that the root leads to.
struct Walk<'a> {
    root: &'a Value,
    /// The numbers of schemas, by where they are in memory.
    numbers: HashMap<*const Value, usize>,
    /// Schemas to look at, each with the resource that its references begin in.
    waiting: Vec<(&'a Value, &'a Value)>,
    /// Schemas by their anchors, of all resources.
    anchors: HashMap<&'a str, Vec<(&'a Value, &'a Value)>>,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Value) -> Self {
        let mut walk =
            Self { root, numbers: HashMap::new(), waiting: Vec::new(), anchors: HashMap::new() };
        walk.find_anchors();
        walk
    }

    fn run(mut self) -> Result<Vec<Edges>, SchemaError> {
        let mut schemas = Vec::new();
        self.number(self.root, self.root);
        while schemas.len() < self.waiting.len() {
            let (schema, resource) = self.waiting[schemas.len()];
            let edges = self.edges(schema, resource)?;
            schemas.push(edges);
            if self.waiting.len() > MAX_SCHEMAS {
                let text = format!("it has more than {MAX_SCHEMAS} schemas in it");
                return Err(SchemaError::TooLarge(text));
            }
        }
        Ok(schemas)
    }

    /// The number of a schema, which is looked at later if it is new.
    fn number(&mut self, schema: &'a Value, resource: &'a Value) -> usize {
        let next = self.waiting.len();
        *self.numbers.entry(std::ptr::from_ref(schema)).or_insert_with(|| {
            let is_resource = schema.get("$id").and_then(Value::as_str).is_some_and(|id| {
                // In draft-07 an id of this form is an anchor.
                !id.starts_with('#')
            });
            self.waiting.push((schema, if is_resource { schema } else { resource }));
            next
        })
    }

    fn edges(&mut self, schema: &'a Value, resource: &'a Value) -> Result<Edges, SchemaError> {
        let mut edges = Edges::default();
        let Some(members) = schema.as_object() else { return Ok(edges) };
        for (keyword, value) in members {
            if SAME_VALUE.contains(&keyword.as_str()) {
                edges.same_value.extend(self.subschemas(keyword, value, resource));
            } else if PARTS.contains(&keyword.as_str()) {
                edges.parts.extend(self.subschemas(keyword, value, resource));
            } else if ["$ref", "$dynamicRef"].contains(&keyword.as_str()) {
                for (target, resource) in self.targets(value, resource)? {
                    edges.same_value.push(self.number(target, resource));
                }
            }
        }
        Ok(edges)
    }

    fn subschemas(&mut self, keyword: &str, value: &'a Value, resource: &'a Value) -> Vec<usize> {
        let is_schema = |value: &Value| value.is_object() || value.is_boolean();
        let found: Vec<&'a Value> = match value {
            Value::Object(map) if MAPS.contains(&keyword) => {
                map.values().filter(|value| is_schema(value)).collect()
            }
            Value::Array(list) => list.iter().filter(|value| is_schema(value)).collect(),
            one => vec![one],
        };
        found.into_iter().map(|schema| self.number(schema, resource)).collect()
    }

    /// Where a reference may lead.
    fn targets(
        &self,
        reference: &Value,
        resource: &'a Value,
    ) -> Result<Vec<(&'a Value, &'a Value)>, SchemaError> {
        let nowhere = || SchemaError::Reference(super::explain::brief(reference));
        let text = reference.as_str().ok_or_else(nowhere)?;
        let fragment = text.strip_prefix('#').ok_or_else(nowhere)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            let pointer = percent_decoded(fragment).ok_or_else(nowhere)?;
            let target = resource.pointer(&pointer).ok_or_else(nowhere)?;
            return Ok(vec![(target, resource)]);
        }
        self.anchors.get(fragment).cloned().ok_or_else(nowhere)
    }

    /// Finds the anchors, wherever they stand.
    fn find_anchors(&mut self) {
        let mut waiting = vec![(self.root, self.root)];
        while let Some((value, mut resource)) = waiting.pop() {
            match value {
                Value::Object(members) => {
                    for name in ["$anchor", "$dynamicAnchor", "$id"] {
                        match members.get(name).and_then(Value::as_str) {
                            Some(id) if name == "$id" && !id.starts_with('#') => resource = value,
                            Some(anchor) => {
                                let anchor = anchor.trim_start_matches('#');
                                self.anchors.entry(anchor).or_default().push((value, resource));
                            }
                            None => {}
                        }
                    }
                    waiting.extend(members.values().map(|member| (member, resource)));
                }
                Value::Array(elements) => {
                    waiting.extend(elements.iter().map(|element| (element, resource)));
                }
                _ => {}
            }
        }
    }
}

/// A fragment as the pointer it encodes.
fn percent_decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).ok()
}
