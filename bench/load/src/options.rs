//! The command line of the generators.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::str::FromStr;

use crate::account::allow_open_files;
use crate::{Mode, Outcome, Table};

/// `--key value` options, and `NAME=SPEC` servers, of which the first is the baseline.
pub struct Options {
    flags: BTreeMap<String, String>,
    /// The servers' names and what starts them.
    pub servers: Vec<(String, String)>,
}

impl Options {
    /// Reads the arguments behind the program's name.
    pub fn new(arguments: impl IntoIterator<Item = String>) -> Outcome<Options> {
        let mut options = Options { flags: BTreeMap::new(), servers: Vec::new() };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            if let Some(key) = argument.strip_prefix("--") {
                let value = arguments.next().ok_or_else(|| format!("--{key} needs a value"))?;
                options.flags.insert(key.to_owned(), value);
            } else {
                let (name, spec) = argument
                    .split_once('=')
                    .ok_or_else(|| format!("{argument:?} is not NAME=SPEC"))?;
                options.servers.push((name.to_owned(), spec.to_owned()));
            }
        }
        if options.servers.is_empty() {
            return Err("no server is named".into());
        }
        Ok(options)
    }

    /// The value of an option.
    pub(crate) fn value<T: FromStr>(&self, key: &str, default: T) -> Outcome<T> {
        self.flags.get(key).map_or(Ok(default), |value| {
            value.parse().map_err(|_| format!("--{key} cannot be {value:?}"))
        })
    }

    /// The numbers of an option that takes several, separated by commas.
    pub(crate) fn list(&self, key: &str, default: &str) -> Outcome<Vec<usize>> {
        let text = self.flags.get(key).map_or(default, String::as_str);
        let numbers = text.split(',').filter(|number| !number.is_empty());
        numbers
            .map(|number| number.parse().map_err(|_| format!("--{key} cannot hold {number:?}")))
            .collect()
    }

    /// The report in Markdown. Where `--values` names a file, every single value goes there.
    pub(crate) fn report(&self, table: &Table) -> Outcome<String> {
        if let Some(path) = self.flags.get("values") {
            std::fs::write(path, table.values()).map_err(|error| format!("{path}: {error}"))?;
        }
        Ok(table.markdown(short(&self.servers[0].0)))
    }

    pub(crate) fn mode(&self) -> Outcome<Mode> {
        match self.flags.get("mode").map_or("legacy", String::as_str) {
            "legacy" => Ok(Mode::Legacy),
            "stateless" => Ok(Mode::Stateless),
            other => Err(format!("--mode is legacy or stateless, not {other:?}")),
        }
    }
}

/// The name alone of `NAME[@PATH][!TOOL]`.
pub(crate) fn short(spec: &str) -> &str {
    spec.split(['@', '!']).next().unwrap_or(spec)
}

/// The tool of `NAME[@PATH][!TOOL]`.
pub(crate) fn tool(spec: &str) -> &str {
    spec.split_once('!').map_or("echo", |(_, tool)| tool)
}

/// Runs a generator on the program's arguments and prints its report.
pub fn run(generate: impl Fn(&Options) -> Outcome<String>) -> ExitCode {
    allow_open_files();
    match Options::new(std::env::args().skip(1)).and_then(|options| generate(&options)) {
        Ok(report) => {
            print!("{report}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}\n(README.md says what the options are)");
            ExitCode::from(2)
        }
    }
}

/// A command line split at blanks, with `'…'` and `"…"` kept whole.
pub(crate) fn split_command(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Outcome<Options> {
        Options::new(arguments.iter().map(|argument| (*argument).to_owned()))
    }

    #[test]
    fn flags_and_servers_are_told_apart() {
        let options = options(&["--rounds", "2", "bare=a b", "--sizes", "1,20", "ours=c"]).unwrap();
        assert_eq!(options.value("rounds", 5), Ok(2));
        assert_eq!(options.value("secs", 0.5), Ok(0.5));
        assert_eq!(options.list("sizes", "9"), Ok(vec![1, 20]));
        assert_eq!(options.list("conc", "9"), Ok(vec![9]));
        assert_eq!(
            options.servers,
            [("bare".to_owned(), "a b".to_owned()), ("ours".to_owned(), "c".to_owned())]
        );
    }

    #[test]
    fn wrong_arguments_are_refused() {
        assert!(options(&["--rounds"]).is_err());
        assert!(options(&["bare"]).is_err());
        assert!(options(&[]).is_err());
        let options = options(&["--rounds", "x", "--mode", "y", "a=b"]).unwrap();
        assert!(options.value("rounds", 1_usize).is_err());
        assert!(options.mode().is_err());
    }

    #[test]
    fn names_end_where_paths_and_tools_begin() {
        assert_eq!(["a", "a@/x", "a!b", "a@/x!b"].map(short), ["a"; 4]);
        assert_eq!(["a", "a@/x", "a!b", "a@/x!b"].map(tool), ["echo", "echo", "b", "b"]);
    }

    #[test]
    fn commands_split_at_blanks_outside_quotes() {
        assert_eq!(split_command(" a  'b c' d\"e f\"  '' "), ["a", "b c", "de f", ""]);
    }
}
