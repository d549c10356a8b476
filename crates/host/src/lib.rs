//! The host engine: configuration, servers, models and the agent turn.
//!
//! Returns events and values; never prints, reads the environment or exits.

pub mod asks;
pub mod config;
pub mod dialect;
pub mod matcher;
pub mod model;
pub mod permission;
pub mod registry;
pub mod trust;
pub mod turn;

pub use carrick_policy::near;
