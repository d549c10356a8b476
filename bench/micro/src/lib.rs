//! What the programs of this package measure with.

pub mod messages;
