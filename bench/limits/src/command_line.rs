//! What the command lines of the servers have in common.

use std::{env, fs, io};

use crate::{Answers, Era};

/// A command line: words, and the options that say what is answered.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// All that belongs to no option.
    pub words: Vec<String>,
    only: Option<Era>,
    tools: Option<String>,
}

impl CommandLine {
    /// Those of this program.
    ///
    /// # Errors
    /// When an option is unknown or lacks its value.
    pub fn read() -> io::Result<CommandLine> {
        CommandLine::parse(env::args().skip(1)).map_err(io::Error::other)
    }

    fn parse(all: impl IntoIterator<Item = String>) -> Result<CommandLine, String> {
        let mut arguments = CommandLine::default();
        let mut all = all.into_iter();
        while let Some(argument) = all.next() {
            let mut value = || all.next().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--only" => {
                    arguments.only = Some(match value()?.as_str() {
                        "legacy" => Era::Legacy,
                        "modern" => Era::Modern,
                        other => return Err(format!("--only is legacy or modern, not {other:?}")),
                    });
                }
                "--tools" => arguments.tools = Some(value()?),
                option if option.starts_with("--") => return Err(format!("no option {option}")),
                _ => arguments.words.push(argument),
            }
        }
        Ok(arguments)
    }

    /// The server that they ask for: `--tools` names a file with the whole result of
    /// `tools/list`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn answers(&self) -> io::Result<Answers> {
        let tools = self.tools.as_ref().map(fs::read_to_string).transpose()?;
        Ok(Answers::new(self.only, tools))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<CommandLine, String> {
        CommandLine::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn words_and_options_are_told_apart() {
        let expected = CommandLine {
            words: vec!["127.0.0.1:1".into(), "mt".into()],
            only: Some(Era::Legacy),
            tools: Some("list.json".into()),
        };
        assert_eq!(parse("127.0.0.1:1 --only legacy mt --tools list.json"), Ok(expected));
        assert!(parse("--only").is_err());
        assert!(parse("--only both").is_err());
        assert!(parse("--else 1").is_err());
    }
}
