//! The newest revision's shapes, by feature.
