//! The official conformance suite against our test server and our test client, and against
//! the same server behind `carrick serve`.
//!
//! Every scenario is a run of the suite of its own: run together, the suite ignores how a
//! client ended, and what one scenario leaves behind reaches the next.

use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use crate::Result;

mod rig;
mod scenarios;
mod suite;
mod verdict;

use rig::{Rig, Target};
use scenarios::Scenario;
use suite::Suite;
use verdict::Verdict;

const USAGE: &str = "usage: cargo xtask conformance [--install | --list] [--jobs N] [filter…]";

/// One scenario and the way to what it tests.
#[derive(Debug, Clone, Copy)]
struct Run {
    target: Target,
    scenario: Scenario,
}

impl std::fmt::Display for Run {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.target.name(), self.scenario)
    }
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// Only install the suite.
    install: bool,
    /// Only say what would be run.
    list: bool,
    /// Runs at a time.
    jobs: usize,
    /// Parts of the names of the runs; none for all.
    filters: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { install: false, list: false, jobs: 2, filters: Vec::new() }
    }
}

impl Options {
    fn new(arguments: &[String]) -> Result<Options> {
        let mut options = Options::default();
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--install" => options.install = true,
                "--list" => options.list = true,
                "--jobs" => {
                    let jobs = arguments.next().and_then(|jobs| jobs.parse().ok());
                    options.jobs =
                        jobs.filter(|jobs| *jobs > 0).ok_or("--jobs needs a number, at least 1")?;
                }
                flag if flag.starts_with("--") => return Err(format!("no flag {flag:?}\n{USAGE}")),
                filter => options.filters.push(filter.to_owned()),
            }
        }
        Ok(options)
    }

    fn chosen(&self) -> Vec<Run> {
        let runs = Target::ALL.into_iter().flat_map(|target| {
            let scenarios = scenarios::all().into_iter();
            let reached = scenarios.filter(move |scenario| target.reaches(scenario));
            reached.map(move |scenario| Run { target, scenario })
        });
        runs.filter(|run| {
            let name = run.to_string();
            self.filters.is_empty() || self.filters.iter().any(|part| name.contains(part.as_str()))
        })
        .collect()
    }
}

/// `cargo xtask conformance`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = Options::new(arguments)?;
    if options.install {
        return Suite::install().map(drop);
    }
    if options.list {
        options.chosen().iter().for_each(|run| println!("{run}"));
        scenarios::left_out().for_each(|line| println!("left out: {line}"));
        return Ok(());
    }
    let Outcome { passed, failed } = check(&options)?;
    println!("{passed} passed, {failed} failed");
    if failed == 0 { Ok(()) } else { Err(String::new()) }
}

/// How many scenarios passed and failed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
}

/// Runs every scenario.
pub(crate) fn run_all() -> Result<Outcome> {
    check(&Options::default())
}

fn check(options: &Options) -> Result<Outcome> {
    let chosen = options.chosen();
    if chosen.is_empty() {
        return Err(format!("no scenario is named like {}", options.filters.join(" or ")));
    }
    let rig = Rig::new()?;
    scenarios::compare(&rig.suite().list()?)?;
    let waiting = Mutex::new(chosen.into_iter());
    let outcome = Mutex::new(Outcome::default());
    thread::scope(|scope| {
        for _ in 0..options.jobs {
            scope.spawn(|| {
                while let Some(run) = next(&waiting) {
                    report(&rig, run, &outcome);
                }
            });
        }
    });
    outcome.into_inner().map_err(|_| "a scenario's report panicked".to_owned())
}

/// The next run to do; none as well when another worker has panicked.
fn next(waiting: &Mutex<impl Iterator<Item = Run>>) -> Option<Run> {
    waiting.lock().ok()?.next()
}

fn report(rig: &Rig, run: Run, outcome: &Mutex<Outcome>) {
    let begin = Instant::now();
    let Verdict { passed, problems } = rig.judge(run).unwrap_or_else(Verdict::failed);
    let seconds = begin.elapsed().as_secs_f64();
    // The lock keeps the lines of one scenario together as well.
    let Ok(mut outcome) = outcome.lock() else { return };
    if problems.is_empty() {
        outcome.passed += 1;
        println!("  ok    {run} ({passed} checks, {seconds:.1} s)");
        return;
    }
    outcome.failed += 1;
    println!("  FAIL  {run} ({passed} checks passed, {seconds:.1} s)");
    problems.iter().for_each(|problem| println!("        {}", problem.replace('\n', "\n        ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(arguments: &[&str]) -> Result<Options> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        Options::new(&arguments)
    }

    #[test]
    fn flags_and_filters_are_told_apart() {
        let expected = Options { jobs: 3, filters: vec!["ping".into()], ..Options::default() };
        assert_eq!(options(&["--jobs", "3", "ping"]), Ok(expected));
        for wrong in [&["--jobs"][..], &["--jobs", "0"], &["--jobs", "x"], &["--nothing"]] {
            assert!(options(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn filters_choose_by_parts_of_names() {
        let names = |filters: &[&str]| -> Vec<String> {
            options(filters).unwrap().chosen().iter().map(Run::to_string).collect()
        };
        assert_eq!(
            names(&["/ping", "sse-retry"]),
            [
                "direct/server/2025-06-18/ping",
                "direct/server/2025-11-25/ping",
                "direct/client/2025-11-25/sse-retry",
                "gateway/server/2025-06-18/ping",
                "gateway/server/2025-11-25/ping"
            ]
        );
        assert_eq!(names(&["nothing like it"]), [""; 0]);
        assert!(names(&[]).len() > 100);
    }
}
