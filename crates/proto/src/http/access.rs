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
    /// What [`Loopback`](Self::Loopback) lets in, and these.
    LoopbackAnd {
        /// The bound port, for loopback names.
        port: u16,
        /// As those of [`Listed`](Self::Listed).
        listed: Vec<String>,
    },
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
    /// Further origins, as a browser writes them (`https://app.example`), compared
    /// by scheme, host and port, where 80 and 443 may be left out; `null` is the
    /// opaque origin, `*` any.
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
        let parsed = Origin::parse(origin);
        let listed = |entry: &String| {
            entry == "*"
                || origin.eq_ignore_ascii_case(entry.as_bytes())
                || parsed.as_ref().is_some_and(|origin| origin.is(entry.as_bytes()))
        };
        if self.origins.iter().any(listed) {
            return true;
        }
        let Some(Origin { scheme, authority: own }) = parsed else { return false };
        let Some(default_port) = default_port(scheme) else { return false };
        let port = own.port.unwrap_or(default_port);
        let is_loopback = |bound: u16| own.is_loopback() && port == bound;
        let is_host = || {
            own.host.eq_ignore_ascii_case(host.host) && port == host.port.unwrap_or(default_port)
        };
        match self.hosts {
            Hosts::Loopback { port: bound } => is_loopback(bound),
            Hosts::Listed(_) => is_host(),
            // A loopback name is no listed one that another server's page could have.
            Hosts::LoopbackAnd { port: bound, .. } => {
                is_loopback(bound) || (!host.is_loopback() && is_host())
            }
            Hosts::Any => false,
        }
    }
}

/// Where a page comes from (RFC 6454).
struct Origin<'a> {
    scheme: &'a [u8],
    authority: Authority<'a>,
}

impl<'a> Origin<'a> {
    fn parse(text: &'a [u8]) -> Option<Self> {
        let end = text.windows(3).position(|three| three == b"://")?;
        let authority = Authority::parse(&text[end + 3..])?;
        Some(Self { scheme: &text[..end], authority })
    }

    fn is(&self, other: &[u8]) -> bool {
        let Some(other) = Origin::parse(other) else { return false };
        self.scheme.eq_ignore_ascii_case(other.scheme)
            && self.authority.host.eq_ignore_ascii_case(other.authority.host)
            && self.port() == other.port()
    }

    fn port(&self) -> Option<u16> {
        self.authority.port.or(default_port(self.scheme))
    }
}

/// The port of an address that names none.
fn default_port(scheme: &[u8]) -> Option<u16> {
    let is = |name: &str| scheme.eq_ignore_ascii_case(name.as_bytes());
    match () {
        () if is("http") => Some(80),
        () if is("https") => Some(443),
        () => None,
    }
}

impl Hosts {
    fn allow(&self, authority: &Authority<'_>) -> bool {
        match self {
            Self::Any => true,
            Self::Loopback { port } => authority.is_bound(*port),
            Self::Listed(listed) => authority.is_among(listed),
            Self::LoopbackAnd { port, listed } => {
                authority.is_bound(*port) || authority.is_among(listed)
            }
        }
    }

    /// Whether a text can stand in a list of hosts: a name or an address, with a
    /// port or without. IPv6 addresses stand in brackets.
    #[must_use]
    pub fn is_entry(text: &str) -> bool {
        Authority::parse(text.as_bytes()).is_some_and(|entry| {
            entry.host.starts_with(b"[") || core::str::from_utf8(entry.host).is_ok_and(is_name)
        })
    }
}

fn is_name(host: &str) -> bool {
    host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
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

    /// Whether it is a loopback name with this port.
    fn is_bound(&self, port: u16) -> bool {
        self.is_loopback() && self.port.unwrap_or(80) == port
    }

    fn is_among(&self, listed: &[String]) -> bool {
        listed.iter().filter_map(|entry| Authority::parse(entry.as_bytes())).any(|entry| {
            // Of the usual ports one is meant that the client does not write: behind
            // something that speaks TLS, either may be.
            let usual = self.port.is_none() && matches!(entry.port, Some(80 | 443));
            entry.host.eq_ignore_ascii_case(self.host)
                && (entry.port.is_none() || entry.port == self.port || usual)
        })
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
