//! Everything that differs between protocol revisions.
