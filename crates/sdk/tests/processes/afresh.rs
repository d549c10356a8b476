//! What servers do not inherit.

use carrick::transport::child::{Child, Command, Environment, ExitStatus, spawn};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use tokio::io::AsyncReadExt as _;

use crate::runner::{LIMITS, LIMITS_WITHOUT_GUARD, STATUS_WITHOUT_GUARD, cases};
use crate::support::{BOUND, lines, start};

cases![
    f10_masks_and_dispositions_are_the_defaults,
    f10_masks_and_dispositions_are_the_defaults_without_guard,
    f24_the_limit_of_open_files_is_what_it_was,
    f24_the_limit_of_open_files_is_what_it_was_without_guard,
    f10_a_server_ends_its_own_child,
    f10_a_server_hears_of_sigterm,
    a_server_has_no_terminal,
];

/// Leaves what a program may be started with: a blocked and an ignored signal of each kind.
pub(crate) fn leave_signals() {
    let blocked = [Signal::SIGTERM, Signal::SIGCHLD, Signal::SIGUSR1];
    blocked.into_iter().collect::<SigSet>().thread_block().unwrap();
    let ignored = SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty());
    for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGUSR2] {
        // SAFETY: ignoring runs no code in signal context.
        unsafe { sigaction(signal, &ignored) }.unwrap();
    }
}

/// Blocks nothing any more; what is ignored stays so.
fn unblock() {
    SigSet::all().thread_unblock().unwrap();
}

/// What a server says of its own signals.
pub(crate) async fn status() -> String {
    said_of_itself("status").await
}

/// What the system says to a server of this file below `/proc/self`.
async fn said_of_itself(file: &str) -> String {
    let mut command = Command::new("/bin/cat");
    command.base = Environment::capture();
    command.args = vec![format!("/proc/self/{file}").into()];
    let mut child = spawn(&command).await.unwrap();
    let mut said = String::new();
    child.stdout.read_to_string(&mut said).await.unwrap();
    said
}

fn check(status: &str) {
    for name in ["SigPnd", "SigBlk", "SigIgn", "SigCgt"] {
        let value = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        let value = value.trim_start_matches(':').trim();
        assert_eq!(u64::from_str_radix(value, 16), Ok(0), "{name} in\n{status}");
    }
}

async fn f10_masks_and_dispositions_are_the_defaults() {
    check(&status().await);
    leave_signals();
    let status = status().await;
    unblock();
    check(&status);
}

async fn f10_masks_and_dispositions_are_the_defaults_without_guard() {
    check(&printed(STATUS_WITHOUT_GUARD).await);
}

/// What a server says of its own limits, from a process whose limit of open files was 256 before
/// it has raised it.
pub(crate) async fn limits() -> String {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    assert!(hard > 256, "there is nothing to raise");
    setrlimit(Resource::RLIMIT_NOFILE, 256, hard).unwrap();
    let raised = carrick::raise_open_file_limit().unwrap();
    assert!(raised > Some(256), "{raised:?}");
    said_of_itself("limits").await
}

fn check_limits(limits: &str) {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files")).unwrap();
    let mut columns = line.split_whitespace();
    assert_eq!(columns.next(), Some("256"), "{limits}");
    // The server may raise it itself.
    assert_ne!(columns.next(), Some("256"), "{limits}");
}

/// What this program prints when it is run with `argument`.
async fn printed(argument: &str) -> String {
    let mut program = tokio::process::Command::new(std::env::current_exe().unwrap());
    let output = program.arg(argument).kill_on_drop(true).output().await.unwrap();
    String::from_utf8(output.stdout).unwrap()
}

async fn f24_the_limit_of_open_files_is_what_it_was() {
    check_limits(&printed(LIMITS).await);
}

async fn f24_the_limit_of_open_files_is_what_it_was_without_guard() {
    check_limits(&printed(LIMITS_WITHOUT_GUARD).await);
}

async fn f10_a_server_ends_its_own_child() {
    let script = "sleep 1000 & kill -TERM $!; wait $!; echo $?";
    let Child { stdin: _stdin, stdout, process } = start(script).await;
    assert_eq!(lines(stdout).next_line().await.unwrap().as_deref(), Some("143"));
    assert_eq!(process.wait().await, ExitStatus::Code(0));
}

async fn f10_a_server_hears_of_sigterm() {
    let script = "trap 'echo heard; exit 7' TERM; echo ready; while :; do sleep 0.01; done";
    let Child { stdin, stdout, process } = start(script).await;
    let mut lines = lines(stdout);
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
    drop(stdin);
    // The server does not look at its stdin, so it is SIGTERM that ends it.
    let ended = process.shutdown(std::time::Duration::from_millis(100));
    let (ended, heard) = tokio::join!(ended, lines.next_line());
    assert_eq!(heard.unwrap().as_deref(), Some("heard"));
    assert_eq!(ended, Ok(ExitStatus::Code(7)));
}

async fn a_server_has_no_terminal() {
    let Child { stdin: _stdin, stdout, process } =
        start("(: </dev/tty) 2>/dev/null && echo terminal || echo none").await;
    let mut lines = lines(stdout);
    let line = tokio::time::timeout(BOUND, lines.next_line()).await.unwrap();
    assert_eq!(line.unwrap().as_deref(), Some("none"));
    process.wait().await;
}
