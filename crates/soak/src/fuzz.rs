//! Runs the targets: first on their seeds as they are, then on changed ones.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::random::Random;
use crate::targets::Target;

/// The longest input that is made.
const LONGEST: usize = 64 << 10;

/// How long to go on.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// For so many cases beyond the seeds.
    Cases(u64),
    /// For so long.
    Time(Duration),
}

/// What a target does not hold for.
#[derive(Debug)]
pub struct Failure {
    target: &'static str,
    data: Vec<u8>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} does not hold for b\"{}\"", self.target, self.data.escape_ascii())
    }
}

impl std::error::Error for Failure {}

/// Runs a target; how many cases there were. The same seed makes the same cases.
///
/// # Errors
///
/// The first input that makes the target panic; the panic has said why.
pub fn run(target: &Target, seed: u64, extent: Extent) -> Result<u64, Failure> {
    let seeds = (target.seeds)();
    let mut cases = 0;
    for data in &seeds {
        check(target, data)?;
        cases += 1;
    }
    let mut random = Random::new(seed);
    let begin = Instant::now();
    let mut made = 0;
    loop {
        let over = match extent {
            Extent::Cases(count) => made >= count,
            Extent::Time(time) => made % 64 == 0 && begin.elapsed() >= time,
        };
        if over {
            return Ok(cases + made);
        }
        check(target, &random.case(&seeds, LONGEST))?;
        made += 1;
    }
}

fn check(target: &Target, data: &[u8]) -> Result<(), Failure> {
    catch_unwind(AssertUnwindSafe(|| (target.run)(data)))
        .map_err(|_| Failure { target: target.name, data: data.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PICKY: Target = Target {
        name: "picky",
        run: |data| assert!(!data.windows(2).any(|pair| pair == b"\\u"), "a panic of the test"),
        seeds: || vec![b"abc".to_vec()],
    };

    #[test]
    fn a_failure_is_found_and_can_be_repeated() {
        let found = |seed| run(&PICKY, seed, Extent::Cases(10_000)).unwrap_err().to_string();
        let text = found(1);
        assert!(
            text.starts_with("picky does not hold for b\"") && text.contains("\\\\u"),
            "{text}"
        );
        assert_eq!(text, found(1));
    }
}
