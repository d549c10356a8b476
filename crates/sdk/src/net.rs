//! The HTTP client that every outgoing connection uses.
