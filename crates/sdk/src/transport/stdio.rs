//! Newline framing.
