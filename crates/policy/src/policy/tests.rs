use super::*;

fn rule(effect: Effect, pattern: &str) -> Rule {
    Rule::new(effect, pattern.parse().unwrap())
}

fn policy(rules: &[(Effect, &str)]) -> Policy {
    Policy::new(rules.iter().map(|(effect, pattern)| rule(*effect, pattern)).collect())
}

fn decide(policy: &Policy, server: &str, tool: &str, arguments: &str) -> Verdict {
    policy.decide(&Call { server, tool, arguments, builtin_read: false }).verdict
}

use Effect::{Allow, Ask, Deny};

#[test]
fn without_rules_only_built_in_reading_is_allowed() {
    let policy = Policy::default();
    let call = Call { server: "files", tool: "read_file", arguments: "{}", builtin_read: true };
    assert_eq!(
        policy.decide(&call),
        Decision { verdict: Verdict::Allow, reason: Reason::BuiltinRead }
    );
    let call = Call { builtin_read: false, ..call };
    assert_eq!(policy.decide(&call), Decision { verdict: Verdict::Ask, reason: Reason::NoRule });
}

#[test]
fn deny_counts_over_ask_and_ask_over_allow_in_any_order() {
    for rules in [
        [(Allow, "s/*"), (Ask, "s/a*"), (Deny, "*/ab")],
        [(Deny, "*/ab"), (Ask, "s/a*"), (Allow, "s/*")],
    ] {
        let policy = policy(&rules);
        assert_eq!(decide(&policy, "s", "ab", "{}"), Verdict::Deny);
        assert_eq!(decide(&policy, "s", "ac", "{}"), Verdict::Ask);
        assert_eq!(decide(&policy, "s", "x", "{}"), Verdict::Allow);
        assert_eq!(decide(&policy, "other", "x", "{}"), Verdict::Ask);
    }
}

#[test]
fn built_in_reading_obeys_rules_too() {
    let call = Call { server: "files", tool: "read_file", arguments: "{}", builtin_read: true };
    assert_eq!(policy(&[(Deny, "files")]).decide(&call).verdict, Verdict::Deny);
    assert_eq!(policy(&[(Ask, "*")]).decide(&call).verdict, Verdict::Ask);
}

#[test]
fn the_rule_that_decided_is_told() {
    let decision = policy(&[(Allow, "s/*"), (Deny, "s/x")]).decide(&Call {
        server: "s",
        tool: "x",
        arguments: "",
        builtin_read: false,
    });
    assert_eq!(decision.reason.to_string(), "rule: deny \"s/x\"");
}

#[test]
fn conditions_on_arguments_must_all_hold() {
    let policy = policy(&[(Allow, "f/write(path=docs/*, n=1)")]);
    let decide = |arguments| decide(&policy, "f", "write", arguments);
    assert_eq!(decide(r#"{"path":"docs/a","n":1}"#), Verdict::Allow);
    assert_eq!(decide(r#"{"path":"docs\/\u0061","n":1}"#), Verdict::Allow);
    for arguments in [
        r#"{"path":"docs/a"}"#,
        r#"{"path":"src/a","n":1}"#,
        r#"{"path":"docs/a","n":2}"#,
        "",
        "{}",
    ] {
        assert_eq!(decide(arguments), Verdict::Ask, "{arguments}");
    }
}

#[test]
fn what_cannot_be_judged_is_never_allowed_and_never_slips_past_a_deny() {
    let unclear = [
        r#"{"path":"docs/../../etc/passwd"}"#,
        r#"{"path":"docs/%2E%2e/x"}"#,
        r#"{"path":"docs\\..\\x"}"#,
        r#"{"path":"docs/a\u202eb"}"#,
        r#"{"path":"docs/a\u0000"}"#,
        r#"{"path":"docs/a","path":"docs/b"}"#,
        r#"{"path":["docs/a"]}"#,
        r#"{"path":"\ud800"}"#,
        r#"["path"]"#,
        "{'path':'docs/a'}",
        r#"{"path":"docs/a"} {"path":"x"}"#,
    ];
    let allow = policy(&[(Allow, "f/*(path=docs/*)")]);
    let deny = policy(&[(Allow, "f/*"), (Deny, "f/*(path=/etc/*)")]);
    for arguments in unclear {
        let call = Call { server: "f", tool: "t", arguments, builtin_read: false };
        for policy in [&allow, &deny] {
            let decision = policy.decide(&call);
            assert_eq!(decision.verdict, Verdict::Ask, "{arguments}");
            assert!(matches!(decision.reason, Reason::Unclear(_)), "{arguments}");
        }
    }
    assert_eq!(decide(&deny, "f", "t", r#"{"path":"/etc/x"}"#), Verdict::Deny);
    assert_eq!(decide(&deny, "f", "t", r#"{"path":"a..b/c"}"#), Verdict::Allow);
}

#[test]
fn a_rule_bound_to_servers_reaches_no_others() {
    let bound = rule(Allow, "*").only_for(Arc::new(["mine".to_owned()].into()));
    let policy = Policy::new(vec![bound]);
    assert_eq!(decide(&policy, "mine", "t", "{}"), Verdict::Allow);
    assert_eq!(decide(&policy, "other", "t", "{}"), Verdict::Ask);
}

#[test]
fn f08_a_rule_reaches_all_servers_but_those_it_is_kept_from() {
    let kept = rule(Allow, "*").except_for(Arc::new(["theirs".to_owned()].into()));
    let policy = Policy::new(vec![kept]);
    assert_eq!(decide(&policy, "mine", "t", "{}"), Verdict::Allow);
    assert_eq!(decide(&policy, "theirs", "t", "{}"), Verdict::Ask);
}

#[test]
fn a_rule_added_later_counts() {
    let mut policy = Policy::default();
    assert_eq!(decide(&policy, "s", "t", "{}"), Verdict::Ask);
    policy.add(rule(Allow, "s/t"));
    assert_eq!(decide(&policy, "s", "t", "{}"), Verdict::Allow);
}

/// The verdict with these rules, and whether only a person may change it.
fn strict(rules: &[(Effect, &str)], arguments: &str) -> (Verdict, bool) {
    let call = Call { server: "s", tool: "echo", arguments, builtin_read: false };
    let decision = policy(rules).decide(&call);
    (decision.verdict, decision.may_be_denied())
}

const DENIED: (Verdict, bool) = (Verdict::Deny, false);
const UNCLEAR: (Verdict, bool) = (Verdict::Ask, true);
const ALLOWED: (Verdict, bool) = (Verdict::Allow, false);

#[test]
fn f07_a_value_that_may_be_taken_for_what_is_denied_is_denied() {
    let rules = [(Allow, "s"), (Deny, "s/echo(path=secret/*)")];
    for path in [
        "secret/x",
        "a/../secret/x",
        "./secret/x",
        ".//secret//x",
        "secret\\\\x",
        "a\\\\..\\\\secret\\\\x",
        "secret%2Fx",
        "%73ecret/x",
        "%2573ecret%252fx",
        "sec\\u200bret/x",
        "secret/\\u0000x",
        "\\ufeffsecret/x",
        "s\\u00adecret/x",
        " secret/x",
        "\\uff53\\uff45cret/x",
    ] {
        assert_eq!(strict(&rules, &format!("{{\"path\":\"{path}\"}}")), DENIED, "{path}");
    }
    for arguments in [
        r#"{"path":["secret/x"]}"#,
        r#"{"path":{"a":[{"b":"a/../secret/x"}]}}"#,
        r#"{"path":{"secret/x":1}}"#,
        r#"{"path":"a","path":"secret/x"}"#,
        r#"{"\u0070ath":"secret/x"}"#,
    ] {
        assert_eq!(strict(&rules, arguments), DENIED, "{arguments}");
    }
}

#[test]
fn f07_what_is_unclear_against_a_deny_rule_needs_a_person() {
    let rules = [(Allow, "s"), (Deny, "s/echo(path=secret/*)")];
    for arguments in [
        r#"{"path":"a/../b"}"#,
        r#"{"path":"a\u200b/b"}"#,
        r#"{"path":["a"]}"#,
        r#"{"path":{}}"#,
        r#"{"path":"a","path":"b"}"#,
        r#"{"path":"%ff"}"#,
        r#"{"path":"\ud800"}"#,
        r#"{"path":"Secret/x"}"#,
        r#"{"Path":"secret/x"}"#,
        r#"{"path":"a","PATH":"secret/x"}"#,
        r#"{"pa\u200bth":"secret/x"}"#,
        r#"{" path":["a"]}"#,
        r#"["secret/x"]"#,
        "nonsense",
    ] {
        assert_eq!(strict(&rules, arguments), UNCLEAR, "{arguments}");
    }
    for arguments in [
        r#"{"path":"open/x"}"#,
        r#"{"path":"open//./x%20y"}"#,
        r#"{"path":"a..b/secret"}"#,
        r#"{"path":true}"#,
        r#"{"path":7}"#,
        r#"{"Path":"open/x"}"#,
        r#"{"other":"secret/x"}"#,
        "",
    ] {
        assert_eq!(strict(&rules, arguments), ALLOWED, "{arguments}");
    }
    let spelled = [(Allow, "s"), (Deny, "s/echo(path=./secret/*)"), (Deny, "s/echo(path=/etc/*)")];
    assert_eq!(strict(&spelled, r#"{"path":"secret/x"}"#), DENIED);
    assert_eq!(strict(&spelled, r#"{"path":"file:///etc/x"}"#), DENIED);
    let accents = [(Allow, "s"), (Deny, "s/echo(path=caf\u{e9}/*)")];
    assert_eq!(strict(&accents, "{\"path\":\"cafe\u{301}/x\"}"), DENIED);
}

#[test]
fn f07_numbers_are_compared_as_numbers_and_with_nothing_else() {
    let deny = [(Allow, "s"), (Deny, "s/echo(n=1)")];
    for (value, verdict) in [
        ("1", DENIED),
        ("1.0", DENIED),
        ("1e0", DENIED),
        ("10E-1", DENIED),
        ("\"1\"", DENIED),
        ("\"1.0\"", UNCLEAR),
        ("true", ALLOWED),
        ("null", ALLOWED),
        ("2", ALLOWED),
        ("1.0000000000000000000001", ALLOWED),
        ("[1.0]", DENIED),
    ] {
        assert_eq!(strict(&deny, &format!("{{\"n\":{value}}}")), verdict, "{value}");
    }
    let allow = [(Allow, "s/echo(n=1)")];
    assert_eq!(strict(&allow, r#"{"n":1.0}"#), ALLOWED);
    assert_eq!(strict(&allow, r#"{"n":true}"#).0, Verdict::Ask);
    let digits = [(Allow, "s"), (Deny, "s/echo(n=10?)")];
    assert_eq!(strict(&digits, r#"{"n":1.00e2}"#), DENIED);
    assert_eq!(strict(&digits, r#"{"n":1e999}"#), UNCLEAR);
    assert_eq!(strict(&[(Allow, "s"), (Deny, "s/echo(n=true)")], r#"{"n":1}"#), ALLOWED);
}

#[test]
fn f07_a_rule_that_allows_must_match_in_every_reading() {
    let allow = [(Allow, "s/echo(path=docs/*)")];
    for path in ["docs/a", "docs//a", "docs/./a b", "docs/a%20b", "docs/\u{ff21}\u{ff0c}"] {
        assert_eq!(strict(&allow, &format!("{{\"path\":\"{path}\"}}")), ALLOWED, "{path}");
    }
    for path in
        ["docs/../x", "docs/%2e%2e/x", "docs/%252e%252e/x", "docs\\\\x", "do%63s/a", "docs/\\u0000"]
    {
        assert_eq!(strict(&allow, &format!("{{\"path\":\"{path}\"}}")).0, Verdict::Ask, "{path}");
    }
    assert_eq!(strict(&allow, r#"{"path":"docs/a","Path":"/etc/x"}"#).0, Verdict::Ask);
    let url = [(Allow, "s/echo(url=https://h.example/*)"), (Allow, r"s/echo(re=\\d\*)")];
    assert_eq!(strict(&url, r#"{"url":"https://h.example/a//b"}"#), ALLOWED);
    assert_eq!(strict(&url, r#"{"url":"https://h.example/../b"}"#).0, Verdict::Ask);
    assert_eq!(strict(&url, r#"{"re":"\\d*"}"#), ALLOWED, "allowed to the letter");
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// Ways to write a path so that it leads to the same place.
    fn disguised(path: &str, ways: &[u8]) -> String {
        let mut text = path.to_owned();
        for way in ways {
            text = match way % 9 {
                0 => format!("./{text}"),
                1 => format!("x/../{text}"),
                2 => text.replace('/', "//"),
                3 => text.replace('/', "/./"),
                4 => text.replace('/', "\\"),
                5 => text.replacen('e', "%65", 1),
                6 => text.replacen('r', "r\u{200b}", 1),
                7 => text.replacen('s', "\u{ff53}", 1),
                _ => format!("{text} "),
            };
        }
        text
    }

    proptest! {
        #[test]
        fn f07_no_disguise_slips_past_a_deny_rule(
            ways in proptest::collection::vec(any::<u8>(), 0..6),
            listed in any::<bool>(),
            key in prop_oneof![Just("path"), Just("Path"), Just("pa\u{200b}th")],
        ) {
            let path = serde_json::to_string(&disguised("secret/file", &ways)).unwrap();
            let path = if listed { format!("[{path}]") } else { path };
            let key = serde_json::to_string(key).unwrap();
            let found = strict(
                &[(Allow, "s"), (Deny, "s/echo(path=secret/*)")],
                &format!("{{{key}:{path}}}"),
            );
            prop_assert!(found == DENIED || found == UNCLEAR, "{path}: {found:?}");
        }

        #[test]
        fn f07_numbers_of_one_worth_get_one_verdict(
            digits in "[1-9][0-9]{0,6}", zeros in 0_usize..5, exponent in -6_i64..6,
        ) {
            let other = format!("{digits}{}e{exponent}", "0".repeat(zeros));
            let rule = format!("s/echo(n={digits}.0{}e{})", "0".repeat(zeros), exponent + zeros as i64);
            let found = strict(&[(Allow, "s"), (Deny, &rule)], &format!("{{\"n\":{other}}}"));
            prop_assert_eq!(found, DENIED, "{} {}", other, rule);
        }

        #[test]
        fn f07_any_arguments_are_judged_without_a_panic(text in "\\PC{0,40}", json in any::<bool>()) {
            let arguments = if json { serde_json::json!({ "path": text }).to_string() } else { text };
            strict(&[(Allow, "s/echo(path=a*)"), (Deny, "s/echo(path=b?c)")], &arguments);
        }
    }
}
