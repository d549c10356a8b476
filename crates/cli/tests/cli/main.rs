//! The program `carrick` from outside: what it prints, how it ends, what it leaves behind.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "all of this is tests")]

mod ask;
mod asked;
mod chinese;
mod commands;
mod config;
mod faults;
mod matched;
mod messages;
mod one_line;
mod output;
mod pinned;
#[cfg(target_os = "linux")]
mod processes;
mod route;
mod serve;
mod served;
#[cfg(target_os = "linux")]
mod signals;
mod startup;
mod stdio;
#[cfg(target_os = "linux")]
mod steering;
mod support;
#[cfg(target_os = "linux")]
mod terminal;
mod trust;
mod verbose;
