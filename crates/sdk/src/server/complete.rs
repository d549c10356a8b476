//! Completing what a user types (`server/utilities/completion`).

use super::CallInfo;
use futures_util::future::{BoxFuture, FutureExt, ready};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// Values that one answer may have.
const MOST: usize = 100;

/// What a user has typed so far.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Completing {
    /// The argument's text.
    pub value: String,
    /// Arguments that are filled in already.
    pub arguments: BTreeMap<String, String>,
    /// Who asks. A server always knows; a test of the function alone may not.
    pub info: Option<CallInfo>,
}

impl Completing {
    pub(super) fn of(self, info: &CallInfo) -> Self {
        Self { info: Some(info.clone()), ..self }
    }
}

/// What it may become.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    values: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    has_more: bool,
}

impl Completion {
    /// The best of `total` values. More than 100 are not sent.
    pub fn best_of(values: impl IntoIterator<Item = String>, total: usize) -> Self {
        let values: Vec<String> = values.into_iter().take(MOST).collect();
        let has_more = total > values.len();
        Self { values, total: Some(total), has_more }
    }

    /// Values of a number that nobody knows.
    pub fn some(values: impl IntoIterator<Item = String>, has_more: bool) -> Self {
        let mut values = values.into_iter();
        let best: Vec<String> = values.by_ref().take(MOST).collect();
        let has_more = has_more || values.next().is_some();
        Self { values: best, total: None, has_more }
    }
}

impl<T: Into<String>> FromIterator<T> for Completion {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        let values: Vec<String> = values.into_iter().map(Into::into).collect();
        let total = values.len();
        Self::best_of(values, total)
    }
}

impl<T: Into<String>> From<Vec<T>> for Completion {
    fn from(values: Vec<T>) -> Self {
        values.into_iter().collect()
    }
}

type Complete = dyn Fn(Completing) -> BoxFuture<'static, Completion> + Send + Sync;

/// Completes one argument.
#[derive(Clone)]
pub(super) struct Completer(Arc<Complete>);

impl Completer {
    /// Those of a list that begin with what was typed, in any letter case.
    pub(super) fn of_list<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Self {
        let values: Vec<(String, String)> = values
            .into_iter()
            .map(|value| {
                let value = value.into();
                (value.to_lowercase(), value)
            })
            .collect();
        Self(Arc::new(move |typed| {
            let start = typed.value.to_lowercase();
            let fits = values.iter().filter(|(lower, _)| lower.starts_with(&start));
            ready(fits.map(|(_, value)| value).collect()).boxed()
        }))
    }

    pub(super) fn of_function<F, Fut, C>(function: F) -> Self
    where
        F: Fn(Completing) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = C> + Send + 'static,
        C: Into<Completion> + 'static,
    {
        Self(Arc::new(move |typed| function(typed).map(Into::into).boxed()))
    }

    pub(super) fn complete(&self, typed: Completing) -> BoxFuture<'static, Completion> {
        (self.0)(typed)
    }
}

impl fmt::Debug for Completer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Completer")
    }
}

/// The parameters of `completion/complete`.
#[derive(Deserialize)]
pub(super) struct Params {
    #[serde(rename = "ref", deserialize_with = "object")]
    pub(super) of: Reference,
    #[serde(deserialize_with = "object")]
    pub(super) argument: Argument,
    #[serde(default, deserialize_with = "maybe_object")]
    context: Option<Filled>,
}

#[derive(Deserialize)]
#[serde(tag = "type")]
pub(super) enum Reference {
    #[serde(rename = "ref/prompt")]
    Prompt { name: String },
    #[serde(rename = "ref/resource")]
    Resource { uri: String },
}

#[derive(Deserialize)]
pub(super) struct Argument {
    pub(super) name: String,
    value: String,
}

#[derive(Deserialize)]
struct Filled {
    #[serde(default)]
    arguments: Option<BTreeMap<String, String>>,
}

/// Reads what must be an object. Left to itself, the reader takes an array of
/// the members' values too.
fn object<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<T, D::Error> {
    let members = serde_json::Map::deserialize(from)?;
    serde_json::from_value(members.into()).map_err(D::Error::custom)
}

fn maybe_object<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let members = Option::<serde_json::Map<String, serde_json::Value>>::deserialize(from)?;
    members
        .map(|members| serde_json::from_value(members.into()).map_err(D::Error::custom))
        .transpose()
}

impl Params {
    pub(super) fn typed(self) -> Completing {
        let arguments = self.context.and_then(|context| context.arguments).unwrap_or_default();
        Completing { value: self.argument.value, arguments, info: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_at_most_a_hundred_values_and_says_that_there_are_more() {
        let many = || (0..250).map(|n| n.to_string());
        let all: Completion = many().collect();
        assert_eq!((all.values.len(), all.total, all.has_more), (100, Some(250), true));
        let some = Completion::some(many(), false);
        assert_eq!((some.values.len(), some.total, some.has_more), (100, None, true));
        let few = Completion::some(many().take(100), false);
        assert_eq!((few.values.len(), few.has_more), (100, false));
        assert!(Completion::some(many().take(1), true).has_more);
        let best = Completion::best_of(many().take(2), 7);
        assert_eq!(
            serde_json::to_string(&best).unwrap(),
            r#"{"values":["0","1"],"total":7,"hasMore":true}"#
        );
    }

    #[test]
    fn a_list_is_completed_by_how_its_values_begin() {
        let list = Completer::of_list(["Berlin", "bern", "Ödenburg", "Paris"]);
        let complete = |value: &str| {
            let typed = Completing { value: value.into(), ..Completing::default() };
            list.complete(typed).now_or_never().unwrap().values
        };
        assert_eq!(complete("BER"), ["Berlin", "bern"]);
        assert_eq!(complete("ö"), ["Ödenburg"]);
        assert_eq!(complete("").len(), 4);
        assert!(complete("x").is_empty());
    }
}
