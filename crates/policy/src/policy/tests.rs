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
        r#"{"path":"docs/a","path":"/etc/passwd"}"#,
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
fn a_rule_added_later_counts() {
    let mut policy = Policy::default();
    assert_eq!(decide(&policy, "s", "t", "{}"), Verdict::Ask);
    policy.add(rule(Allow, "s/t"));
    assert_eq!(decide(&policy, "s", "t", "{}"), Verdict::Allow);
}
