//! The servers built into Carrick.

pub mod files;
pub mod time;
