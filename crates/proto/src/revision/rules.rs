//! The rules a revision can have, by name.

/// How a client and a server come to terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lifecycle {
    /// `initialize`, then a session.
    Handshake,
    /// Every request says what it speaks; nothing is remembered.
    PerRequest,
}

/// What holds in one revision. Logic asks these, never the revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rules {
    /// How the two sides come to terms (`basic/lifecycle`, `basic/versioning`).
    pub lifecycle: Lifecycle,
    /// Whether several messages may come as one JSON array (`basic`, Batching).
    pub batching: bool,
    /// Whether every result says its type (`basic/index`, ResultType).
    pub result_type: bool,
    /// Whether lists and resources carry `ttlMs` and `cacheScope`
    /// (`server/utilities/caching`).
    pub cache_hints: bool,
    /// Whether results name the server in `_meta` (`basic/index`, `_meta`).
    pub server_info_in_meta: bool,
    /// Whether the server may send requests of its own, or else answers
    /// `input_required` (`basic/patterns/mrtr`).
    pub server_requests: bool,
    /// The error code for a resource that does not exist
    /// (`server/resources`, Error Handling).
    pub resource_not_found: i64,
    /// Whether HTTP requests of a session say its revision in
    /// `MCP-Protocol-Version` (`basic/transports`, Protocol Version Header).
    pub version_header: bool,
    /// Whether HTTP requests mirror method and name in headers
    /// (`basic/transports/streamable-http`).
    pub mirrored_headers: bool,
    /// Whether an HTTP endpoint keeps sessions and a GET stream
    /// (`basic/transports`, Session Management).
    pub http_sessions: bool,
    /// Whether a session's server may close a stream before the response, which
    /// the client then comes back for (`basic/transports`, Sending Messages to
    /// the Server).
    pub early_close: bool,
    /// Whether the HTTP status follows the JSON-RPC error code.
    pub status_follows_error: bool,
    /// Whether closing the response stream cancels the request.
    pub disconnect_cancels: bool,
}
