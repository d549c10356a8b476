//! Each fuzz target for a moment, on the same inputs in every run.
#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test; the lint only knows test functions"
)]

use carrick_soak::fuzz::{Extent, run};
use carrick_soak::targets::ALL;

/// Few enough to take seconds without optimization.
const CASES: u64 = 4_000;

fn hold(name: &str) {
    let target = ALL.iter().find(|target| target.name == name).unwrap();
    let seeds = (target.seeds)().len();
    assert!(seeds > 2, "{seeds} seeds");
    let cases = run(target, 1, Extent::Cases(CASES)).unwrap_or_else(|failure| panic!("{failure}"));
    assert_eq!(cases, seeds as u64 + CASES);
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            hold(stringify!($name));
        })*

        #[test]
        fn none_is_left_out() {
            assert_eq!(ALL.map(|target| target.name), [$(stringify!($name)),*]);
        }
    };
}

targets! { envelope edits translate sse stdio header state schema }
