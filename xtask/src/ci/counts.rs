//! How many checks passed, read from what the test runners print.

use crate::interop;

/// Checks that passed and failed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Counts {
    /// A step that is one check, passed.
    pub(crate) const PASSED: Counts = Counts { passed: 1, failed: 0 };
    /// A step that is one check, failed.
    pub(crate) const FAILED: Counts = Counts { passed: 0, failed: 1 };

    /// Both together.
    pub(crate) fn plus(self, other: Counts) -> Counts {
        Counts { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }

    /// Reads the summary of cargo-nextest, such as
    /// `Summary [ 0.1s] 3 tests run: 2 passed (1 slow), 1 timed out, 0 skipped`.
    ///
    /// A run that was cut short says `2/3 tests run`; the rest counts as failed.
    pub(crate) fn from_nextest(output: &str) -> Option<Counts> {
        let summary = output
            .lines()
            .rev()
            .map(without_colours)
            .find(|line| line.trim_start().starts_with("Summary ["))?;
        let (head, tail) = summary.split_once(" run:")?;
        let run = head.rsplit(']').next()?.split_whitespace().next()?;
        let (run, planned) = run.split_once('/').unwrap_or((run, run));
        let never_run = planned.parse::<u64>().ok()?.saturating_sub(run.parse().ok()?);
        let mut counts = Counts { passed: 0, failed: never_run };
        for part in without_parentheses(tail).split(',') {
            let (number, what) = part.trim().split_once(' ')?;
            let number: u64 = number.parse().ok()?;
            match what.trim() {
                "passed" => counts.passed += number,
                "skipped" => {}
                // failed, timed out, exec failed, and whatever may come to be
                _ => counts.failed += number,
            }
        }
        Some(counts)
    }

    /// Adds up the lines of `cargo test`, such as
    /// `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out`.
    pub(crate) fn from_cargo_test(output: &str) -> Option<Counts> {
        let mut total: Option<Counts> = None;
        for line in output.lines().filter_map(|line| line.strip_prefix("test result: ")) {
            let counts = Counts {
                passed: number_before(line, " passed")?,
                failed: number_before(line, " failed")?,
            };
            total = Some(total.unwrap_or_default().plus(counts));
        }
        total
    }
}

impl From<interop::Outcome> for Counts {
    fn from(outcome: interop::Outcome) -> Counts {
        Counts { passed: outcome.passed as u64, failed: outcome.failed as u64 }
    }
}

fn number_before(line: &str, word: &str) -> Option<u64> {
    let (head, _) = line.split_once(word)?;
    head.rsplit(' ').next()?.parse().ok()
}

fn without_parentheses(text: &str) -> String {
    let mut depth = 0_usize;
    let kept = text.chars().filter(|character| {
        match character {
            '(' => depth += 1,
            ')' => {
                depth = depth.saturating_sub(1);
                return false;
            }
            _ => {}
        }
        depth == 0
    });
    kept.collect()
}

/// The line without terminal escapes, which a runner writes when it is told to.
fn without_colours(line: &str) -> String {
    let mut plain = String::new();
    let mut rest = line;
    while let Some((before, escape)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        rest = escape.split_once('m').map_or("", |(_, after)| after);
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nextest(line: &str) -> Option<(u64, u64)> {
        Counts::from_nextest(&format!("    PASS a\n{line}\n"))
            .map(|counts| (counts.passed, counts.failed))
    }

    #[test]
    fn nextest_summaries_are_read() {
        for (line, expected) in [
            ("     Summary [   0.005s] 3 tests run: 3 passed, 0 skipped", (3, 0)),
            ("     Summary [   1.2s] 1 test run: 1 passed, 12 skipped", (1, 0)),
            (
                "     Summary [  10.1s] 12 tests run: 9 passed (1 slow, 2 flaky), 1 failed, 2 timed out, 0 skipped",
                (9, 3),
            ),
            (
                "     Summary [  10.1s] 5 tests run: 3 passed (1 leaky), 1 failed (1 due to being leaky), 1 exec failed, 0 skipped",
                (3, 2),
            ),
            ("     Summary [   0.3s] 2/10 tests run: 1 passed, 1 failed, 0 skipped", (1, 9)),
            ("     Summary [   0.0s] 0 tests run: 0 passed, 0 skipped", (0, 0)),
            (
                "\u{1b}[32;1m     Summary\u{1b}[0m [   0.0s] \u{1b}[1m4\u{1b}[0m tests run: \u{1b}[1m4\u{1b}[0m \u{1b}[32;1mpassed\u{1b}[0m, \u{1b}[1m0\u{1b}[0m \u{1b}[33;1mskipped\u{1b}[0m",
                (4, 0),
            ),
        ] {
            assert_eq!(nextest(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn output_without_a_summary_counts_nothing() {
        assert_eq!(nextest("error: could not compile"), None);
        assert_eq!(nextest("Summary [ 1s] many tests run: all passed"), None);
        assert_eq!(Counts::from_cargo_test("error: could not compile"), None);
    }

    #[test]
    fn results_of_cargo_test_are_added_up() {
        let output = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\nx\ntest result: FAILED. 1 passed; 2 failed; 0 ignored";
        assert_eq!(Counts::from_cargo_test(output), Some(Counts { passed: 4, failed: 2 }));
    }
}
