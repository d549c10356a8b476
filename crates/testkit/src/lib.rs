//! Test peers and fixtures for the workspace.
