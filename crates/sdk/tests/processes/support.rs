//! Starts processes and looks at them.

use std::time::Duration;

use carrick::transport::child::{Child, Command, Environment, Stdout, spawn};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Lines},
    time::timeout,
};

/// Longer than anything takes, and short enough to notice what hangs.
pub(crate) const BOUND: Duration = Duration::from_secs(30);

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

/// The state of a process as `/proc` has it; none once it is gone.
pub(crate) fn state(pid: u32) -> Option<char> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.trim_start().chars().next()
}

pub(crate) fn kill(pid: u32) {
    signal(pid, nix::sys::signal::Signal::SIGKILL);
}

pub(crate) fn signal(pid: u32, signal: nix::sys::signal::Signal) {
    let pid = nix::unistd::Pid::from_raw(pid.try_into().unwrap());
    nix::sys::signal::kill(pid, signal).unwrap();
}
