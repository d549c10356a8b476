//! `carrick`: joins any language model to any tool.
fn main() {}
