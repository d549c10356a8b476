//! What one client sent, was asked, answered, subscribed to or caused to be
//! logged never reaches another.
//!
//! Clients with a word of their own in all that they send do whatever clients do,
//! in any order, and behind the gateway is a server that repeats all that it was
//! ever told. No word may come to another client; and each kind of message has
//! to bring some client its own, or nothing would have been tried.
//!
//! `CARRICK_ISOLATION_CASES` is the number of cases of each test (a fifth of it
//! where there are sockets), `CARRICK_ISOLATION_SEED` runs one of them and prints
//! what happens in it, `CARRICK_ISOLATION_MINUTES` runs others for so long.

#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test; the lint only knows test functions"
)]

mod client;
mod evidence;
mod faults;
mod random;
mod run;
mod server;
mod support;

use carrick_gateway::Sharing;
use run::{Setting, case, cases};
use server::{Memory, Nature};

/// Cases of a test without sockets, unless the environment says otherwise.
const USUAL: u64 = 300;
/// A test with sockets has so many times fewer: they take longer.
const FEWER: u64 = 5;
/// With fewer cases it is no wonder when one kind of message never came.
const TELLING: u64 = 50;

/// What every client can get from any server.
const KINDS: [&str; 12] = [
    "tool result",
    "prompt",
    "resource",
    "completion",
    "list",
    "error",
    "log",
    "progress",
    "elicitation",
    "sampling",
    "roots",
    "updated",
];

const LEGACY_STDIO: Nature =
    Nature { modern: false, lanes: false, memory: Memory::Session, asks_at_once: true };
const LEGACY_HTTP: Nature = Nature { lanes: true, ..LEGACY_STDIO };
const MODERN_STDIO: Nature =
    Nature { modern: true, lanes: false, memory: Memory::Call, asks_at_once: false };
const MODERN_HTTP: Nature = Nature { lanes: true, ..MODERN_STDIO };

fn on_pipes(server: Nature) {
    check(Setting { server, http: false, sharing: Sharing::PerCall }, 1);
}

/// What such a server keeps is everybody's by its owner's will; what it says of
/// one call is not.
fn shared(server: Nature) {
    let server = Nature { memory: Memory::Call, ..server };
    check(Setting { server, http: false, sharing: Sharing::Shared }, 1);
}

fn over_http(server: Nature) {
    check(Setting { server, http: true, sharing: Sharing::PerCall }, FEWER);
}

fn check(setting: Setting, fewer: u64) {
    let (delivered, count) = cases(setting, USUAL, fewer);
    let missing = |modern| {
        let came = |kind: &&str| delivered.contains_key(&(modern, *kind));
        KINDS.into_iter().filter(|kind| !came(kind)).collect::<Vec<_>>()
    };
    if count >= TELLING {
        let nothing: [Vec<&str>; 2] = Default::default();
        assert_eq!([missing(false), missing(true)], nothing, "never delivered with {setting:?}");
    }
}

#[test]
fn f04_clients_on_pipes_and_a_server_of_sessions_on_stdio() {
    on_pipes(LEGACY_STDIO);
}

#[test]
fn f04_clients_on_pipes_and_a_server_of_sessions_over_http() {
    on_pipes(LEGACY_HTTP);
}

#[test]
fn f04_clients_on_pipes_and_a_server_without_sessions_on_stdio() {
    on_pipes(MODERN_STDIO);
}

#[test]
fn f04_clients_on_pipes_and_a_server_without_sessions_over_http() {
    on_pipes(MODERN_HTTP);
}

#[test]
fn f04_clients_that_share_a_session_of_a_server_on_stdio() {
    shared(LEGACY_STDIO);
}

#[test]
fn f04_clients_that_share_a_session_of_a_server_over_http() {
    shared(LEGACY_HTTP);
}

#[test]
fn f04_clients_over_http_and_a_server_of_sessions_on_stdio() {
    over_http(LEGACY_STDIO);
}

#[test]
fn f04_clients_over_http_and_a_server_of_sessions_over_http() {
    over_http(LEGACY_HTTP);
}

#[test]
fn f04_clients_over_http_and_a_server_without_sessions_on_stdio() {
    over_http(MODERN_STDIO);
}

#[test]
fn f04_clients_over_http_and_a_server_without_sessions_over_http() {
    over_http(MODERN_HTTP);
}

/// The check itself is checked: a server that tells everybody everything is seen
/// to do so, whatever is between.
#[test]
fn f04_a_server_that_is_not_honest_is_seen() {
    for server in [LEGACY_STDIO, LEGACY_HTTP, MODERN_STDIO, MODERN_HTTP] {
        let server = Nature { memory: Memory::Everybody, ..server };
        let setting = Setting { server, http: false, sharing: Sharing::PerCall };
        let seen = (0..20).filter(|seed| case(setting, *seed).crossed().is_some()).count();
        assert!(seen >= 15, "{seen} of 20 with {server:?}");
    }
}
