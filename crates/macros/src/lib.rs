//! Attribute macros of the Carrick SDK.
