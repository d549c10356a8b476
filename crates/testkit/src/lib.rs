//! Test peers and fixtures for the workspace.

pub mod conformance;
pub mod crossing;
pub mod faulty;
pub mod fixture;
pub mod model;
pub mod peer;
pub mod replay;
pub mod weather;
