//! The server behind a backend, and how it is used: what all parts of a backend
//! share and none of them changes.

use crate::{GatewayOptions, Upstream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// That server.
pub(crate) struct Target {
    pub(crate) upstream: Arc<dyn Upstream>,
    pub(crate) options: GatewayOptions,
}

impl Target {
    /// The server's name, for errors and logs.
    pub(crate) fn name(&self) -> &str {
        self.upstream.name()
    }

    /// Whether each connection is a process of its own.
    pub(crate) fn costs_processes(&self) -> bool {
        !self.upstream.tells_calls_apart()
    }

    /// Connections that may be open at once.
    pub(crate) fn max_connections(&self) -> usize {
        let options = &self.options;
        let most =
            if self.costs_processes() { options.max_processes } else { options.max_sessions };
        // The first one stays, and somebody has to be served.
        most.max(2)
    }
}

/// Numbers that no two things share.
pub(crate) fn number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}
