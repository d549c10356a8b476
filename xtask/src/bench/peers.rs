//! The servers and gateways that ours are compared with: which take part, and how each comes
//! to be. What cannot be built or installed is left out, which the report says first.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::programs::{MANIFEST, TARGET, build_release, program};
use crate::{Result, npm, pinned, process, python};

mod list;

use list::{CLIENTS, ECHO, GATEWAYS};

/// What is always measured, so that it can be named as well.
const ALWAYS: [&str; 6] =
    ["bare", "bare-async", "carrick", "carrick-stdio", "direct", "bare-proxy"];

/// A server or gateway on somebody else's work.
struct Peer {
    name: &'static str,
    origin: &'static Origin,
    /// What follows the program, for clients over stdio.
    stdio: Option<&'static str>,
    /// The same for clients over HTTP.
    http: Option<&'static str>,
    /// What the load generator must know beyond the name: `@PATH`, `!TOOL`.
    at: &'static str,
}

/// What brings the program of a peer.
#[derive(PartialEq, Eq)]
struct Origin {
    kind: Kind,
    /// The package, or the folder below `bench/peers`.
    name: &'static str,
    /// What starts it where it is not the package's program: `{home}` is where it was
    /// installed, `{source}` where its files are.
    command: &'static str,
}

/// How a program comes to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A package of the benchmarks' workspace.
    Cargo,
    /// Pinned in `requirements.txt`.
    Python,
    /// Pinned in `package.json` and its lock file.
    Node,
}

/// What a peer does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Server,
    Gateway,
    Client,
}

/// The peers of one run that are ready: all, unless some were chosen or are missing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Peers {
    only: Option<Vec<String>>,
    left_out: BTreeMap<&'static str, String>,
}

impl Peers {
    /// Those with these names, separated by commas, instead of all.
    pub(super) fn only(names: &str) -> Result<Peers> {
        let only: Vec<String> = names.split(',').map(str::to_owned).collect();
        let known = || ECHO.iter().chain(&GATEWAYS).chain(&CLIENTS).map(|peer| peer.name);
        let is_known = |name: &&String| {
            ALWAYS.contains(&name.as_str()) || known().any(|known| known == name.as_str())
        };
        match only.iter().find(|name| !is_known(name)) {
            None => Ok(Peers { only: Some(only), left_out: BTreeMap::new() }),
            Some(name) => Err(format!(
                "no server named {name:?}; there are {}",
                known().collect::<Vec<_>>().join(", ")
            )),
        }
    }

    /// Builds and installs the chosen ones of the roles that are wanted.
    pub(super) fn prepare(&mut self, is_wanted: impl Fn(Role) -> bool) {
        let of = |role, peers: &'static [Peer]| {
            peers.iter().take(if is_wanted(role) { peers.len() } else { 0 })
        };
        let needed: Vec<&Peer> = of(Role::Server, &ECHO)
            .chain(of(Role::Gateway, &GATEWAYS))
            .chain(of(Role::Client, &CLIENTS))
            .filter(|peer| self.is_chosen(peer))
            .collect();
        let mut origins: Vec<&Origin> = Vec::new();
        for peer in &needed {
            if !origins.contains(&peer.origin) {
                origins.push(peer.origin);
            }
        }
        for origin in origins {
            if let Err(reason) = origin.prepare() {
                eprintln!("{}: {reason}", origin.name);
                self.left_out.insert(origin.name, reason);
            }
        }
        print!("{}", self.report(&needed));
    }

    /// Says which of the needed peers are missing, and why.
    fn report(&self, needed: &[&Peer]) -> String {
        let missing = self.left_out.iter().map(|(origin, reason)| {
            let of = needed.iter().filter(|peer| peer.origin.name == *origin);
            let names: Vec<&str> = of.map(|peer| peer.name).collect();
            format!("- {}: {reason}\n", names.join(", "))
        });
        let lines: String = missing.collect();
        if lines.is_empty() { lines } else { format!("\n**Left out**\n\n{lines}") }
    }

    /// `NAME=COMMAND` of the echo servers over stdio.
    pub(super) fn stdio(&self) -> Vec<String> {
        let ready = ECHO.iter().filter(|peer| self.is_ready(peer));
        ready.filter_map(|peer| peer.over_stdio(&[])).collect()
    }

    /// The same without those that an interpreter runs.
    pub(super) fn native(&self) -> Vec<String> {
        let native = ECHO.iter().filter(|peer| peer.origin.kind == Kind::Cargo);
        let ready = native.filter(|peer| self.is_ready(peer));
        ready.filter_map(|peer| peer.over_stdio(&[])).collect()
    }

    /// `NAME=COMMAND` of the echo servers over HTTP.
    pub(super) fn http(&self) -> Vec<String> {
        let ready = ECHO.iter().filter(|peer| self.is_ready(peer));
        ready.filter_map(|peer| peer.over_http(&[])).collect()
    }

    /// `NAME=COMMAND` of the gateways for clients over stdio and over HTTP, in front of the
    /// server at `url` or of the one that `command` starts.
    pub(super) fn gateways(&self, url: &str, command: &str) -> (Vec<String>, Vec<String>) {
        let places = [("{url}", url), ("{command}", command)];
        let ready = || GATEWAYS.iter().filter(|peer| self.is_ready(peer));
        (
            ready().filter_map(|peer| peer.over_stdio(&places)).collect(),
            ready().filter_map(|peer| peer.over_http(&places)).collect(),
        )
    }

    /// The clients, by name, program, and what follows the name of the transport.
    pub(super) fn clients(&self) -> Vec<(&'static str, String, &'static str)> {
        let ready = CLIENTS.iter().filter(|peer| self.is_ready(peer));
        ready.filter_map(|peer| Some((peer.name, program(peer.origin.name), peer.stdio?))).collect()
    }

    fn is_chosen(&self, peer: &Peer) -> bool {
        self.only.as_ref().is_none_or(|only| only.iter().any(|name| name == peer.name))
    }

    fn is_ready(&self, peer: &Peer) -> bool {
        self.is_chosen(peer) && !self.left_out.contains_key(peer.origin.name)
    }
}

impl Peer {
    fn over_stdio(&self, places: &[(&str, &str)]) -> Option<String> {
        Some(format!("{}={}", self.name, self.origin.command(self.stdio?, places)))
    }

    fn over_http(&self, places: &[(&str, &str)]) -> Option<String> {
        let command = self.origin.command(self.http?, places);
        Some(format!("{}{}={command}", self.name, self.at))
    }
}

impl Origin {
    fn prepare(&self) -> Result<()> {
        let (source, folder) = (self.source(), self.folder());
        let pins = |files: &[&str]| files.iter().map(|file| source.join(file)).collect::<Vec<_>>();
        match self.kind {
            Kind::Cargo => build_release(&["--manifest-path", MANIFEST, "--package", self.name]),
            Kind::Python => pinned::once(&pins(&[python::PINS]), &folder, || {
                python::install(&source, &self.home())
            }),
            Kind::Node => {
                pinned::once(&pins(&npm::PINS), &folder, || npm::install(&source, &self.home()))?;
                // Node looks for packages beside the program that asks for them.
                copy_if_there(&source.join(SERVER), &self.home().join(SERVER))
            }
        }
    }

    fn command(&self, arguments: &str, places: &[(&str, &str)]) -> String {
        let start = match self.kind {
            Kind::Cargo => program(self.name),
            Kind::Python | Kind::Node => self
                .command
                .replace("{home}", &self.home().display().to_string())
                .replace("{source}", &self.source().display().to_string()),
        };
        let arguments = places
            .iter()
            .fold(arguments.to_owned(), |text, (place, value)| text.replace(place, value));
        format!("{start} {arguments}")
    }

    fn source(&self) -> PathBuf {
        process::root().join("bench/peers").join(self.name)
    }

    fn folder(&self) -> PathBuf {
        process::root().join(TARGET).join("peers").join(self.name)
    }

    /// A folder of its own, which an installation may clear.
    fn home(&self) -> PathBuf {
        self.folder().join("installation")
    }
}

/// The program of a peer on Node.
const SERVER: &str = "server.mjs";

fn copy_if_there(from: &Path, to: &Path) -> Result<()> {
    if !from.is_file() {
        return Ok(());
    }
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| format!("cannot copy {} to {}: {error}", from.display(), to.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(servers: &[String]) -> Vec<&str> {
        servers.iter().filter_map(|server| Some(server.split_once('=')?.0)).collect()
    }

    #[test]
    fn the_chosen_ones_take_part() {
        let peers = Peers::only("rmcp-tuned,fastmcp,rmcp-client").unwrap();
        assert_eq!(names(&peers.stdio()), ["rmcp-tuned", "fastmcp"]);
        assert_eq!(
            peers.clients().iter().map(|client| client.0).collect::<Vec<_>>(),
            ["rmcp-client"]
        );
        assert!(Peers::default().stdio().len() > 10);
        assert_eq!(Peers::default().clients()[1].2, "-tuned");
    }

    #[test]
    fn what_is_always_there_may_be_named_and_nothing_unknown() {
        assert_eq!(Peers::only("bare,carrick").unwrap().http(), [""; 0]);
        assert!(Peers::only("rmcp,rcmp").unwrap_err().contains("\"rcmp\""));
    }

    #[test]
    fn what_is_left_out_is_named_with_its_reason() {
        let mut peers = Peers::only("fastmcp,fastmcp-tuned,rmcp").unwrap();
        let needed: Vec<&Peer> = ECHO.iter().filter(|peer| peers.is_chosen(peer)).collect();
        assert_eq!(peers.report(&needed), "");
        peers.left_out.insert("fastmcp", "no Python".to_owned());
        let report = peers.report(&needed);
        assert_eq!(report, "\n**Left out**\n\n- fastmcp, fastmcp-tuned: no Python\n");
        assert_eq!(names(&peers.stdio()), ["rmcp"]);
        assert_eq!(names(&peers.native()), ["rmcp"]);
    }

    #[test]
    fn gateways_know_what_is_behind_them() {
        let (stdio, http) = Peers::default().gateways("http://host:1/mcp", "server --quiet");
        for gateway in stdio.iter().chain(&http) {
            assert!(gateway.contains("http://host:1/mcp") || gateway.contains("server --quiet"));
            assert!(!gateway.contains("{url}") && !gateway.contains("{home}"), "{gateway}");
        }
        assert!(http.iter().any(|gateway| gateway.starts_with("tower-mcp-proxy@/!b_echo=")));
    }

    #[test]
    fn every_peer_has_its_files() {
        for peer in ECHO.iter().chain(&GATEWAYS).chain(&CLIENTS) {
            let pins = match peer.origin.kind {
                Kind::Cargo => continue,
                Kind::Python => python::PINS,
                Kind::Node => npm::PINS[1],
            };
            assert!(peer.origin.source().join(pins).is_file(), "{}", peer.name);
        }
    }
}
