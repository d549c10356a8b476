//! Whole files, from bytes to servers.

mod files;
mod merge;
mod shapes;

use std::path::Path;

use super::*;

/// The content of a case file.
macro_rules! case {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed/", $name))
    };
}
use case;

fn parse(bytes: &[u8]) -> Result<ConfigFile, ConfigError> {
    parse_as(Source::User, bytes)
}

fn parse_as(source: Source, bytes: &[u8]) -> Result<ConfigFile, ConfigError> {
    let path = Path::new("/project/.mcp.json");
    ConfigFile::parse(path, path, source, bytes)
}

fn failure(text: &str) -> String {
    parse(text.as_bytes()).unwrap_err().to_string()
}

fn resolve(files: &[ConfigFile], env: &[(&str, &str)]) -> Config {
    let lookup = |name: &str| {
        let found = env.iter().find(|(variable, _)| *variable == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    Config::resolve(files, &|_| true, &lookup, Path::new("/here"))
}

fn config(text: &str) -> Config {
    resolve(&[parse(text.as_bytes()).unwrap()], &[])
}

fn child<'a>(config: &'a Config, name: &str) -> &'a ChildLaunch {
    match config.servers[name].launch() {
        Some(Launch::Child(launch)) => launch,
        other => panic!("{name}: {other:?} {:?}", config.servers[name]),
    }
}

fn problem(config: &Config, name: &str) -> String {
    match &config.servers[name].state {
        ServerState::Broken(error) => error.to_string(),
        other => panic!("{name}: {other:?}"),
    }
}
