//! Tool arguments that are mirrored into headers: which ones, and of which
//! tools. Learned from the tool lists that pass through.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use carrick_proto::http::{ParamHeader, param_headers};
use carrick_proto::method::Method;

/// Most tools remembered; one above it is sent without its headers.
const MAX_TOOLS: usize = 10_000;

/// The arguments to mirror, by tool name.
#[derive(Debug, Default)]
pub(super) struct ParamTable {
    tools: HashMap<String, Vec<ParamHeader>>,
}

impl ParamTable {
    /// The headers of a call, from the arguments in its message.
    ///
    /// # Errors
    /// When an argument cannot be mirrored: which, and why.
    pub(super) fn headers_of(
        &self,
        tool: &str,
        method: Method,
        message: &[u8],
    ) -> Result<Vec<(String, String)>, String> {
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            params: Params<'a>,
        }
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(borrow, default)]
            arguments: Option<&'a RawValue>,
        }
        if method != Method::ToolsCall {
            return Ok(Vec::new());
        }
        let Some(headers) = self.tools.get(tool) else { return Ok(Vec::new()) };
        let Ok(Message { params }) = serde_json::from_slice(message) else { return Ok(Vec::new()) };
        let arguments = params.arguments.map_or("null", RawValue::get).as_bytes();
        let value = |header: &ParamHeader| match header.value_in(arguments) {
            Ok(value) => Some(Ok((header.header.clone(), value?))),
            Err(error) => {
                let path = header.path.join(".");
                Some(Err(format!("argument {path:?} of tool {tool:?}: {error}")))
            }
        };
        headers.iter().filter_map(value).collect()
    }

    /// Learns from the answer to `tools/list`, and leaves out the tools whose
    /// annotations break a rule. An answer without annotations, or of another
    /// form than a tool list, comes back as it is.
    pub(super) fn learn(&mut self, message: Bytes) -> Bytes {
        // Where there were annotations, their absence is something to learn.
        let any = !self.tools.is_empty();
        if !any && memchr::memmem::find(&message, b"x-mcp-header").is_none() {
            return message;
        }
        // What this does not look into stays text.
        self.filter(&message).map_or_else(|| message.clone(), Bytes::from)
    }

    /// The answer without the tools that break a rule, if there are such.
    fn filter(&mut self, message: &[u8]) -> Option<Vec<u8>> {
        let mut answer: Members = serde_json::from_slice(message).ok()?;
        let mut result: Members = serde_json::from_str(answer.get("result")?.get()).ok()?;
        let mut tools: Vec<&RawValue> = serde_json::from_str(result.get("tools")?.get()).ok()?;
        let before = tools.len();
        tools.retain(|tool| self.learn_tool(tool));
        if tools.len() == before {
            return None;
        }
        let tools = to_raw_value(&tools).ok()?;
        result.insert("tools".into(), tools);
        answer.insert("result".into(), to_raw_value(&result).ok()?);
        serde_json::to_vec(&answer).ok()
    }

    /// Whether the tool may be offered.
    fn learn_tool(&mut self, tool: &RawValue) -> bool {
        let Ok(tool) = serde_json::from_str::<Tool>(tool.get()) else {
            return true;
        };
        match param_headers(&tool.input_schema) {
            Ok(headers) if headers.is_empty() => {
                self.tools.remove(&tool.name);
                true
            }
            Ok(headers) => {
                if self.tools.len() < MAX_TOOLS || self.tools.contains_key(&tool.name) {
                    self.tools.insert(tool.name, headers);
                }
                true
            }
            Err(error) => {
                tracing::warn!(tool = %tool.name, %error, "a tool is left out");
                false
            }
        }
    }
}

/// The members of an object, their values as text.
type Members = BTreeMap<String, Box<RawValue>>;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tool {
    name: String,
    #[serde(default)]
    input_schema: Value,
}
