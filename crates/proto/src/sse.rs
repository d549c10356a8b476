//! The event-stream format (server-sent events), incremental and without IO.
