//! Files under given roots, and nothing outside them.
