//! The XML dialect: how a model writes tool requests, and how small servers speak it.
//!
//! - [`decode`] is the tolerant, incremental reader of what a *model* writes, where
//!   requests stand among prose, are shown as examples, are cut off, or come in a
//!   neighbouring form.
//! - [`wire`] is strict: whole messages between programs, read and written.

pub mod decode;
mod escape;
pub mod wire;

pub use escape::{BadEntity, escape, unescape};
