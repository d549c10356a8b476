//! What cargo knows about the workspace.

use serde_json::Value;

use crate::{Result, process};

/// `cargo metadata` of the root workspace, with further arguments.
pub(crate) fn read(arguments: &[&str]) -> Result<Value> {
    let mut command = process::cargo(&["metadata", "--format-version", "1", "--locked"]);
    let text = process::output(command.args(arguments))?;
    serde_json::from_str(&text)
        .map_err(|error| format!("cannot read the output of cargo metadata: {error}"))
}

/// The names of the workspace's own packages, in order.
pub(crate) fn packages() -> Result<Vec<String>> {
    let metadata = read(&["--no-deps"])?;
    let mut names: Vec<String> = list(&metadata, "packages")
        .iter()
        .map(|package| text(package, "name").to_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// The array at `member`, empty when there is none.
pub(crate) fn list<'a>(value: &'a Value, member: &str) -> &'a [Value] {
    value[member].as_array().map_or(&[], Vec::as_slice)
}

/// The text at `member`, empty when there is none.
pub(crate) fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or("")
}
