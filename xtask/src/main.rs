//! The checks and chores of the workspace.
fn main() {}
