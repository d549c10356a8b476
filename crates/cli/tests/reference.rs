//! `docs/cli-reference.md` is what the commands say of themselves.

#![expect(clippy::unwrap_used, reason = "all of this is tests")]

use std::path::Path;
use std::process::{Command, Stdio};

/// Set to anything, it makes the test write the file.
const UPDATE: &str = "CARRICK_UPDATE_REFERENCE";

const HEAD: &str = "# Command reference

The output of `--help` for every command; `cli.md` explains them. A test compares this file with
the program. After a change of the command line, write it anew with

    CARRICK_UPDATE_REFERENCE=1 cargo test -p carrick-cli --test reference
";

#[test]
fn the_reference_is_what_the_commands_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli-reference.md");
    let said = reference();
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, said).unwrap();
        return;
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == said, "docs/cli-reference.md is stale; set {UPDATE}=1 to write it anew");
}

fn reference() -> String {
    let top = help(&[]);
    let mut text = format!("{HEAD}\n## carrick\n\n```text\n{}\n```\n", top.trim_end());
    let commands = commands(&top);
    assert!(commands.contains(&"ask".to_owned()), "{top}");
    for command in commands {
        let said = help(&[&command]);
        text.push_str(&format!("\n## carrick {command}\n\n```text\n{}\n```\n", said.trim_end()));
    }
    text
}

/// The names in the list of commands.
fn commands(help: &str) -> Vec<String> {
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = listed.take_while(|line| !line.is_empty()).filter_map(|line| {
        // Deeper lines go on with a description.
        let name = line.strip_prefix("  ")?.split(' ').next()?;
        (!name.is_empty() && name != "help").then(|| name.to_owned())
    });
    names.collect()
}

fn help(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_carrick"))
        .args(words)
        .arg("--help")
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}
