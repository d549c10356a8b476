//! A gateway between clients and servers of all revisions.

#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test; the lint only knows test functions"
)]

mod apart;
mod handed;
mod lasting;
mod matrix;
mod owners;
mod parked;
mod polling;
mod raw;
mod support;
