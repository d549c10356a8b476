//! A gateway between clients and servers of all revisions.

#![allow(
    clippy::unwrap_used,
    reason = "a helper of a test fails the test; the lint only knows test functions"
)]

mod apart;
mod matrix;
mod parked;
mod raw;
mod support;
