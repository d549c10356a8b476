//! What crosses a bridge, compared with what must.

use super::observe::Observer;
use super::seen::{Observed, Seen};
use carrick::Client;
use carrick::client::Hooks;
use carrick::proto::method::Method;
use carrick::proto::revision::{Part, Revision, method_row};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// What is claimed of a feature between two revisions.
#[derive(Clone, Copy, Debug)]
pub enum Claim<'a> {
    /// Its client observes what one of the server's revision does.
    Same,
    /// It observes what the translation leaves, and this is what that loses:
    /// what happens to each place, with `; ` between.
    Less(&'a str),
    /// The server is told that it cannot ask: its client observes what one does
    /// that offers nothing, and is not asked.
    NotOffered,
}

/// What has no place in the client's revision: where, and what happens to it.
type Lost = BTreeSet<(String, &'static str)>;

/// What clients of a server's own revision observe with nothing between.
pub struct Straight {
    revision: Revision,
    /// By a client that answers whatever it is asked.
    offering: Observed,
    /// By one that can be asked nothing.
    silent: Observed,
}

impl Straight {
    /// Observes through clients that `connect` makes: one that answers whatever
    /// it is asked, and one that can be asked nothing.
    pub async fn observe(revision: Revision, connect: impl AsyncFn(Hooks) -> Client) -> Self {
        let observer = Observer::default();
        let offering = observer.observe(&connect(observer.hooks()).await).await;
        let silent = observer.questions(&connect(Hooks::default()).await).await;
        Self { revision, offering, silent }
    }

    /// The features observed, by name.
    pub fn features(&self) -> impl Iterator<Item = &'static str> {
        self.offering.keys().copied()
    }

    /// Compares what a client of `client` observed of `feature` through a bridge
    /// with what it must observe: what the translation makes of what was
    /// observed straight, and no less.
    ///
    /// # Errors
    /// What is not as it must be.
    pub fn compare(
        &self,
        feature: &str,
        claim: Claim<'_>,
        client: Revision,
        seen: &Observed,
    ) -> Result<(), String> {
        let of = |observed: &Observed| {
            let of = observed.get(feature).filter(|all| !all.is_empty());
            of.cloned().ok_or_else(|| format!("{feature:?} was not observed"))
        };
        let seen = of(seen)?;
        let straight = match claim {
            Claim::NotOffered => of(&self.silent)?,
            _ => of(&self.offering)?,
        };
        if let Some(failed) = straight.iter().find(|seen| seen.is_failed()) {
            return Err(format!("it fails with nothing between: {}", failed.value));
        }
        let (mut must, lost) = self.crossed(&straight, client)?;
        if matches!(claim, Claim::NotOffered) && seen == self.no_such_question(feature) {
            must = seen.clone();
        }
        if seen != must {
            return Err(differ("what translation leaves", &must, &seen));
        }
        match claim {
            Claim::Same => self.same(&straight, &seen, client, &lost),
            Claim::Less(how) => less(how, &lost, &straight, &seen),
            Claim::NotOffered => refused(&seen),
        }
    }

    fn crossed(&self, straight: &[Seen], client: Revision) -> Result<(Vec<Seen>, Lost), String> {
        let (mut must, mut lost) = (Vec::new(), BTreeSet::new());
        for seen in straight {
            let (seen, losses) = seen.crossed(self.revision, client)?;
            must.push(seen);
            lost.extend(losses.iter().map(|loss| (loss.path.clone(), loss.how)));
        }
        Ok((must, lost))
    }

    /// What the server says of a question that its revision lacks to a client that
    /// offers it all the same, having begun with a newer revision.
    fn no_such_question(&self, feature: &str) -> Vec<Seen> {
        let method = Method::ElicitationCreate;
        let exists = method_row(method).is_some_and(|row| row.exists_in(self.revision));
        if feature != "elicitation" || exists {
            return Vec::new();
        }
        let (revision, name) = (self.revision, method.name());
        let text =
            format!("the client cannot be asked: revision {revision} has no {name} from a server");
        let content = json!([{ "type": "text", "text": text }]);
        let result = json!({ "content": content, "isError": true });
        vec![Seen::of(Part::Result(Method::ToolsCall), result)]
    }

    fn same(
        &self,
        straight: &[Seen],
        seen: &[Seen],
        client: Revision,
        lost: &Lost,
    ) -> Result<(), String> {
        let neutral = |all: &[Seen], seen_in| -> Result<Vec<Seen>, String> {
            all.iter().map(|seen| seen.neutral(seen_in)).collect()
        };
        let (straight, seen) = (neutral(straight, self.revision)?, neutral(seen, client)?);
        if straight != seen {
            return Err(differ("what is observed straight", &straight, &seen));
        }
        if !lost.is_empty() {
            return Err(format!("not all is the same: {lost:?}"));
        }
        Ok(())
    }
}

/// What is different is what is said to be lost, and all that is lost is said.
pub(super) fn less(how: &str, lost: &Lost, straight: &[Seen], seen: &[Seen]) -> Result<(), String> {
    let claimed: BTreeSet<String> = how.split("; ").map(str::to_owned).collect();
    let told: BTreeSet<String> = lost.iter().map(|(path, how)| format!("`{path}` {how}")).collect();
    if claimed != told {
        return Err(format!("{told:?} is lost, and not {claimed:?}"));
    }
    let mut different = BTreeSet::new();
    for (straight, seen) in straight.iter().zip(seen) {
        differences("", &straight.value, &seen.value, &mut different);
    }
    let is_told = |path: &String| lost.iter().any(|(lost, _)| lost == path);
    match different.iter().find(|path| !is_told(path)) {
        Some(path) => Err(format!("`{path}` is different without a word")),
        None if different.is_empty() => Err("nothing is different".into()),
        None => Ok(()),
    }
}

/// Where two values differ, with `*` for any element, as losses say it: what is of
/// another type differs as a whole.
fn differences(path: &str, one: &Value, two: &Value, found: &mut BTreeSet<String>) {
    let below = |step: &str| if path.is_empty() { step.into() } else { format!("{path}.{step}") };
    match (one, two) {
        (Value::Object(one), Value::Object(two)) if one.get("type") == two.get("type") => {
            let names: BTreeSet<&String> = one.keys().chain(two.keys()).collect();
            for name in names {
                let of = |object: &Map<String, Value>| object.get(name).cloned();
                let (one, two) = (of(one).unwrap_or_default(), of(two).unwrap_or_default());
                differences(&below(name), &one, &two, found);
            }
        }
        (Value::Array(one), Value::Array(two)) if one.len() == two.len() => {
            for (one, two) in one.iter().zip(two) {
                differences(&below("*"), one, two, found);
            }
        }
        (one, two) if one == two => {}
        _ => drop(found.insert(path.to_owned())),
    }
}

fn refused(seen: &[Seen]) -> Result<(), String> {
    if let Some(question) = seen.iter().find(|seen| seen.is_question()) {
        return Err(format!("its client was asked: {question:?}"));
    }
    match seen {
        [answer] if answer.is_error() => Ok(()),
        other => Err(format!("it must end with a clear error: {other:?}")),
    }
}

fn differ(what: &str, must: &[Seen], seen: &[Seen]) -> String {
    let at = must.iter().zip(seen).take_while(|(must, seen)| must == seen).count();
    let (must, seen) = (must.get(at), seen.get(at));
    format!("not {what}, from part {at} on:\n must be {must:?}\n but was {seen:?}")
}
