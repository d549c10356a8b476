//! How long, and for whom, a result may be kept (`server/utilities/caching`).

use crate::rpc::Json;
use alloc::format;
use alloc::string::String;
use core::time::Duration;
use serde::Deserialize;

/// The largest integer that every JSON reader has.
const MOST: u64 = (1 << 53) - 1;

/// Whom a kept result may be given to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheScope {
    /// Anybody.
    Public,
    /// Only whoever has the same authorization as the one who asked. Also what
    /// is not said, or not known, is private.
    #[default]
    Private,
}

/// What a result says of its being kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheHints {
    /// Milliseconds for which it may be taken as it is, from when it was
    /// received. Nought where it does not say, or says something else than a
    /// number that is not negative.
    pub ttl_ms: u64,
    /// For whom.
    pub scope: CacheScope,
}

impl CacheHints {
    /// To be kept for so long, for whoever asked.
    pub fn private(ttl: Duration) -> Self {
        // What does not fit is longer than anybody keeps anything.
        let ttl_ms = u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).min(MOST);
        Self { ttl_ms, scope: CacheScope::Private }
    }

    /// To be kept for so long, and shared by all.
    pub fn public(ttl: Duration) -> Self {
        Self { scope: CacheScope::Public, ..Self::private(ttl) }
    }

    /// The members of a result that say so, without braces.
    pub fn members(&self) -> String {
        let scope = match self.scope {
            CacheScope::Public => "public",
            CacheScope::Private => "private",
        };
        format!("\"ttlMs\":{},\"cacheScope\":\"{scope}\"", self.ttl_ms)
    }

    /// What `result` says.
    pub fn of(result: &Json) -> Self {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Hints {
            #[serde(default)]
            ttl_ms: serde_json::Value,
            #[serde(default)]
            cache_scope: serde_json::Value,
        }
        let Ok(hints) = result.read::<Hints>() else { return Self::default() };
        let public = hints.cache_scope.as_str() == Some("public");
        Self {
            // A conversion of floats saturates, and makes nought of what is below.
            ttl_ms: hints.ttl_ms.as_f64().unwrap_or_default() as u64,
            scope: if public { CacheScope::Public } else { CacheScope::Private },
        }
    }

    /// What holds for two results that are put together, such as the pages of a
    /// list: the shorter time, and private if one of them is.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let public = (self.scope, other.scope) == (CacheScope::Public, CacheScope::Public);
        Self {
            ttl_ms: self.ttl_ms.min(other.ttl_ms),
            scope: if public { CacheScope::Public } else { CacheScope::Private },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::Limits;
    use alloc::string::String;
    use bytes::Bytes;

    fn hints(result: &str) -> CacheHints {
        let bytes = Bytes::from(String::from(result));
        CacheHints::of(&Json::parse(bytes, Limits::default()).unwrap())
    }

    #[test]
    fn what_is_not_said_is_stale_and_private() {
        for (result, ttl_ms) in [
            (r#"{"ttlMs":5000,"tools":[]}"#, 5000),
            (r#"{"ttlMs":1.5e3}"#, 1500),
            (r#"{"ttlMs":-1}"#, 0),
            (r#"{"ttlMs":"5000"}"#, 0),
            (r#"{"ttlMs":1e300}"#, u64::MAX),
            (r#"{}"#, 0),
            ("[]", 0),
        ] {
            assert_eq!(hints(result), CacheHints { ttl_ms, ..CacheHints::default() }, "{result}");
        }
    }

    #[test]
    fn d060_an_unknown_scope_is_private_and_one_private_page_makes_all_private() {
        let scope = |scope: &str| hints(&alloc::format!(r#"{{"ttlMs":9,"cacheScope":{scope}}}"#));
        let public = scope(r#""public""#);
        assert_eq!(public.scope, CacheScope::Public);
        for other in [r#""private""#, r#""""#, r#""Public""#, r#""shared""#, "null", "1"] {
            let other = scope(other);
            assert_eq!(other.scope, CacheScope::Private);
            assert_eq!(public.and(other).scope, CacheScope::Private);
            assert_eq!(other.and(public).scope, CacheScope::Private);
        }
        let shorter = CacheHints { ttl_ms: 3, ..public };
        assert_eq!(public.and(shorter), shorter);
    }
}
