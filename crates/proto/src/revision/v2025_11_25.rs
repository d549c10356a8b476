//! 2025-11-25: the last revision with sessions; the oldest known so far.

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
    mirrored_headers: false,
    http_sessions: true,
    status_follows_error: false,
    disconnect_cancels: false,
};

/// Nothing older is known, so nothing changed.
pub(super) const CHANGES: &[Change] = &[];
