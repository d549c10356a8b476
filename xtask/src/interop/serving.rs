//! `carrick serve`, in front of a server.

use std::process::Command;

use serde_json::{Value, json};

use super::Rig;
use super::entries::{config, entry, folders};
use crate::Result;
use crate::served::Served;

/// The name of the server behind it.
const BEHIND: &str = "behind";

/// The command of `carrick serve`, on stdin and stdout, in front of the server with this
/// entry. Whoever starts it may pass on as little of its environment as it likes.
pub(super) fn command(rig: &Rig, server: Value) -> Result<Vec<String>> {
    let config = config(rig, &json!({BEHIND: server}))?;
    let mut command = vec!["env".to_owned()];
    let set = |(name, folder): (&str, std::path::PathBuf)| format!("{name}={}", folder.display());
    command.extend(folders(rig).map(set));
    command.extend([&rig.carrick, &config].map(|path| path.to_string_lossy().into_owned()));
    command.insert(command.len() - 1, "--config".to_owned());
    command.extend(["serve", "--server", BEHIND].map(str::to_owned));
    Ok(command)
}

/// Starts one of our commands that serve with `--http` added; gives its address.
pub(super) fn listening(rig: &Rig, command: Vec<String>) -> Result<(Served, String)> {
    let [program, arguments @ ..] = &command[..] else {
        return Err("a command has a program".into());
    };
    let mut server = Command::new(program);
    server.args(arguments).args(["--http", "127.0.0.1:0"]).current_dir(&rig.folder);
    Served::start(&mut server, listening_on)
}

/// Does something with the entry of a server that `carrick serve` offers over `transport`.
pub(super) fn between(
    rig: &Rig,
    transport: &str,
    server: Value,
    check: impl FnOnce(Value) -> Result<()>,
) -> Result<()> {
    let command = command(rig, server)?;
    if transport != "http" {
        return check(entry(command));
    }
    let (_served, url) = listening(rig, command)?;
    check(json!({"type": "http", "url": url}))
}

/// The URL in the line with which `carrick` says that it is ready.
fn listening_on(line: &str) -> Option<String> {
    line.split_once("listening on ").map(|(_, url)| url.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_is_read_from_the_line_that_names_it() {
        assert_eq!(
            listening_on("carrick: listening on http://127.0.0.1:4711/mcp\n").as_deref(),
            Some("http://127.0.0.1:4711/mcp")
        );
        assert_eq!(listening_on("starting\n"), None);
    }
}
