//! Which verdict a call gets.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::json;
use crate::pattern::{Condition, Pattern};
use crate::reading::{self, Seen};
use crate::visible::{quoted, visible};

/// What a rule says about the calls that it matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Run without asking.
    Allow,
    /// Ask a person first.
    Ask,
    /// Never run.
    Deny,
}

/// One line of `permissions` in a config file, or one made at run time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    effect: Effect,
    pattern: Pattern,
    place: Option<String>,
    only: Option<Arc<BTreeSet<String>>>,
    except: Option<Arc<BTreeSet<String>>>,
}

impl Rule {
    /// A rule for every server that its pattern matches.
    pub fn new(effect: Effect, pattern: Pattern) -> Self {
        Self { effect, pattern, place: None, only: None, except: None }
    }

    /// The same rule, with where it was written, for messages: a file and a position.
    #[must_use]
    pub fn written_at(self, place: impl Into<String>) -> Self {
        Self { place: Some(place.into()), ..self }
    }

    /// The same rule, for these servers only.
    #[must_use]
    pub fn only_for(self, servers: Arc<BTreeSet<String>>) -> Self {
        Self { only: Some(servers), ..self }
    }

    /// The same rule, but for these servers.
    #[must_use]
    pub fn except_for(self, servers: Arc<BTreeSet<String>>) -> Self {
        Self { except: Some(servers), ..self }
    }

    /// What it says.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Which calls it is about.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Where it was written, if that is known.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// Whether it may be about this server, whatever its pattern says.
    fn reaches(&self, server: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(server))
            && self.except.as_ref().is_none_or(|except| !except.contains(server))
    }

    fn judge(&self, call: &Call<'_>, arguments: &Arguments<'_>) -> Match {
        if !self.reaches(call.server) || !self.pattern.matches_tool(call.server, call.tool) {
            return Match::No;
        }
        let matches = self.pattern.conditions().iter();
        let matches = matches.map(|condition| arguments.judge(self.effect, condition));
        matches.fold(Match::Yes, Match::and)
    }
}

/// A call that a model, or a person, wants to be made.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The name of the server in the config.
    pub server: &'a str,
    /// The tool's own name, as the server gives it.
    pub tool: &'a str,
    /// The arguments as JSON text, exactly as they would be sent. Empty counts
    /// as `{}`.
    pub arguments: &'a str,
    /// Whether the server is built into Carrick *and* the tool says that it
    /// only reads. What a foreign server says about itself proves nothing and
    /// must not set this.
    pub builtin_read: bool,
}

/// What is to be done with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Run it.
    Allow,
    /// Ask a person first.
    Ask,
    /// Do not run it.
    Deny,
}

/// A verdict and what led to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// What is to be done.
    pub verdict: Verdict,
    /// Why.
    pub reason: Reason,
}

impl Decision {
    /// Whether a rule that denies may be meant. Then somebody must look; a general
    /// permission is not enough.
    pub fn may_be_denied(&self) -> bool {
        matches!(&self.reason, Reason::Unclear(rule) if rule.effect == Effect::Deny)
    }
}

/// What led to a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A rule that matches.
    Rule(Rule),
    /// A rule on an argument that cannot be judged, so a person must.
    Unclear(Rule),
    /// No rule matches; a built-in server's tool that only reads.
    BuiltinRead,
    /// No rule matches.
    NoRule,
}

/// The rules in force.
///
/// Every rule is looked at; their order and how exact they are do not matter.
/// Deny counts over ask, ask over allow. With no rule, tools of the built-in
/// servers that only read are allowed, and all else asks.
///
/// A rule with a condition on an argument does not match a call without that
/// argument. What a server makes of a value is not known: it may decode percents,
/// resolve a path, drop hidden characters, take letters for others that look the
/// same. A rule that denies or asks holds if any reading of the value matches,
/// one that allows only if all do. Numbers are compared by what they are worth.
///
/// Some values cannot be judged by looking at them: an argument that stands there
/// twice, a list or an object, a text with a `..` step in a path or with hidden
/// characters, arguments that are no JSON object; for rules that deny or ask also
/// one that differs by the case of letters, in value or name. Such a call is never
/// allowed by that rule; if the rule says ask or deny, it asks, and
/// [`Decision::may_be_denied`] says that only a person may answer.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<Rule>,
}

impl Policy {
    /// A policy of these rules.
    pub fn new(rules: Vec<Rule>) -> Self {
        Self { rules }
    }

    /// Adds a rule, such as what a person allowed for the rest of a session.
    pub fn add(&mut self, rule: Rule) {
        self.rules.push(rule);
    }

    /// The verdict on a call.
    pub fn decide(&self, call: &Call<'_>) -> Decision {
        let arguments = Arguments::of(call.arguments);
        let judged = self.rules.iter().map(|rule| (rule, rule.judge(call, &arguments)));
        let judged: Vec<_> = judged.filter(|(_, matched)| *matched != Match::No).collect();
        let find = |effect, wanted| {
            let mut hits = judged.iter().filter(|(rule, _)| rule.effect == effect);
            hits.find(|(_, matched)| *matched == wanted).map(|(rule, _)| (*rule).clone())
        };
        let decision = |verdict, reason| Decision { verdict, reason };
        if let Some(rule) = find(Effect::Deny, Match::Yes) {
            return decision(Verdict::Deny, Reason::Rule(rule));
        }
        if let Some(rule) = find(Effect::Deny, Match::Unclear) {
            return decision(Verdict::Ask, Reason::Unclear(rule));
        }
        if let Some(rule) = find(Effect::Ask, Match::Yes) {
            return decision(Verdict::Ask, Reason::Rule(rule));
        }
        if let Some(rule) = find(Effect::Ask, Match::Unclear) {
            return decision(Verdict::Ask, Reason::Unclear(rule));
        }
        if let Some(rule) = find(Effect::Allow, Match::Yes) {
            return decision(Verdict::Allow, Reason::Rule(rule));
        }
        if call.builtin_read {
            return decision(Verdict::Allow, Reason::BuiltinRead);
        }
        match find(Effect::Allow, Match::Unclear) {
            Some(rule) => decision(Verdict::Ask, Reason::Unclear(rule)),
            None => decision(Verdict::Ask, Reason::NoRule),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.effect, quoted(&self.pattern.to_string()))?;
        match &self.place {
            Some(place) => write!(f, " ({})", visible(place)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "rule: {rule}"),
            Self::Unclear(rule) => write!(f, "the arguments cannot be judged by rule: {rule}"),
            Self::BuiltinRead => f.write_str("a built-in tool that only reads"),
            Self::NoRule => f.write_str("no rule matches"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    Yes,
    No,
    Unclear,
}

impl Match {
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Unclear, _) | (_, Self::Unclear) => Self::Unclear,
            (Self::Yes, Self::Yes) => Self::Yes,
        }
    }
}

/// The arguments of a call, one level deep; `None` if they are no object.
struct Arguments<'a>(Option<Vec<(String, &'a RawValue)>>);

impl<'a> Arguments<'a> {
    fn of(text: &'a str) -> Self {
        match text.trim_ascii() {
            "" => Self(Some(Vec::new())),
            text => Self(json::members(text).ok()),
        }
    }

    fn judge(&self, effect: Effect, condition: &Condition) -> Match {
        let Some(members) = &self.0 else { return Match::Unclear };
        let wanted = reading::folded(&condition.argument);
        let (mut named, mut like) = (Vec::new(), Vec::new());
        for (name, value) in members {
            if *name == condition.argument {
                named.push(Seen::of(value.get(), &condition.value));
            } else if reading::folded(name) == wanted {
                like.push(Seen::of(value.get(), &condition.value));
            }
        }
        match effect {
            Effect::Allow => allows(&named, &like),
            Effect::Ask | Effect::Deny => forbids(&named, &like),
        }
    }
}

/// Whether a condition of a rule that allows holds: for all that the values of its
/// argument may be taken for.
fn allows(named: &[Seen], like: &[Seen]) -> Match {
    match (named, like) {
        ([], _) => Match::No,
        ([seen], []) if seen.clear && seen.all => Match::Yes,
        ([seen], []) if seen.clear && !seen.any => Match::No,
        _ => Match::Unclear,
    }
}

/// Whether a condition of a rule that asks or denies holds: for anything that the values
/// of its argument, or of one whose name is nearly the same, may be taken for.
fn forbids(named: &[Seen], like: &[Seen]) -> Match {
    let doubtful = |seen: &Seen| !seen.clear || seen.nearly || seen.any;
    if named.iter().any(|seen| seen.any) {
        Match::Yes
    } else if named.len() > 1 || named.iter().chain(like).any(doubtful) {
        Match::Unclear
    } else {
        Match::No
    }
}

#[cfg(test)]
mod tests;
