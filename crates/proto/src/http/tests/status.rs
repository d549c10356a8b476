use super::{
    super::{MediaType, Verdict, error_status, probe_verdict},
    handed,
};

const HTML: MediaType = MediaType::Other;
const JSON: MediaType = MediaType::Json;

#[test]
fn d041_only_a_modern_error_proves_a_modern_server() {
    let bodies = handed!("D041/bodies.jsonl");
    let mut lines = bodies.lines();
    for _ in 0..4 {
        let body = lines.next().unwrap();
        assert_eq!(probe_verdict(400, JSON, body.as_bytes()), Verdict::FallBack, "{body}");
    }
    let modern = lines.next().unwrap();
    assert_eq!(probe_verdict(400, JSON, modern.as_bytes()), Verdict::Modern);
    assert_eq!(probe_verdict(400, HTML, modern.as_bytes()), Verdict::FallBack);
}

fn with_code(status: u16, code: i64) -> Verdict {
    let body = std::format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":""}}}}"#);
    probe_verdict(status, JSON, body.as_bytes())
}

#[test]
fn d041_codes_and_statuses() {
    for code in [-32020, -32021, -32022] {
        assert_eq!(with_code(400, code), Verdict::Modern);
        assert_eq!(with_code(200, code), Verdict::Modern);
    }
    assert_eq!(with_code(404, -32601), Verdict::Modern);
    for (status, code) in
        [(400, -32601), (200, -32601), (400, -32000), (400, -32602), (500, -32603)]
    {
        assert_eq!(with_code(status, code), Verdict::FallBack, "{status} {code}");
    }
}

#[test]
fn d041_no_fallback_on_authentication_or_outage() {
    for status in [307, 401, 403, 407, 408, 429, 502, 503, 504] {
        assert_eq!(probe_verdict(status, HTML, b""), Verdict::Fail, "{status}");
        assert_eq!(with_code(status, -32022), Verdict::Fail, "{status}");
    }
    for status in [400, 404, 405, 406, 415, 500] {
        assert_eq!(probe_verdict(status, HTML, b""), Verdict::FallBack, "{status}");
    }
}

#[test]
fn a_result_proves_a_modern_server() {
    let result = br#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["x"]}}"#;
    assert_eq!(probe_verdict(200, JSON, result), Verdict::Modern);
    assert_eq!(probe_verdict(200, MediaType::EventStream, result), Verdict::Modern);
    assert_eq!(probe_verdict(400, JSON, result), Verdict::FallBack);
    assert_eq!(probe_verdict(202, JSON, b""), Verdict::FallBack);
    assert_eq!(probe_verdict(200, JSON, br#"{"jsonrpc":"1.0","result":{}}"#), Verdict::FallBack);
}

#[test]
fn the_status_follows_the_error_where_it_should() {
    for (code, complete, status) in [
        (-32601, true, 404),
        (-32020, true, 400),
        (-32021, true, 400),
        (-32022, true, 400),
        (-32602, false, 400),
        (-32602, true, 200),
        (-32603, true, 200),
        (-32700, true, 400),
        (-32600, true, 400),
        (-32050, true, 503),
        (7, true, 200),
    ] {
        assert_eq!(error_status(code, true, complete), status, "{code}");
    }
    for (code, status) in
        [(-32601, 200), (-32602, 200), (-32022, 200), (-32600, 400), (-32700, 400), (-32050, 503)]
    {
        assert_eq!(error_status(code, false, true), status, "{code}");
    }
}
