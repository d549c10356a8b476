//! Which `Host` and `Origin` a server answers: the guard against DNS rebinding
//! and against web pages that post to local servers.

use alloc::{string::String, vec::Vec};
use core::{fmt, net::Ipv4Addr};

use super::field::Field;

/// The hosts a server goes by.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hosts {
    /// `localhost`, 127.0.0.0/8 and `[::1]`, with this port.
    Loopback {
        /// The bound port.
        port: u16,
    },
    /// Exactly these: `host` (any port) or `host:port`, without regard to case.
    Listed(Vec<String>),
    /// Any host: for a server behind a proxy that checks the header itself.
    Any,
}

/// Which requests may enter, judged by `Host` and `Origin` alone, before any
/// other work.
///
/// A request without an `Origin` does not come from a web page and needs only
/// the right host. An origin may enter when it is listed, or when it is the
/// server's own: a loopback name with the bound port, or the host (one of those
/// listed) that the request itself is for. Under [`Hosts::Any`] only listed
/// origins enter.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccessRules {
    /// The hosts.
    pub hosts: Hosts,
    /// Further origins, as a browser writes them (`https://app.example`);
    /// `null` is the opaque origin, `*` any.
    pub origins: Vec<String>,
}

impl AccessRules {
    /// Rules for these hosts and no further origin.
    #[must_use]
    pub fn new(hosts: Hosts) -> Self {
        Self { hosts, origins: Vec::new() }
    }

    /// Checks a request. `host` is the authority of the request target if that
    /// has one, else the `Host` header.
    ///
    /// # Errors
    ///
    /// [`AccessDenied`], with the status to answer.
    pub fn check(&self, host: Field<'_>, origin: Field<'_>) -> Result<(), AccessDenied> {
        let host = match host {
            Field::One(value) => Authority::parse(value).ok_or(AccessDenied::HostNotAllowed)?,
            Field::Absent => return Err(AccessDenied::HostMissing),
            Field::Repeated => return Err(AccessDenied::HostRepeated),
        };
        if !self.hosts.allow(&host) {
            return Err(AccessDenied::HostNotAllowed);
        }
        match origin {
            Field::Absent => Ok(()),
            Field::Repeated => Err(AccessDenied::OriginRepeated),
            Field::One(origin) if self.origin_allowed(origin, &host) => Ok(()),
            Field::One(_) => Err(AccessDenied::OriginNotAllowed),
        }
    }

    fn origin_allowed(&self, origin: &[u8], host: &Authority<'_>) -> bool {
        let listed = |entry: &String| entry == "*" || origin.eq_ignore_ascii_case(entry.as_bytes());
        if self.origins.iter().any(listed) {
            return true;
        }
        let (default_port, authority) = match origin {
            [b'h', b't', b't', b'p', b':', b'/', b'/', rest @ ..] => (80, rest),
            [b'h', b't', b't', b'p', b's', b':', b'/', b'/', rest @ ..] => (443, rest),
            _ => return false,
        };
        let Some(own) = Authority::parse(authority) else {
            return false;
        };
        let port = own.port.unwrap_or(default_port);
        match self.hosts {
            Hosts::Loopback { port: bound } => own.is_loopback() && port == bound,
            Hosts::Listed(_) => {
                own.host.eq_ignore_ascii_case(host.host)
                    && port == host.port.unwrap_or(default_port)
            }
            Hosts::Any => false,
        }
    }
}

impl Hosts {
    fn allow(&self, authority: &Authority<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Loopback { port } => {
                authority.is_loopback() && authority.port.unwrap_or(80) == *port
            }
            Self::Listed(entries) => entries.iter().any(|entry| {
                Authority::parse(entry.as_bytes()).is_some_and(|entry| {
                    entry.host.eq_ignore_ascii_case(authority.host)
                        && (entry.port.is_none() || entry.port == authority.port)
                })
            }),
        }
    }
}

/// Why a request may not enter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccessDenied {
    /// The request names no host.
    HostMissing,
    /// The request has more than one `Host`.
    HostRepeated,
    /// The host is none of the server's.
    HostNotAllowed,
    /// The request has more than one `Origin`.
    OriginRepeated,
    /// The origin is not allowed.
    OriginNotAllowed,
}

impl AccessDenied {
    /// The HTTP status to answer.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::HostMissing | Self::HostRepeated => 400,
            Self::HostNotAllowed | Self::OriginRepeated | Self::OriginNotAllowed => 403,
        }
    }
}

impl fmt::Display for AccessDenied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HostMissing => "the request names no host",
            Self::HostRepeated => "the request has more than one Host header",
            Self::HostNotAllowed => "the Host header names none of this server's hosts",
            Self::OriginRepeated => "the request has more than one Origin header",
            Self::OriginNotAllowed => "requests from this Origin are not allowed",
        })
    }
}

impl core::error::Error for AccessDenied {}

/// `host` or `host:port`; an IPv6 address stands in brackets.
struct Authority<'a> {
    host: &'a [u8],
    port: Option<u16>,
}

impl<'a> Authority<'a> {
    fn parse(value: &'a [u8]) -> Option<Self> {
        let end = if value.starts_with(b"[") {
            value.iter().position(|&byte| byte == b']')? + 1
        } else {
            value.iter().position(|&byte| byte == b':').unwrap_or(value.len())
        };
        let (host, rest) = value.split_at(end);
        if host.is_empty() || host.iter().any(|byte| b"@/\\?#, \t".contains(byte)) {
            return None;
        }
        let port = match rest {
            [] => None,
            [b':', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => {
                Some(core::str::from_utf8(digits).ok()?.parse().ok()?)
            }
            _ => return None,
        };
        Some(Self { host, port })
    }

    fn is_loopback(&self) -> bool {
        if self.host == b"127.0.0.1"
            || self.host.eq_ignore_ascii_case(b"localhost")
            || self.host == b"[::1]"
        {
            return true;
        }
        core::str::from_utf8(self.host)
            .ok()
            .and_then(|host| host.parse::<Ipv4Addr>().ok())
            .is_some_and(|address| address.is_loopback())
    }
}
