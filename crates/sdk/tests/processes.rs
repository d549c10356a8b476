//! Real processes: servers under a guard, and servers on their own standard streams. This is a
//! program of its own, not a test harness, because the guard is this program executed again, which
//! takes a call at the top of `main`.

#![cfg_attr(
    target_os = "linux",
    expect(
        clippy::unwrap_used,
        clippy::print_stdout,
        unsafe_code,
        reason = "all of this is tests"
    )
)]

#[cfg(target_os = "linux")]
#[path = "processes/afresh.rs"]
mod afresh;
#[cfg(target_os = "linux")]
#[path = "processes/connect.rs"]
mod connect;
#[cfg(target_os = "linux")]
#[path = "processes/guard.rs"]
mod guard;
#[cfg(target_os = "linux")]
#[path = "processes/hostile.rs"]
mod hostile;
#[cfg(target_os = "linux")]
#[path = "processes/runner.rs"]
mod runner;
#[cfg(target_os = "linux")]
#[path = "processes/stdio.rs"]
mod stdio;
#[cfg(target_os = "linux")]
#[path = "processes/support.rs"]
mod support;

fn main() {
    #[cfg(target_os = "linux")]
    if runner::is_without_guard() {
        return runner::main();
    }
    carrick::transport::child::guard_main();
    #[cfg(target_os = "linux")]
    {
        carrick::transport::child::adopt_orphans().unwrap();
        runner::main();
    }
}
