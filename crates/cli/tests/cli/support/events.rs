//! The events of a turn, as `--json` prints them.

use serde_json::Value;

/// All events of one run, in order.
#[derive(Debug)]
pub(crate) struct Events(Vec<Value>);

impl Events {
    pub(super) fn new(events: Vec<Value>) -> Self {
        for event in &events {
            assert!(event["type"].is_string(), "an event without a type: {event}");
        }
        Self(events)
    }

    /// The events of one type.
    pub(crate) fn of(&self, kind: &str) -> Vec<&Value> {
        self.0.iter().filter(|event| event["type"] == kind).collect()
    }

    /// The only event of a type.
    #[track_caller]
    pub(crate) fn only(&self, kind: &str) -> &Value {
        match self.of(kind)[..] {
            [event] => event,
            _ => panic!("expected one event {kind:?}: {:#?}", self.0),
        }
    }

    /// The first event that has this type and this member.
    #[track_caller]
    pub(crate) fn with(&self, kind: &str, member: &str, value: &str) -> &Value {
        let found = self.0.iter().find(|event| event["type"] == kind && event[member] == value);
        found.unwrap_or_else(|| panic!("no {kind:?} with {member} {value:?}: {:#?}", self.0))
    }

    /// All pieces of streamed text together.
    pub(crate) fn text(&self) -> String {
        self.of("text").iter().filter_map(|event| event["text"].as_str()).collect()
    }

    /// Where the first event stands that has this type and this member.
    #[track_caller]
    pub(crate) fn place(&self, kind: &str, member: &str, value: &str) -> usize {
        let wanted = self.with(kind, member, value);
        self.0.iter().position(|event| std::ptr::eq(event, wanted)).unwrap()
    }
}

/// The text of a result event's first content block.
#[track_caller]
pub(crate) fn result_text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}
