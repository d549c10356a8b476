//! Base URLs as people write them, and the addresses made from them.

use http::Uri;
use http::uri::{PathAndQuery, Scheme};

/// The address of `path` (such as `messages`) under a base URL.
///
/// The base may end in a slash or not, and in a version segment (`/v1`, `/v1beta/openai`) or
/// not: `/v1` is added where no version stands. A query stays at the end.
///
/// # Errors
///
/// Words that say why the base URL is unusable; they do not repeat it, since it may hold
/// credentials.
pub(super) fn endpoint(base: &str, path: &str) -> Result<Uri, String> {
    let uri: Uri = base.trim().parse().map_err(|error| format!("not a URL: {error}"))?;
    let mut parts = uri.into_parts();
    if !matches!(&parts.scheme, Some(scheme) if *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS)
    {
        return Err("not one that begins with http:// or https://".to_owned());
    }
    let given = parts.path_and_query.as_ref();
    let prefix = given.map_or("", PathAndQuery::path).trim_end_matches('/');
    let prefix = prefix.strip_suffix(path).map_or(prefix, |rest| rest.trim_end_matches('/'));
    let version = if prefix.split('/').any(is_version) { "" } else { "/v1" };
    let query =
        given.and_then(PathAndQuery::query).map_or(String::new(), |query| format!("?{query}"));
    let whole = format!("{prefix}{version}/{path}{query}");
    parts.path_and_query = Some(whole.parse().map_err(|error| format!("not a URL: {error}"))?);
    Uri::from_parts(parts).map_err(|error| format!("not a URL: {error}"))
}

/// `v1`, `v2`, `v1beta` and the like.
fn is_version(segment: &str) -> bool {
    let mut chars = segment.chars();
    chars.next() == Some('v') && chars.next().is_some_and(|c| c.is_ascii_digit())
}

/// The host for messages, with its port if one is written; no credentials.
pub(super) fn host(uri: &Uri) -> String {
    let host = uri.host().unwrap_or_default();
    uri.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_may_be_written_in_many_ways() {
        for (base, expected) in [
            ("https://api.x.com", "https://api.x.com/v1/messages"),
            ("https://api.x.com/", "https://api.x.com/v1/messages"),
            ("https://api.x.com/v1", "https://api.x.com/v1/messages"),
            ("https://api.x.com/v1/ ", "https://api.x.com/v1/messages"),
            ("https://x.com/api/v1", "https://x.com/api/v1/messages"),
            ("https://x.com/proxy", "https://x.com/proxy/v1/messages"),
            ("https://x.com/v1beta/openai/", "https://x.com/v1beta/openai/messages"),
            ("http://127.0.0.1:80/v1/messages", "http://127.0.0.1:80/v1/messages"),
            ("http://h/v1?api-version=2", "http://h/v1/messages?api-version=2"),
        ] {
            assert_eq!(endpoint(base, "messages").unwrap().to_string(), expected, "{base}");
        }
        for base in ["", "api.x.com", "ftp://x.com", "/v1", "https://"] {
            endpoint(base, "messages").unwrap_err();
        }
    }

    #[test]
    fn the_host_shows_no_credentials() {
        assert_eq!(host(&"http://user:pass@h:1/v1".parse().unwrap()), "h:1");
    }
}
