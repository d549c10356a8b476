//! The options of `cargo xtask bench`: its own, and those of the load generators.

use super::peers::Peers;
use crate::Result;

/// What stands behind the names of the parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Options {
    /// Whether curves go to the pages.
    pub(super) save: bool,
    /// Who takes part beside us and the limits.
    pub(super) others: Peers,
    /// Further servers for the curves, as `NAME=COMMAND`.
    pub(super) peers: Vec<String>,
    /// How many calls each client makes, where it was said.
    pub(super) count: Option<String>,
    /// `--name value`, flat, as the generators take them.
    generator: Vec<String>,
}

impl Options {
    /// Takes out what is not for the generators.
    pub(super) fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            let mut value =
                || arguments.next().cloned().ok_or_else(|| format!("{argument} needs a value"));
            match argument.as_str() {
                "--save" => options.save = true,
                "--only" => options.others = Peers::only(&value()?)?,
                "--peer" => options.peers.push(value()?),
                "--count" => options.count = Some(value()?),
                option if option.starts_with("--") => {
                    options.generator.extend([option.to_owned(), value()?]);
                }
                other => return Err(format!("{other:?} stands where an option should")),
            }
        }
        Ok(options)
    }

    /// The value of a generator's option.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        let mut pairs = self.generator.chunks_exact(2);
        pairs.find(|pair| pair[0].strip_prefix("--") == Some(name)).map(|pair| pair[1].as_str())
    }

    /// The options of a generator: those that were given, and `defaults` for the others.
    pub(super) fn or(&self, defaults: &[(&str, &str)]) -> Vec<String> {
        let missing = defaults.iter().filter(|(name, _)| self.value(name).is_none());
        let missing = missing.flat_map(|(name, value)| [format!("--{name}"), (*value).to_owned()]);
        self.generator.iter().cloned().chain(missing).collect()
    }

    /// How many rounds there are.
    pub(super) fn rounds(&self) -> Result<usize> {
        let given = self.value("rounds").unwrap_or("5");
        given.parse().map_err(|_| format!("--rounds cannot be {given:?}"))
    }

    /// The modes to measure in: the one that was given, or both.
    pub(super) fn modes(&self) -> Vec<&str> {
        self.value("mode").map_or_else(|| vec!["legacy", "stateless"], |mode| vec![mode])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn own_options_are_taken_out() {
        let options = parse("--rounds 2 --save --peer a=b --secs 1 --count 7 --peer c=d").unwrap();
        assert!(options.save);
        assert_eq!(options.peers, ["a=b", "c=d"]);
        assert_eq!(options.count.as_deref(), Some("7"));
        assert_eq!(options.or(&[]), ["--rounds", "2", "--secs", "1"]);
        assert_eq!(options.rounds(), Ok(2));
    }

    #[test]
    fn defaults_fill_what_was_not_given() {
        let options = parse("--rounds 2").unwrap();
        let all = options.or(&[("rounds", "9"), ("sizes", "")]);
        assert_eq!(all, ["--rounds", "2", "--sizes", ""]);
        assert_eq!(options.modes(), ["legacy", "stateless"]);
        assert_eq!(parse("--mode legacy").unwrap().modes(), ["legacy"]);
    }

    #[test]
    fn wrong_options_are_refused() {
        assert!(parse("--rounds").is_err());
        assert!(parse("--rounds 1 2").is_err());
        assert!(parse("--rounds x").unwrap().rounds().is_err());
    }
}
