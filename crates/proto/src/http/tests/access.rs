use std::string::ToString;

use super::{
    super::{AccessDenied, AccessRules, Field, Hosts},
    field,
};

const BOUND: u16 = 8000;

fn loopback() -> AccessRules {
    AccessRules::new(Hosts::Loopback { port: BOUND })
}

fn listed(hosts: &[&str]) -> AccessRules {
    AccessRules::new(Hosts::Listed(hosts.iter().map(ToString::to_string).collect()))
}

#[test]
fn d090_only_loopback_names_with_the_bound_port_enter() {
    let rules = loopback();
    for good in
        ["localhost:8000", "LocalHost:8000", "127.0.0.1:8000", "127.9.9.9:8000", "[::1]:8000"]
    {
        assert_eq!(rules.check(field(good), Field::Absent), Ok(()), "{good}");
    }
    for bad in [
        "evil.example:8000",
        "localhost",
        "localhost:8001",
        "localhost:",
        "localhost.evil.example:8000",
        "127.0.0.1.evil.example:8000",
        "user@localhost:8000",
        "localhost:8000@evil.example",
        "localhost:8000, evil.example",
        "localhost:99999",
        "[::1:8000",
        "[::2]:8000",
        "0.0.0.0:8000",
        "",
    ] {
        let denied = rules.check(field(bad), Field::Absent);
        assert_eq!(denied, Err(AccessDenied::HostNotAllowed), "{bad}");
        assert_eq!(AccessDenied::HostNotAllowed.status(), 403);
    }
}

#[test]
fn d090_no_host_or_two_is_no_request_for_us() {
    assert_eq!(loopback().check(Field::Absent, Field::Absent), Err(AccessDenied::HostMissing));
    assert_eq!(loopback().check(Field::Repeated, Field::Absent), Err(AccessDenied::HostRepeated));
    assert_eq!(AccessDenied::HostMissing.status(), 400);
}

#[test]
fn d091_origins_of_others_are_refused_and_the_own_one_is_not() {
    let rules = loopback();
    let host = field("127.0.0.1:8000");
    for bad in [
        "https://evil.example",
        "null",
        "http://localhost:3000",
        "http://localhost",
        "http://localhost:8000.evil.example",
        "http://evil.example:8000",
        "file://localhost:8000",
        "",
    ] {
        let denied = rules.check(host, field(bad));
        assert_eq!(denied, Err(AccessDenied::OriginNotAllowed), "{bad}");
    }
    for good in ["http://127.0.0.1:8000", "http://localhost:8000", "https://[::1]:8000"] {
        assert_eq!(rules.check(host, field(good)), Ok(()), "{good}");
    }
    assert_eq!(rules.check(host, Field::Absent), Ok(()));
    assert_eq!(rules.check(host, Field::Repeated), Err(AccessDenied::OriginRepeated));
    assert_eq!(AccessDenied::OriginRepeated.status(), 403);
}

#[test]
fn d091_configured_origins_enter_even_null() {
    let mut rules = loopback();
    rules.origins = ["null".into(), "http://localhost:3000".into()].into();
    let host = field("localhost:8000");
    assert_eq!(rules.check(host, field("null")), Ok(()));
    assert_eq!(rules.check(host, field("http://localhost:3000")), Ok(()));
    assert!(rules.check(host, field("http://localhost:3001")).is_err());
    rules.origins = ["*".into()].into();
    assert_eq!(rules.check(host, field("https://evil.example")), Ok(()));
}

#[test]
fn listed_hosts_match_by_name_and_by_port_if_they_have_one() {
    let rules = listed(&["mcp.example", "other.example:8443"]);
    for good in ["mcp.example", "MCP.example:81", "other.example:8443"] {
        assert_eq!(rules.check(field(good), Field::Absent), Ok(()), "{good}");
    }
    for bad in ["other.example", "other.example:1", "localhost:8000", "x.mcp.example"] {
        assert!(rules.check(field(bad), Field::Absent).is_err(), "{bad}");
    }
}

#[test]
fn a_page_of_a_listed_host_enters_only_on_the_port_it_came_from() {
    let rules = listed(&["mcp.example"]);
    assert_eq!(rules.check(field("mcp.example"), field("https://mcp.example")), Ok(()));
    assert_eq!(rules.check(field("mcp.example:81"), field("http://mcp.example:81")), Ok(()));
    assert!(rules.check(field("mcp.example"), field("https://mcp.example:9000")).is_err());
}

#[test]
fn without_a_host_check_no_origin_is_the_own_one() {
    let rules = AccessRules::new(Hosts::Any);
    assert_eq!(rules.check(field("rebound.example"), Field::Absent), Ok(()));
    assert!(rules.check(field("rebound.example"), field("http://rebound.example")).is_err());
}

#[test]
fn f31_origins_are_compared_by_scheme_host_and_port() {
    let mut rules = loopback();
    let host = field("localhost:8000");
    rules.origins = ["https://app.example:443".into(), "http://plain.example".into()].into();
    for good in [
        "https://app.example",
        "HTTPS://App.Example:443",
        "http://plain.example:80",
        "http://plain.example",
    ] {
        assert_eq!(rules.check(host, field(good)), Ok(()), "{good}");
    }
    for bad in [
        "http://app.example",
        "http://app.example:443",
        "https://app.example:8443",
        "https://app.example.evil.example",
        "https://user@app.example",
        "https://app.example/",
        "https://plain.example",
        "app.example",
        "://app.example",
    ] {
        assert!(rules.check(host, field(bad)).is_err(), "{bad}");
    }
    // A scheme without a usual port has one only if it is written.
    rules.origins = ["app://page".into()].into();
    assert_eq!(rules.check(host, field("app://page")), Ok(()));
    assert!(rules.check(host, field("app://page:443")).is_err());
}

#[test]
fn f31_names_are_added_to_the_loopback_ones() {
    let listed = ["mcp.example".into(), "other.example:443".into()].into();
    let rules = AccessRules::new(Hosts::LoopbackAnd { port: BOUND, listed });
    for good in ["localhost:8000", "mcp.example", "mcp.example:1", "other.example"] {
        assert_eq!(rules.check(field(good), Field::Absent), Ok(()), "{good}");
    }
    for bad in ["localhost", "localhost:1", "evil.example", "other.example:8443"] {
        assert!(rules.check(field(bad), Field::Absent).is_err(), "{bad}");
    }
    let page = |host, origin| rules.check(field(host), field(origin));
    assert_eq!(page("localhost:8000", "http://localhost:8000"), Ok(()));
    assert_eq!(page("mcp.example", "https://mcp.example"), Ok(()));
    assert!(page("localhost:8000", "http://localhost:3000").is_err());
    assert!(page("mcp.example", "https://evil.example").is_err());
}

#[test]
fn f31_what_can_be_listed_is_a_name_or_an_address() {
    for good in ["a", "mcp.example", "mcp.example:8443", "10.0.0.1:80", "[::1]", "[::1]:8000"] {
        assert!(Hosts::is_entry(good), "{good}");
    }
    for bad in ["", "http://a", "a/b", "a:", "a:b", "a:99999", "*", "a b", "a@b", "::1", "a,b"] {
        assert!(!Hosts::is_entry(bad), "{bad}");
    }
}
