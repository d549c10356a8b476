//! What was observed, and what it becomes in another revision.

use carrick::proto::method::Method::{ElicitationCreate, RootsList, SamplingCreateMessage};
use carrick::proto::revision::{Losses, Part, Revision, translate};
use carrick::proto::rpc::{Json, Limits};
use serde_json::Value;
use std::collections::BTreeMap;

/// What was observed, by feature, in the order in which it came.
pub type Observed = BTreeMap<&'static str, Vec<Seen>>;

/// One thing that was observed: the part of a message, in the shape in which
/// clients show it, or something that no message says, such as a count.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// What it was of a message, if it was of one.
    pub part: Option<Part>,
    /// What was in it.
    pub value: Value,
}

impl Seen {
    /// A part of a message.
    pub fn of(part: Part, value: Value) -> Self {
        Self { part: Some(part), value: plain(part, value) }
    }

    /// What no message says.
    pub fn aside(value: impl Into<Value>) -> Self {
        Self { part: None, value: value.into() }
    }

    /// A call that came to no answer, whatever the server would have said.
    pub fn failed(why: impl ToString) -> Self {
        Self::aside(serde_json::json!({ "failed": why.to_string() }))
    }

    /// Whether it is such a call.
    pub fn is_failed(&self) -> bool {
        self.part.is_none() && self.value["failed"].is_string()
    }

    /// Whether it is a question of the server's.
    pub fn is_question(&self) -> bool {
        matches!(
            self.part,
            Some(Part::Params(ElicitationCreate | SamplingCreateMessage | RootsList))
        )
    }

    /// Whether it says that a call did not succeed: a tool's own error, or one of
    /// the protocol with a code.
    pub fn is_error(&self) -> bool {
        match self.part {
            Some(Part::Result(_)) => self.value["isError"] == true,
            Some(Part::Error(_)) => self.value["code"].is_i64(),
            _ => false,
        }
    }

    /// What a client of `client` observes of it, if one of `server` observes
    /// this of a server of that revision; and what is lost.
    ///
    /// # Errors
    /// When the client's revision has no form for it.
    pub fn crossed(&self, server: Revision, client: Revision) -> Result<(Self, Losses), String> {
        let Some(part) = self.part else { return Ok((self.clone(), Losses::default())) };
        let text = self.value.to_string().into();
        let json = Json::parse(text, Limits::default()).map_err(|error| error.to_string())?;
        let shaped = |json, from, to| translate(json, part, from, to).map_err(|e| e.to_string());
        // Errors are shown as they came, all else in the newest shape.
        let as_is = matches!(part, Part::Error(_));
        let json = if as_is { json } else { shaped(json, Revision::NEWEST, server)?.0 };
        let (json, losses) = shaped(json, server, client)?;
        let json = if as_is { json } else { shaped(json, client, Revision::NEWEST)?.0 };
        let value = json.read().map_err(|error| error.to_string())?;
        Ok((Self::of(part, value), losses))
    }

    /// The same for clients of all revisions: an error's code may be that of the
    /// revision that it was observed in.
    pub(super) fn neutral(&self, seen_in: Revision) -> Result<Self, String> {
        match self.part {
            Some(Part::Error(_)) => Ok(self.crossed(seen_in, Revision::NEWEST)?.0),
            _ => Ok(self.clone()),
        }
    }
}

/// A value without what belongs to the hop that it came by, and without what is
/// understood where it is not said.
fn plain(part: Part, mut value: Value) -> Value {
    let Some(members) = value.as_object_mut() else { return value };
    if matches!(part, Part::Result(_)) {
        members.remove("resultType");
    }
    if part == Part::Params(ElicitationCreate) && members.get("mode") == Some(&"form".into()) {
        members.remove("mode");
    }
    if let Some(meta) = members.get_mut("_meta").and_then(Value::as_object_mut) {
        meta.remove("io.modelcontextprotocol/serverInfo");
        if meta.is_empty() {
            members.remove("_meta");
        }
    }
    value
}
