//! The server behind a backend, and how it is used: what all parts of a backend
//! share.

use super::health::Health;
use crate::{GatewayOptions, Upstream};
use carrick::client::managed::Connector;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// That server.
pub(crate) struct Target {
    pub(crate) upstream: Arc<dyn Upstream>,
    /// The same, as what connections stand on.
    pub(crate) connector: Arc<dyn Connector>,
    pub(crate) options: GatewayOptions,
    pub(crate) health: Health,
}

impl Target {
    pub(crate) fn new(upstream: impl Upstream, options: GatewayOptions) -> Self {
        let upstream = Arc::new(upstream);
        Self { upstream: upstream.clone(), connector: upstream, options, health: Health::default() }
    }

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
