//! Every message of every revision, compared with the published schemas.
//!
//! The schemas stay outside the repository: `CARRICK_SPEC_DIR` names their
//! folder (by default `../shared/spec` from the repository's root), and
//! `cargo xtask spec` fetches them. Without them these tests say so and pass,
//! but where `CARRICK_SPEC_DIR` or `CI` is set they fail.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "helpers of tests fail the test and say what was left out; the lints only know test functions"
)]

mod examples;
mod generate;
mod messages;
mod methods;
mod pairs;
mod spec;
mod types;
