//! The JSON-RPC envelope: one scan, spans, edits.
