//! Test peers and fixtures for the workspace.

pub mod fixture;
