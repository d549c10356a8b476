//! Settings.

use carrick::client::CallOptions;
use carrick::proto::flow::ParkLimits;
use carrick::server::StateKeys;
use carrick::types::Implementation;
use std::time::Duration;

/// How a gateway behaves: take [`GatewayOptions::new`] and set what should differ.
#[derive(Debug)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// How the gateway introduces itself to the server where it does not speak
    /// for one client.
    pub info: Implementation,
    /// How long a request may take at the server. The client's own bounds are
    /// its own affair. Default: 10 min without a sign of life, an hour in all.
    pub call: CallOptions,
    /// Bounds on the calls that wait for their clients to come back.
    pub parked: ParkLimits,
    /// Connections at a time on which a server of sessions is offered to clients
    /// without. More calls wait. Default 16.
    pub max_upstreams: usize,
    /// Calls that may wait for such a connection. Default 1,024.
    pub max_waiting: usize,
    /// How long each of them waits. Default 30 s.
    pub wait: Duration,
    /// What seals the state of calls that wait for their clients. Default: a key
    /// of this process alone.
    pub state_keys: Option<StateKeys>,
}

impl GatewayOptions {
    /// The defaults for a gateway of this name.
    pub fn new(info: Implementation) -> Self {
        let mut call = CallOptions::default();
        call.timeout = Duration::from_secs(600);
        call.max_total = Duration::from_secs(3600);
        Self {
            info,
            call,
            parked: ParkLimits::default(),
            max_upstreams: 16,
            max_waiting: 1024,
            wait: Duration::from_secs(30),
            state_keys: None,
        }
    }
}
