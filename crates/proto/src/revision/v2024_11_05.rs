//! 2024-11-05: the first published revision.

use super::change::Change;
use super::rules::{Lifecycle, Rules};

pub(super) const RULES: Rules = Rules {
    lifecycle: Lifecycle::Handshake,
    batching: false,
    result_type: false,
    cache_hints: false,
    server_info_in_meta: false,
    server_requests: true,
    resource_not_found: -32002,
    version_header: false,
    mirrored_headers: false,
    http_sessions: true,
    early_close: false,
    status_follows_error: false,
    disconnect_cancels: false,
};

/// Nothing came before, so nothing changed.
pub(super) const CHANGES: &[Change] = &[];
