//! A page that a server wants a person to go to (`client/elicitation`, URL Mode).

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

/// An address that may be shown, and what a person should know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Page {
    /// Where the address leads: the name or number of the machine, as it is written.
    pub host: String,
    /// Why the address may not be what it looks like, in words, if it may not.
    pub doubts: Vec<&'static str>,
}

/// Why nobody is asked to go to an address.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PageError {
    /// Neither https nor, for this machine alone, http.
    Scheme,
    /// It has no host, or none that can be told for certain.
    Host,
    /// It has blanks, backslashes or control characters, which readers take for different
    /// things.
    Characters,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scheme => {
                "url must begin with https:// (or http:// with localhost or a loopback address)"
            }
            Self::Host => "url must have a host that can be told for certain",
            Self::Characters => "url must not have blanks, backslashes or control characters",
        })
    }
}

impl std::error::Error for PageError {}

impl Page {
    /// Looks at an address.
    ///
    /// # Errors
    /// When nobody should be asked to go there.
    pub fn read(url: &str) -> Result<Self, PageError> {
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '\\' || is_hidden(c);
        if url.chars().any(is_odd) {
            return Err(PageError::Characters);
        }
        let (scheme, rest) = url.split_once("://").ok_or(PageError::Scheme)?;
        let is_secure = scheme.eq_ignore_ascii_case("https");
        if !is_secure && !scheme.eq_ignore_ascii_case("http") {
            return Err(PageError::Scheme);
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
        let (user, authority) = match authority.rsplit_once('@') {
            Some((_, authority)) => (true, authority),
            None => (false, authority),
        };
        let host = host(authority).ok_or(PageError::Host)?;
        if !is_secure && !is_loopback(host) {
            return Err(PageError::Scheme);
        }
        let mut doubts = doubts(url, host);
        if user {
            doubts.insert(0, "what stands before the @ is a user's name, and not where it leads");
        }
        Ok(Self { host: host.to_owned(), doubts })
    }
}

/// The host of an authority without a user.
fn host(authority: &str) -> Option<&str> {
    let (host, port) = match authority.strip_prefix('[') {
        Some(rest) => {
            let (inside, after) = rest.split_once(']')?;
            inside.parse::<Ipv6Addr>().ok()?;
            (&authority[..inside.len() + 2], after)
        }
        None => {
            let (host, _) = authority.split_once(':').unwrap_or((authority, ""));
            let fits =
                |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_') || !c.is_ascii();
            if host.is_empty() || !host.chars().all(fits) || host.starts_with('.') {
                return None;
            }
            (host, &authority[host.len()..])
        }
    };
    let is_port = |port: &str| port.is_empty() || port.parse::<u16>().is_ok();
    match port.strip_prefix(':') {
        Some(port) if is_port(port) => Some(host),
        None if port.is_empty() => Some(host),
        _ => None,
    }
}

fn is_loopback(host: &str) -> bool {
    let inside = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || host.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
        || inside.parse::<Ipv6Addr>().is_ok_and(|address| address.is_loopback())
}

fn doubts(url: &str, host: &str) -> Vec<&'static str> {
    let mut doubts = Vec::new();
    let labels = || host.split('.');
    if labels().any(|label| label.get(..4).is_some_and(|l| l.eq_ignore_ascii_case("xn--"))) {
        doubts.push("its name is written with other letters (xn--…), which may look like others");
    }
    if labels().any(|label| scripts(label) > 1) {
        doubts.push("its name mixes letters of several scripts, which may look like others");
    } else if !host.is_ascii() {
        doubts.push("its name has letters that may look like others");
    }
    let is_number = |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_digit());
    let last = labels().next_back().unwrap_or_default();
    if (is_number(last) || last.starts_with("0x")) && host.parse::<Ipv4Addr>().is_err() {
        doubts.push("its host is a number in disguise");
    }
    if host.is_ascii() && !url.is_ascii() {
        doubts.push("it has letters that may look like others");
    }
    doubts
}

/// How many scripts a label's letters are of. Those that are written together, as Han and
/// Kana, count as one.
fn scripts(label: &str) -> usize {
    let script = |c: char| match c {
        _ if !c.is_alphabetic() => None,
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Some(0),
        '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(1),
        '\u{400}'..='\u{52f}' => Some(2),
        '\u{530}'..='\u{58f}' => Some(3),
        '\u{590}'..='\u{5ff}' => Some(4),
        '\u{600}'..='\u{77f}' => Some(5),
        '\u{900}'..='\u{dff}' => Some(6),
        '\u{e00}'..='\u{eff}' => Some(7),
        '\u{10a0}'..='\u{10ff}' => Some(8),
        '\u{1100}'..='\u{11ff}' | '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7ff}' => Some(9),
        _ => Some(10),
    };
    let seen = label.chars().filter_map(script).fold(0_u16, |seen, script| seen | 1 << script);
    seen.count_ones() as usize
}

/// Characters that show nothing or turn the direction of what is written.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f49_the_host_is_where_the_address_leads() {
        for (url, host) in [
            ("https://example.com/a?b#c", "example.com"),
            ("HTTPS://Example.com:8443", "Example.com"),
            ("https://example.com?@bank.example", "example.com"),
            ("https://example.com/@bank.example", "example.com"),
            ("https://[::1]:80/", "[::1]"),
            ("http://localhost:3000/x", "localhost"),
            ("http://127.0.0.1/", "127.0.0.1"),
            ("http://[::1]/", "[::1]"),
        ] {
            let page = Page::read(url).unwrap();
            assert_eq!((page.host.as_str(), page.doubts.len()), (host, 0), "{url}");
        }
    }

    #[test]
    fn f49_addresses_that_nobody_is_sent_to() {
        for (url, why) in [
            ("javascript:alert(1)", PageError::Scheme),
            ("javascript://example.com/%0aalert(1)", PageError::Scheme),
            ("data:text/html,x", PageError::Scheme),
            ("file:///etc/passwd", PageError::Scheme),
            ("http://example.com/", PageError::Scheme),
            ("http://127.0.0.1.evil.example/", PageError::Scheme),
            ("http://localhost.evil.example/", PageError::Scheme),
            ("http://2130706433/", PageError::Scheme),
            ("example.com", PageError::Scheme),
            ("", PageError::Scheme),
            ("http://bank.example@evil.example/", PageError::Scheme),
            ("http://localhost@evil.example/", PageError::Scheme),
            ("https://bank.example@", PageError::Host),
            ("https://evil.example\\@bank.example/", PageError::Characters),
            ("https://evil.example/\u{202e}moc", PageError::Characters),
            (" https://example.com", PageError::Characters),
            ("https://a\n.example", PageError::Characters),
            ("https://", PageError::Host),
            ("https:///x", PageError::Host),
            ("https://.example", PageError::Host),
            ("https://a%2eexample/", PageError::Host),
            ("https://[::1", PageError::Host),
            ("https://[x]/", PageError::Host),
            ("https://example.com:99999/", PageError::Host),
        ] {
            assert_eq!(Page::read(url), Err(why), "{url}");
        }
    }

    #[test]
    fn f49_names_that_may_deceive_are_marked() {
        for (url, said) in [
            ("https://xn--pple-43d.com/", "xn--"),
            ("https://www.XN--pple-43d.com/", "xn--"),
            ("https://аpple.com/", "several scripts"),
            ("https://пример.example/", "look like others"),
            ("https://bücher.example/", "look like others"),
            ("https://bank.example:x@evil.example/", "before the @"),
            ("https://2130706433/", "disguise"),
            ("https://0x7f.1/", "disguise"),
            ("https://example.com/é", "letters"),
        ] {
            let page = Page::read(url).unwrap();
            assert!(page.doubts.iter().any(|doubt| doubt.contains(said)), "{url}: {page:?}");
        }
        let page = Page::read("https://bank.example@shop.example/pay@x").unwrap();
        assert_eq!(page.host, "shop.example");
        assert!(Page::read("https://10.0.0.1/").unwrap().doubts.is_empty());
        assert_eq!(scripts("日本のカナ"), 1);
    }
}
