//! A gateway between clients and servers of all revisions.

mod matrix;
mod support;
