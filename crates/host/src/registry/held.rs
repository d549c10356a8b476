//! Tools that are held back because nobody has agreed to what they now say.

use crate::permission::Pins;
use carrick::types::Tool;
use carrick_policy::{Pin, ToolDefinition, visible};
use std::sync::{Arc, Mutex, PoisonError};

/// The definitions that were agreed to, shared by all servers of a host.
pub type SharedPins = Arc<Mutex<Pins>>;

/// A tool that is not offered and cannot be called until a person agrees to it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldTool {
    /// The tool, as its server names it.
    pub name: String,
    /// Why it is held.
    pub hold: Hold,
    /// What a person has to see before they agree: all that a new tool says, the
    /// difference of a changed one, what is wrong with one that cannot be read.
    /// Hidden characters are written out.
    pub lines: Vec<String>,
    /// What it says now; none when that cannot be compared.
    pub definition: Option<ToolDefinition>,
}

/// Why a tool is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hold {
    /// The server did not have it when its tools were agreed to.
    New,
    /// It says something else than what was agreed to.
    Changed,
    /// Its definition cannot be compared, so it cannot be agreed to.
    Unreadable,
}

impl std::fmt::Display for Hold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::New => "new",
            Self::Changed => "changed",
            Self::Unreadable => "unreadable",
        })
    }
}

/// The tools of a server, sorted.
#[derive(Clone, Default)]
pub(super) struct Listed {
    pub(super) offered: Arc<Vec<Tool>>,
    pub(super) held: Arc<Vec<HeldTool>>,
}

/// Sorts a list by what was agreed to; `declared` is what this host declared to
/// the server, as JSON. The first list of a server that is not
/// empty is agreed to by having put the server into the config.
pub(super) fn sort_out(
    tools: Vec<Tool>,
    pins: Option<&SharedPins>,
    server: &str,
    declared: &str,
) -> Result<Listed, String> {
    let Some(pins) = pins else {
        return Ok(Listed { offered: Arc::new(tools), held: Arc::default() });
    };
    let (mut held, mut readable, mut definitions) = (Vec::new(), Vec::new(), Vec::new());
    for tool in tools {
        match definition(&tool) {
            Ok(definition) => {
                readable.push(tool);
                definitions.push(definition);
            }
            Err(problem) => held.push(HeldTool {
                name: tool.name,
                hold: Hold::Unreadable,
                lines: vec![problem],
                definition: None,
            }),
        }
    }
    let mut pins = pins.lock().unwrap_or_else(PoisonError::into_inner);
    let report = pins.check(server, &definitions).map_err(|error| error.to_string())?;
    if report.first_sight && !definitions.is_empty() {
        pins.approve(server, &definitions, declared).map_err(|error| error.to_string())?;
    }
    // A server may offer other tools to a host that declares something else.
    let otherwise = pins.declared(server).filter(|before| *before != declared).map(|before| {
        visible(&format!("agreed to when {before} was declared to it; now it is {declared}"))
    });
    let mut offered = Vec::new();
    for ((tool, definition), (_, pin)) in readable.into_iter().zip(definitions).zip(report.tools) {
        let (hold, lines) = match pin {
            Pin::Changed { lines } => (Hold::Changed, lines),
            Pin::New if !report.first_sight => {
                (Hold::New, otherwise.iter().cloned().chain(definition.lines()).collect())
            }
            _ => {
                offered.push(tool);
                continue;
            }
        };
        held.push(HeldTool { name: tool.name, hold, lines, definition: Some(definition) });
    }
    if held.is_empty() {
        // What the tools are is known; a use that is not written down loses nothing.
        if let Err(error) = pins.used(server, declared) {
            tracing::warn!(%error, "the use of a server is not taken down");
        }
    }
    Ok(Listed { offered: Arc::new(offered), held: Arc::new(held) })
}

fn definition(tool: &Tool) -> Result<ToolDefinition, String> {
    let json = serde_json::to_string(tool).map_err(|error| error.to_string())?;
    ToolDefinition::parse(&json).map_err(|error| error.to_string())
}
