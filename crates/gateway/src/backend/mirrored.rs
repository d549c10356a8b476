//! Which arguments of tools travel in HTTP headers too
//! (`basic/transports`, custom headers from tool parameters).

use carrick::proto::http::{ParamHeader, param_headers};
use carrick::types::RawJson;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Tools of which that is remembered. A list may have more; the server checks
/// those by itself.
const MOST: usize = 16_384;

/// What lists of tools have said.
#[derive(Default)]
pub(crate) struct Mirrored(RwLock<BTreeMap<String, Arc<[ParamHeader]>>>);

impl Mirrored {
    /// The mirrored arguments of a tool.
    pub(crate) fn of(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(tool).cloned()
    }

    /// Learns from a page of a list of tools, which must be nobody's in particular:
    /// what it says is held against all clients. `is_first`: what earlier lists said
    /// of tools that are in no page any more is forgotten with it.
    pub(crate) fn learn(&self, page: &[u8], is_first: bool) {
        if !says_some(page) {
            if is_first && !self.is_empty() {
                self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
            }
            return;
        }
        let Some(tools) = read(page) else { return };
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if is_first {
            known.clear();
        }
        for (name, headers) in tools {
            if headers.is_empty() {
                known.remove(&name);
            } else if known.len() < MOST {
                known.insert(name, headers.into());
            } else {
                tracing::warn!(tool = %name, "too many tools with mirrored arguments");
            }
        }
    }

    /// Whether a page of somebody's list says something else than is known.
    pub(crate) fn differs(&self, page: &[u8]) -> bool {
        if !says_some(page) && self.is_empty() {
            return false;
        }
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        read(page).is_some_and(|tools| {
            let is_new = |(name, headers): &(String, Vec<ParamHeader>)| {
                known.get(name).map_or(&[][..], |known| &**known) != &**headers
            };
            tools.iter().any(is_new)
        })
    }

    fn is_empty(&self) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).is_empty()
    }
}

fn says_some(page: &[u8]) -> bool {
    memchr::memmem::find(page, b"x-mcp-header").is_some()
}

/// The tools of a page, with their mirrored arguments.
fn read(page: &[u8]) -> Option<Vec<(String, Vec<ParamHeader>)>> {
    #[derive(Deserialize)]
    struct List {
        tools: Vec<RawJson>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Tool {
        name: String,
        input_schema: serde_json::Value,
    }
    let List { tools } = serde_json::from_slice(page).ok()?;
    let tools = tools.iter().filter_map(|tool| {
        let tool: Tool = serde_json::from_str(tool.get()).ok()?;
        match param_headers(&tool.input_schema) {
            Ok(headers) => Some((tool.name, headers)),
            Err(error) => {
                tracing::warn!(tool = %tool.name, %error, "clients will leave it out");
                None
            }
        }
    });
    Some(tools.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn page(tools: &[(&str, bool)]) -> Vec<u8> {
        let tools: Vec<_> = tools
            .iter()
            .map(|(name, has)| {
                let mut argument = json!({ "type": "string" });
                if *has {
                    argument["x-mcp-header"] = json!("Region");
                }
                json!({ "name": name, "inputSchema":
                    { "type": "object", "properties": { "region": argument } } })
            })
            .collect();
        json!({ "tools": tools }).to_string().into_bytes()
    }

    #[test]
    fn f50_a_tool_that_is_renamed_leaves_nothing_behind() {
        let mirrored = Mirrored::default();
        mirrored.learn(&page(&[("old", true), ("kept", true)]), true);
        assert_eq!(mirrored.of("old").unwrap().len(), 1);
        mirrored.learn(&page(&[("new", true), ("kept", false)]), true);
        assert!(mirrored.of("old").is_none() && mirrored.of("kept").is_none());
        assert_eq!(mirrored.of("new").unwrap().len(), 1);
        mirrored.learn(&page(&[("second", true)]), false);
        assert!(mirrored.of("new").is_some() && mirrored.of("second").is_some(), "another page");
        mirrored.learn(&page(&[("new", false)]), true);
        assert!(mirrored.of("new").is_none() && mirrored.of("second").is_none());
    }

    #[test]
    fn f04_a_list_that_says_something_new_is_seen() {
        let mirrored = Mirrored::default();
        assert!(!mirrored.differs(&page(&[("some", false)])));
        assert!(mirrored.differs(&page(&[("some", true)])));
        mirrored.learn(&page(&[("some", true), ("other", false)]), true);
        assert!(!mirrored.differs(&page(&[("some", true)])));
        assert!(!mirrored.differs(&page(&[("other", false)])));
        assert!(mirrored.differs(&page(&[("some", false)])));
        assert!(mirrored.differs(&page(&[("other", true)])));
    }
}
