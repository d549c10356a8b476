//! Runs the cases one after another, each in a runtime of its own.

use std::{future::Future, panic::AssertUnwindSafe, pin::Pin};

use tokio::time::timeout;

use crate::{afresh, connect, guard, hostile, stdio, support::BOUND};

pub(crate) type Case = fn() -> Pin<Box<dyn Future<Output = ()>>>;

/// Makes the list of a file's cases.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) const CASES: &[(&str, $crate::runner::Case)] =
            &[$((stringify!($name), || Box::pin($name()))),*];
    };
}
pub(crate) use cases;

/// The argument that makes this program a host to be killed.
pub(crate) const HOST: &str = "--be-the-host";

/// The same without the opt-in for guards.
pub(crate) const HOST_WITHOUT_GUARD: &str = "--be-the-host-without-guard";

/// The argument that makes this program show the status of a server that has no guard.
pub(crate) const STATUS_WITHOUT_GUARD: &str = "--show-the-status-without-guard";

/// The argument that makes this program show the limits of a server that it starts when its own
/// are raised.
pub(crate) const LIMITS: &str = "--show-the-limits";

/// The same for a server that has no guard.
pub(crate) const LIMITS_WITHOUT_GUARD: &str = "--show-the-limits-without-guard";

/// The argument that makes this program a server.
pub(crate) const SERVER: &str = "--be-the-server";

pub(crate) fn is_without_guard() -> bool {
    let without = [HOST_WITHOUT_GUARD, STATUS_WITHOUT_GUARD, LIMITS_WITHOUT_GUARD];
    std::env::args().nth(1).is_some_and(|argument| without.contains(&argument.as_str()))
}

/// Understands as much of a test harness's arguments as `cargo test` users pass: names to filter
/// by, `--exact`, `--list` and `--ignored`.
pub(crate) fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [HOST | HOST_WITHOUT_GUARD, script] => return runtime().block_on(guard::host(script)),
        [STATUS_WITHOUT_GUARD] => {
            afresh::leave_signals();
            return print!("{}", runtime().block_on(afresh::status()));
        }
        [LIMITS | LIMITS_WITHOUT_GUARD] => {
            return print!("{}", runtime().block_on(afresh::limits()));
        }
        [SERVER] => return runtime().block_on(stdio::server()),
        _ => {}
    }
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--ignored") {
        // There are none. A runner that lists both takes what is on both lists for ignored.
        return;
    }
    let exact = has("--exact");
    let mut filters = Vec::<&str>::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            // The flags with a value that nextest gives.
            "--format" | "--test-threads" => drop(rest.next()),
            flag if flag.starts_with("--") => {}
            name => filters.push(name),
        }
    }
    let wanted = |name: &str| {
        let fits = |filter: &&str| if exact { *filter == name } else { name.contains(filter) };
        filters.is_empty() || filters.iter().any(fits)
    };
    let all = [guard::CASES, afresh::CASES, hostile::CASES, connect::CASES, stdio::CASES]
        .concat()
        .into_iter();
    let chosen = all.filter(|(name, _)| wanted(name));
    if has("--list") {
        chosen.for_each(|(name, _)| println!("{name}: test"));
        return;
    }
    let failed = chosen.filter(|(name, case)| !passes(name, *case)).count();
    if failed > 0 {
        println!("{failed} failed");
        std::process::exit(101);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

fn passes(name: &str, case: Case) -> bool {
    let run = || runtime().block_on(async { timeout(BOUND * 2, case()).await });
    let passed = match std::panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(Ok(())) => true,
        Ok(Err(_)) => {
            println!("{name} did not end");
            false
        }
        Err(_) => false,
    };
    println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
    passed
}
