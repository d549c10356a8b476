//! Which of the calls that somebody wants are within the bounds of a turn.

use super::{TurnLimits, Wanted};
use std::collections::BTreeMap;

/// The calls of one turn, counted.
#[derive(Debug, Default)]
pub struct Tally {
    calls: u64,
    /// How often each call was made, by tool and arguments.
    made: BTreeMap<(String, String), u32>,
}

impl Tally {
    /// The same calls; those over [`TurnLimits::calls`] in all, or made more often than
    /// [`TurnLimits::repeats`], are not to be run and say so.
    pub fn admit(&mut self, wanted: Vec<Wanted>, limits: &TurnLimits) -> Vec<Wanted> {
        wanted
            .into_iter()
            .map(|wanted| match self.objection(&wanted, limits) {
                Some(text) => Wanted { target: Err(format!("not run: {text}")), ..wanted },
                None => wanted,
            })
            .collect()
    }

    fn objection(&mut self, wanted: &Wanted, limits: &TurnLimits) -> Option<String> {
        let target = wanted.target.as_ref().ok()?;
        self.calls += 1;
        if self.calls > limits.calls {
            return Some(format!("the limit of {} calls is reached", limits.calls));
        }
        let key = (target.to_string(), wanted.arguments.get().to_owned());
        let made = self.made.entry(key).or_default();
        *made += 1;
        (*made > limits.repeats).then(|| {
            format!(
                "this very call has been made {} times already; use the results above, or call \
                 with other arguments",
                limits.repeats
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Target;
    use super::*;
    use carrick_policy::names::ToolRef;
    use serde_json::value::RawValue;

    fn wanted(n: usize) -> Wanted {
        let tool = ToolRef { server: "s".into(), tool: "t".into() };
        let arguments = RawValue::from_string(format!("{{\"n\":{n}}}")).unwrap();
        Wanted { id: n.to_string(), target: Ok(Target::Tool(tool)), arguments }
    }

    fn refused(wanted: &[Wanted]) -> Vec<&str> {
        wanted.iter().filter_map(|wanted| wanted.target.as_ref().err()).map(|e| &**e).collect()
    }

    #[test]
    fn f06_calls_over_the_limit_are_refused_whatever_round_they_come_in() {
        let limits = TurnLimits { calls: 3, ..TurnLimits::default() };
        let mut tally = Tally::default();
        let first = tally.admit((0..2).map(wanted).collect(), &limits);
        assert!(refused(&first).is_empty());
        let mut later: Vec<Wanted> = (2..5).map(wanted).collect();
        later[0].target = Err("not run: something else".into());
        let later = tally.admit(later, &limits);
        let limit = "not run: the limit of 3 calls is reached";
        assert_eq!(refused(&later), ["not run: something else", limit]);
    }

    #[test]
    fn the_same_call_is_made_so_often_and_no_more() {
        let limits = TurnLimits { repeats: 2, ..TurnLimits::default() };
        let all = Tally::default().admit(vec![wanted(1), wanted(1), wanted(2), wanted(1)], &limits);
        let refused = refused(&all);
        assert!(refused.len() == 1 && refused[0].contains("2 times already"), "{refused:?}");
        assert!(all[3].target.is_err());
    }
}
