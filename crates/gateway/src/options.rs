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
    /// What calls run in that come without a session and without a principal,
    /// to a server of sessions. Default [`Sharing::PerCall`].
    pub sharing: Sharing,
    /// Connections that may be open at once to a server of which each is a
    /// process (stdio). Default 32.
    pub max_processes: usize,
    /// Connections that may be open at once to any other server. Default 4,096.
    pub max_sessions: usize,
    /// Calls that may wait for a connection. Default 1,024.
    pub max_waiting: usize,
    /// How long each of them waits. Default 30 s.
    pub wait: Duration,
    /// How long a client's session may be idle that keeps a process, while its
    /// client holds no stream open. Then the session ends, so that its client
    /// begins another and knows that the server remembers nothing. Default 5 min.
    pub session_idle: Duration,
    /// How long a connection of a principal's, or one for lists, stays when
    /// nobody uses it. Default 30 min.
    pub owner_idle: Duration,
    /// Connections that are opened ahead, so that calls with one of their own
    /// ([`Sharing::PerCall`]) need not wait for their server to start. Default 2.
    pub opened_ahead: usize,
    /// How long [`Gateway::open`](crate::Gateway::open) waits for a server that is
    /// still starting. After that clients are served all the same: lists are empty
    /// at first and then change, calls are refused as long as there is no server
    /// ([`RpcError::OVERLOADED`](carrick::types::RpcError::OVERLOADED)). Default: as
    /// long as connecting takes.
    pub startup_wait: Option<Duration>,
    /// What seals the state of calls that wait for their clients. Default: a key
    /// of this process alone.
    pub state_keys: Option<StateKeys>,
}

/// What a server of sessions remembers, between the calls of clients that cannot
/// be told from one another: those over HTTP without a session and without a
/// principal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sharing {
    /// Nothing: each call has a session of its own, which ends with it.
    #[default]
    PerCall,
    /// Everything: all calls share one session, and what one of them leaves
    /// behind, all others meet. The server cannot ask them anything.
    Shared,
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
            sharing: Sharing::default(),
            max_processes: 32,
            max_sessions: 4096,
            max_waiting: 1024,
            wait: Duration::from_secs(30),
            session_idle: Duration::from_secs(300),
            owner_idle: Duration::from_secs(1800),
            opened_ahead: 2,
            startup_wait: None,
            state_keys: None,
        }
    }
}
