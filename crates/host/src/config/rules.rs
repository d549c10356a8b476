//! Which servers the rules of a file hold for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use carrick_policy::{Effect, Pattern, Rule, near, quoted};

use super::error::{Warning, WarningKind};
use super::file::{ConfigFile, Source};
use super::template::RuleTemplate;
use super::text::Position;

/// The rules of all files, with what is needed to say which servers they hold for.
#[derive(Debug, Default)]
pub(super) struct Rules {
    written: Vec<Written>,
    /// The place of the file, weakest first, that each server comes from.
    owners: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct Written {
    /// The place of its file, weakest first.
    rank: usize,
    source: Source,
    effect: Effect,
    pattern: Pattern,
    file: PathBuf,
    position: Position,
    place: String,
}

impl Rules {
    /// Notes that a server comes from the file of this rank, whatever stood there before.
    pub(super) fn own(&mut self, server: &str, rank: usize) {
        self.owners.insert(server.to_owned(), rank);
    }

    pub(super) fn add(&mut self, file: &ConfigFile, rank: usize, template: &RuleTemplate) {
        let position = file.position(template.at);
        self.written.push(Written {
            rank,
            source: file.source(),
            effect: template.effect,
            pattern: template.pattern.clone(),
            file: file.path().to_owned(),
            position,
            place: format!("{}:{position}", file.canonical_path().display()),
        });
    }

    /// The rules, each for the servers that it holds for, and warnings of those that
    /// allow nothing.
    ///
    /// What a file denies or asks about holds for all servers. What it allows holds for
    /// its own and those of weaker files, since a server of a stronger file may be
    /// another one under the same name; what a project allows, for its own only.
    pub(super) fn resolve(&self) -> (Vec<Rule>, Vec<Warning>) {
        let mut warnings = Vec::new();
        let mut rules = Vec::with_capacity(self.written.len());
        for written in &self.written {
            let rule = Rule::new(written.effect, written.pattern.clone());
            let rule = rule.written_at(written.place.clone());
            if written.effect != Effect::Allow {
                rules.push(rule);
                continue;
            }
            let is_projects = written.source == Source::Project;
            let (held, kept) = self.owners.iter().partition::<Vec<_>, _>(|(_, owner)| {
                **owner == written.rank || (!is_projects && **owner < written.rank)
            });
            let names = |servers: &[(&String, &usize)]| -> Arc<BTreeSet<String>> {
                Arc::new(servers.iter().map(|(name, _)| (*name).clone()).collect())
            };
            let meant = |servers: &[(&String, &usize)]| {
                servers.iter().any(|(name, _)| written.pattern.matches_server(name))
            };
            if meant(&kept) && !meant(&held) {
                let kind = WarningKind::IneffectiveAllow { rule: written.pattern.to_string() };
                warnings.push(written.warning(kind));
            }
            rules.push(match is_projects {
                true => rule.only_for(names(&held)),
                false => rule.except_for(names(&kept)),
            });
        }
        (rules, warnings)
    }

    /// Warnings of rules that are about none of these servers.
    pub(super) fn without_server<'a>(
        &self,
        servers: impl Iterator<Item = &'a str> + Clone,
    ) -> Vec<Warning> {
        let idle = self.written.iter().filter(|written| {
            !servers.clone().any(|server| written.pattern.matches_server(server))
        });
        idle.map(|written| {
            let named = written.pattern.server();
            let like = near::most_like(&named, servers.clone().map(|name| (name, [name])));
            let hint = like.first().map(|name| format!("; did you mean {}?", quoted(name)));
            written.warning(WarningKind::NoSuchServer {
                effect: written.effect,
                rule: written.pattern.to_string(),
                hint: hint.unwrap_or_default(),
            })
        })
        .collect()
    }
}

impl Written {
    fn warning(&self, kind: WarningKind) -> Warning {
        Warning { file: self.file.clone(), position: self.position, kind }
    }
}

/// What a person must know beside the content of a file that they approve: which servers
/// of weaker files it takes the place of, line by line. `file` is one of `files`, which
/// stand with the weakest first.
pub fn taken_places(file: &ConfigFile, files: &[ConfigFile]) -> Vec<String> {
    let weaker = files.iter().take_while(|other| !std::ptr::eq(*other, file));
    let mut lines = Vec::new();
    for other in weaker {
        for entry in other.servers().iter().filter(|entry| file.defines(&entry.name)) {
            let name = quoted(&entry.name);
            let allowed: Vec<String> = allows(other, &entry.name).map(quoted_rule).collect();
            let rules = match allowed.as_slice() {
                [] => String::new(),
                rules => format!(
                    ", which your rules allow: {}; they do not hold for this one",
                    rules.join(", ")
                ),
            };
            let whose = if other.source() == Source::Project { "the project's" } else { "your" };
            lines.push(format!("server {name}: takes the place of {whose} server {name}{rules}"));
        }
    }
    lines
}

fn allows<'a>(file: &'a ConfigFile, server: &'a str) -> impl Iterator<Item = &'a Pattern> {
    let rules = file.settings().rules.iter().filter(|rule| rule.effect == Effect::Allow);
    rules.map(|rule| &rule.pattern).filter(move |pattern| pattern.matches_server(server))
}

fn quoted_rule(pattern: &Pattern) -> String {
    quoted(&pattern.to_string())
}
