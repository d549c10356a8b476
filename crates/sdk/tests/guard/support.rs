//! Runs the cases one after another, and looks at processes.

use std::{future::Future, panic::AssertUnwindSafe, pin::Pin, time::Duration};

use carrick::transport::child::{Child, Command, Environment, Stdout, spawn};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    time::timeout,
};

use crate::cases::{CASES, host};

/// Longer than anything takes, and short enough to notice what hangs.
pub(crate) const BOUND: Duration = Duration::from_secs(30);

pub(crate) type Case = fn() -> Pin<Box<dyn Future<Output = ()>>>;

/// The argument that makes this program a host to be killed.
pub(crate) const HOST: &str = "--be-the-host";

/// Understands as much of a test harness's arguments as `cargo test` users pass: names to filter
/// by, `--exact` and `--list`.
pub(crate) fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some([first, script]) = arguments.first_chunk()
        && first == HOST
    {
        return runtime().block_on(host(script));
    }
    let exact = arguments.iter().any(|argument| argument == "--exact");
    let filters: Vec<_> = arguments.iter().filter(|a| !a.starts_with("--")).collect();
    let wanted = |name: &str| {
        let fits = |filter: &&String| if exact { **filter == name } else { name.contains(*filter) };
        filters.is_empty() || filters.iter().any(fits)
    };
    let chosen = CASES.iter().filter(|(name, _)| wanted(name));
    if arguments.iter().any(|argument| argument == "--list") {
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

pub(crate) fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.base = Environment::capture();
    command.args = vec!["-c".into(), script.into()];
    command
}

pub(crate) async fn start(script: &str) -> Child {
    spawn(&shell(script)).await.unwrap()
}

/// The lines that the server writes.
pub(crate) fn lines(stdout: Stdout) -> Lines<BufReader<Stdout>> {
    BufReader::new(stdout).lines()
}

/// The process ids that the server writes, one a line.
pub(crate) async fn pids(stdout: Stdout, count: usize) -> Vec<u32> {
    let mut lines = lines(stdout);
    let mut pids = Vec::new();
    while pids.len() < count {
        let line = timeout(BOUND, lines.next_line()).await.unwrap().unwrap().unwrap();
        pids.push(line.trim().parse().unwrap());
    }
    pids
}

/// The parent of a process; none once it is gone.
pub(crate) fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The processes whose parent is this one.
pub(crate) fn children(of: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok());
    pids.filter(|&pid| parent(pid) == Some(of)).collect()
}

/// Waits until `reached`, looking again and again.
pub(crate) async fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let looked = async {
        while !reached() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(BOUND, looked).await.is_ok(), "never happened: {what}");
}

/// Waits until none of these processes is left, not even as an entry.
pub(crate) async fn gone(pids: &[u32]) {
    until("all processes gone", || pids.iter().all(|&pid| parent(pid).is_none())).await;
}

pub(crate) fn kill(pid: u32) {
    let pid = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
}
