//! The servers built into Carrick.

pub mod files;
mod text;
pub mod time;
