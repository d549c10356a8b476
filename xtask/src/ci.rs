//! Every check of the workspace in one list, for people and for the build machine.

use std::time::{Duration, Instant};

use crate::{Result, setup};

mod counts;
mod steps;

use counts::Counts;

/// One check.
struct Step {
    name: &'static str,
    /// What it checks, for `--list`.
    about: &'static str,
    run: fn() -> Result<Counts>,
}

const USAGE: &str = "usage: cargo xtask ci [--list] [step…]";

/// `cargo xtask ci [--list] [step…]`.
///
/// Runs on after a step that failed, so that one run shows everything there is to mend.
/// The last line is `N passed, N failed`: the tests, and one for each other step.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if arguments.iter().any(|argument| argument == "--list") {
        steps::ALL.iter().for_each(|step| println!("{:<12} {}", step.name, step.about));
        return Ok(());
    }
    let chosen = choose(arguments)?;
    setup::ensure()?;
    let mut rows = Vec::new();
    for step in chosen {
        eprintln!("\n=== {}: {}", step.name, step.about);
        let begin = Instant::now();
        let outcome = (step.run)();
        if let Err(message) = &outcome {
            eprintln!("{}: {message}", step.name);
        }
        rows.push(Row { name: step.name, outcome, time: begin.elapsed() });
    }
    finish(&rows)
}

fn choose(names: &[String]) -> Result<Vec<&'static Step>> {
    if names.is_empty() {
        return Ok(steps::ALL.iter().collect());
    }
    let find = |name: &String| {
        steps::ALL
            .iter()
            .find(|step| step.name == name)
            .ok_or_else(|| format!("no step named {name:?}\n{USAGE}"))
    };
    names.iter().map(find).collect()
}

/// What became of a step.
struct Row {
    name: &'static str,
    outcome: Result<Counts>,
    time: Duration,
}

impl Row {
    /// A step that could not even count what it checked has failed once.
    fn counts(&self) -> Counts {
        *self.outcome.as_ref().unwrap_or(&Counts::FAILED)
    }
}

fn finish(rows: &[Row]) -> Result<()> {
    println!("\n{:<12} {:<22} {:>8}", "step", "result", "seconds");
    for row in rows {
        let counts = row.counts();
        let result = match counts {
            Counts::PASSED => "ok".to_owned(),
            Counts::FAILED => "FAILED".to_owned(),
            Counts { passed, failed: 0 } => format!("ok: {passed} passed"),
            Counts { passed, failed } => format!("FAILED: {failed} of {}", passed + failed),
        };
        println!("{:<12} {result:<22} {:>8.1}", row.name, row.time.as_secs_f64());
    }
    let total = rows.iter().map(Row::counts).fold(Counts::default(), Counts::plus);
    println!("{} passed, {} failed", total.passed, total.failed);
    if total.failed == 0 { Ok(()) } else { Err(String::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(outcome: Result<Counts>) -> Row {
        Row { name: "a", outcome, time: Duration::ZERO }
    }

    #[test]
    fn steps_are_chosen_by_name_and_in_order() {
        let names = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            choose(&names).map(|steps| steps.iter().map(|step| step.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&["tidy", "fmt"]), Ok(vec!["tidy", "fmt"]));
        assert_eq!(names(&[]).unwrap().len(), steps::ALL.len());
        assert!(names(&["nothing"]).unwrap_err().contains("no step named"));
    }

    #[test]
    fn no_two_steps_share_a_name() {
        for (number, step) in steps::ALL.iter().enumerate() {
            assert!(
                steps::ALL[..number].iter().all(|other| other.name != step.name),
                "{}",
                step.name
            );
        }
    }

    #[test]
    fn one_failure_fails_the_whole() {
        assert!(
            finish(&[row(Ok(Counts::PASSED)), row(Ok(Counts { passed: 7, failed: 0 }))]).is_ok()
        );
        assert!(
            finish(&[row(Ok(Counts::PASSED)), row(Ok(Counts { passed: 7, failed: 1 }))]).is_err()
        );
        assert!(finish(&[row(Err("no compiler".into()))]).is_err());
    }
}
