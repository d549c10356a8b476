//! From a tree to what a file means: the `mcpServers` shape.
//!
//! The step after parsing, apart from it: another host's file is another
//! function over the same tree.

mod keys;
mod server;
mod settings;

use super::error::{Fault, Located};
use super::template::{ServerTemplate, SettingsTemplate};
use carrick_policy::json::{Node, Value};
use keys::{Foreign, Table};

/// The most servers in one file.
const MAX_SERVERS: usize = 1000;

const KEYS: &[&str] =
    &["mcpServers", "model", "models", "permissions", "limits", "roots", "$schema"];

/// What other hosts write at the top of their files.
const FOREIGN: &[Foreign] = &[
    Foreign("servers", "this is VS Code's spelling; rename it to \"mcpServers\""),
    Foreign(
        "inputs",
        "VS Code asks for these values at start; Carrick does not: write ${NAME} where the value \
         is needed, and set NAME in the environment",
    ),
    Foreign("context_servers", "this is Zed's spelling; rename it to \"mcpServers\""),
    Foreign("extensions", "this is Goose's spelling; rename it to \"mcpServers\""),
    Foreign("mcp_servers", "this is Codex's spelling; rename it to \"mcpServers\""),
    Foreign("mcp", "move what it holds to the top of the file, as \"mcpServers\""),
];

/// One entry of `mcpServers`; a fault in it leaves the rest of the file alone.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) at: usize,
    pub(super) server: Result<ServerTemplate, Located>,
}

/// What one file says.
pub(super) struct Shaped {
    pub(super) entries: Vec<Entry>,
    pub(super) settings: SettingsTemplate,
}

/// Reads the shape that `.mcp.json` and Carrick's own files have.
pub(super) fn mcp_servers(root: &Node) -> Result<Shaped, Located> {
    if !matches!(root.value, Value::Map(_)) {
        let what = "a config file is an object, such as {\"mcpServers\": {}}";
        return Err(Located { at: root.at, fault: Fault::Combination(what) });
    }
    let top = Table::new(root, "a config file", "the file")?;
    top.check_keys(KEYS, FOREIGN)?;
    let entries = match top.node("mcpServers") {
        None => Vec::new(),
        Some(node) => entries(node)?,
    };
    Ok(Shaped { entries, settings: settings::read(&top)? })
}

fn entries(node: &Node) -> Result<Vec<Entry>, Located> {
    let Value::Map(members) = &node.value else {
        return Err(keys::wrong_type(node, "mcpServers", "an object: a name and a server each"));
    };
    if members.len() > MAX_SERVERS {
        let reason = format!("at most {MAX_SERVERS} servers in one file");
        let fault = Fault::Invalid { field: "mcpServers".to_owned(), reason };
        return Err(Located { at: node.at, fault });
    }
    let entries = members.iter().map(|member| {
        let server = check_name(&member.key)
            .map_err(|fault| Located { at: member.at, fault })
            .and_then(|()| server::read(&member.node));
        Entry { name: member.key.clone(), at: member.at, server }
    });
    Ok(entries.collect())
}

/// Names are shown to people and to models, and matched by permission rules.
fn check_name(name: &str) -> Result<(), Fault> {
    let reason = if name.is_empty() {
        "a server needs a name"
    } else if name.chars().count() > 128 {
        "a server name has at most 128 characters"
    } else if name.trim() != name || carrick_policy::visible(name) != name {
        "a server name holds no control or invisible characters and no blanks around it"
    } else {
        return Ok(());
    };
    Err(Fault::Invalid { field: name.to_owned(), reason: reason.to_owned() })
}
