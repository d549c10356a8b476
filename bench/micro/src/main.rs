//! How often a message makes Carrick allocate, and how many bytes.
//!
//! `allocations` prints a table; `allocations SCENARIO CALLS` only makes so many calls, for
//! a profiler to watch. Each scenario runs twice, with few calls and with many: the
//! difference leaves out what a start costs. Counted is the thread that runs the measured
//! program alone, its peers are on others.

mod engines;
mod peers;
mod programs;

use std::error::Error;

use micro::messages::{self, MODERN, SESSION};
use programs::{Over, Work, client, gateway, server};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

type Run = fn(Work<'_>) -> Result<()>;

const SCENARIOS: [(&str, Run); 18] = [
    ("scan", engines::scan),
    ("engines, session", |work| engines::pass(SESSION, SESSION, work)),
    ("engines, modern", |work| engines::pass(MODERN, MODERN, work)),
    ("engines, session to modern", |work| engines::pass(SESSION, MODERN, work)),
    ("engines, modern to session", |work| engines::pass(MODERN, SESSION, work)),
    ("server, lines, session", |work| server(Over::Lines, SESSION, work)),
    ("server, lines, modern", |work| server(Over::Lines, MODERN, work)),
    ("server, HTTP, session", |work| server(Over::Http, SESSION, work)),
    ("server, HTTP, modern", |work| server(Over::Http, MODERN, work)),
    ("client, lines, session", |work| client(SESSION, work)),
    ("client, lines, modern", |work| client(MODERN, work)),
    ("gateway, lines, session", |work| gateway(Over::Lines, SESSION, SESSION, work)),
    ("gateway, lines, modern", |work| gateway(Over::Lines, MODERN, MODERN, work)),
    ("gateway, HTTP, session", |work| gateway(Over::Http, SESSION, SESSION, work)),
    ("gateway, HTTP, modern", |work| gateway(Over::Http, MODERN, MODERN, work)),
    ("gateway, lines, session to modern", |work| gateway(Over::Lines, SESSION, MODERN, work)),
    ("gateway, lines, modern to session", |work| gateway(Over::Lines, MODERN, SESSION, work)),
    ("gateway, HTTP, modern to session", |work| gateway(Over::Http, MODERN, SESSION, work)),
];

/// Bytes of the echoed text.
const SIZES: [usize; 2] = [100, 10_240];

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => table(),
        [name, calls] => {
            let run = SCENARIOS.iter().find(|(known, _)| *known == name);
            let (_, run) = run.ok_or_else(|| format!("no scenario named {name:?}"))?;
            run(Work { text: &messages::text(SIZES[0]), calls: calls.parse()? })
        }
        _ => Err("usage: allocations [SCENARIO CALLS]".into()),
    }
}

fn table() -> Result<()> {
    let [small, large] = SIZES;
    println!("| scenario | {small} B: allocations | bytes | {large} B: allocations | bytes |");
    println!("|---|---:|---:|---:|---:|");
    for (name, run) in SCENARIOS {
        print!("| {name} |");
        for size in SIZES {
            let (count, bytes) = for_each(run, &messages::text(size))
                .map_err(|error| format!("{name}, {size} bytes: {error}"))?;
            print!(" {count:.1} | {bytes:.0} |");
        }
        println!();
    }
    Ok(())
}

/// Allocations and bytes for each call.
fn for_each(run: Run, text: &str) -> Result<(f64, f64)> {
    const CALLS: (u64, u64) = (200, 1_200);
    let mut outcome = Ok(());
    let mut count = |calls| {
        let run =
            || outcome = std::mem::replace(&mut outcome, Ok(())).and(run(Work { text, calls }));
        let counted = allocation_counter::measure(run);
        (counted.count_total as f64, counted.bytes_total as f64)
    };
    let (few, many) = (count(CALLS.0), count(CALLS.1));
    outcome?;
    let between = (CALLS.1 - CALLS.0) as f64;
    Ok(((many.0 - few.0) / between, (many.1 - few.1) / between))
}
