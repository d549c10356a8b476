//! Streamable HTTP, client and server side.
