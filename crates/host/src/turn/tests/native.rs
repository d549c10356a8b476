//! Models that call tools by their provider's API.

use super::*;
use crate::model::ResultPart;

/// The results in the last message that the model was sent.
fn results(script: &Script) -> Vec<(String, bool, Vec<ResultPart>)> {
    let requests = script.requests.lock().unwrap();
    let last = &requests.last().unwrap().messages;
    let content = &last.last().unwrap().content;
    content
        .iter()
        .map(|block| match block {
            Block::ToolResult { call_id, is_error, content, .. } => {
                (call_id.clone(), *is_error, content.clone())
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

fn texts(script: &Script) -> Vec<String> {
    let text = |parts: Vec<ResultPart>| {
        let parts = parts.into_iter().map(|part| match part {
            ResultPart::Text(text) => text,
            ResultPart::Image(image) => format!("<{}>", image.base64),
        });
        parts.collect::<Vec<_>>().join("|")
    };
    results(script).into_iter().map(|(_, _, parts)| text(parts)).collect()
}

#[tokio::test]
async fn calls_run_side_by_side_and_their_results_keep_their_order() {
    let script = Script::new(
        true,
        vec![
            calls(&[
                ("meet", json!({ "n": 1 })),
                ("meet", json!({ "n": 2 })),
                ("echo", json!({ "t": "x" })),
            ]),
            says("They met."),
        ],
    );
    let Outcome { answer, ears } = turn(&script).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, "They met.");
    assert_eq!((answer.usage.input_tokens, answer.denied, answer.stopped), (100, 0, None));
    assert_eq!(texts(&script), ["met 1", "met 2", "x"]);
    let ids: Vec<String> = results(&script).into_iter().map(|(id, ..)| id).collect();
    assert_eq!(ids, ["id1", "id2", "id3"]);
    assert_eq!((ears.of("call").len(), ears.of("result").len()), (3, 3));
    assert_eq!(ears.of("call")[0]["tool"], "meet");
    assert_eq!(ears.of("answer")[0]["model"], "script:one");
    assert_eq!(ears.asked.load(Ordering::SeqCst), 0, "built in and only reading");
}

#[tokio::test]
async fn a_denied_call_is_told_and_the_turn_goes_on() {
    let script = Script::new(
        true,
        vec![calls(&[("danger", json!({})), ("echo", json!({ "t": "x" }))]), says("ok")],
    );
    let ears = Ears::new(Verdict::Deny);
    let outcome = turn_in(&script, ears, Policy::new(Vec::new()), TurnLimits::default()).await;
    assert_eq!(outcome.answer.unwrap().denied, 1);
    assert_eq!(outcome.ears.asked.load(Ordering::SeqCst), 1);
    assert_eq!(texts(&script), ["not run: permission was denied", "x"]);

    let script = Script::new(true, vec![calls(&[("danger", json!({}))]), says("ok")]);
    let ears = Ears::new(Verdict::Allow);
    let outcome = turn_in(&script, ears, deny("box/danger"), TurnLimits::default()).await;
    assert_eq!(outcome.answer.unwrap().denied, 1);
    assert_eq!(outcome.ears.asked.load(Ordering::SeqCst), 0, "a rule decides by itself");
    assert_eq!(outcome.ears.of("error").len(), 1);
}

#[tokio::test]
async fn without_anybody_to_ask_nothing_of_the_round_runs() {
    let script =
        Script::new(true, vec![calls(&[("echo", json!({ "t": "x" })), ("danger", json!({}))])]);
    let ears = Ears::new(Verdict::Unavailable);
    let outcome = turn_in(&script, ears, Policy::new(Vec::new()), TurnLimits::default()).await;
    assert!(
        matches!(outcome.answer, Err(TurnError::PermissionNeeded(what)) if what.contains("danger"))
    );
    assert!(outcome.ears.of("result").is_empty());
}

#[tokio::test]
async fn names_that_are_not_there_come_back_with_those_that_are_near() {
    let script = Script::new(true, vec![calls(&[("ecko", json!({}))]), says("ok")]);
    assert!(turn(&script).await.answer.is_ok());
    assert!(texts(&script)[0].starts_with("not run: ") && texts(&script)[0].contains("echo"));
    assert!(results(&script)[0].1, "it is an error");
}

#[tokio::test]
async fn broken_calls_are_told_what_is_wrong_and_stay_in_the_history() {
    let broken = Said::BrokenCall(BrokenCall {
        id: "b1".into(),
        name: "echo".into(),
        arguments: "{\"t\":".into(),
        problem: "the arguments are cut off".into(),
    });
    let script =
        Script::new(true, vec![vec![broken, Said::Stop(StopReason::MaxTokens)], says("ok")]);
    assert!(turn(&script).await.answer.is_ok());
    assert_eq!(texts(&script), ["not run: the arguments are cut off"]);
    let requests = script.requests.lock().unwrap();
    let said = &requests[1].messages[1].content;
    assert!(
        matches!(&said[0], Block::ToolCall(call) if call.id == "b1" && call.arguments.get() == "{}")
    );
}

#[tokio::test]
async fn d125_the_very_same_call_is_made_three_times_and_no_more() {
    let again = || calls(&[("echo", json!({ "t": "x" }))]);
    let script = Script::new(true, vec![again(), again(), again(), again(), says("I give up.")]);
    let Outcome { answer, ears } = turn(&script).await;
    assert_eq!(answer.unwrap().text, "I give up.");
    assert!(texts(&script)[0].contains("has been made 3 times"), "{:?}", texts(&script));
    assert_eq!(ears.of("call").len(), 3);
}

#[tokio::test(start_paused = true)]
async fn every_bound_of_a_turn_ends_it_and_is_named() {
    let endless = |n: usize| {
        let answers = (0..n).map(|n| calls(&[("echo", json!({ "t": n.to_string() }))]));
        Script::new(true, answers.collect())
    };
    let limits = |set: fn(&mut TurnLimits)| {
        let mut limits = TurnLimits::default();
        set(&mut limits);
        limits
    };
    let nothing = || Policy::new(Vec::new());
    for (limits, text, requests) in [
        (limits(|l| l.rounds = 3), "3 rounds", 3),
        (limits(|l| l.calls = 2), "2 calls", 3),
        (limits(|l| l.tokens = 150), "150 tokens", 2),
    ] {
        let script = endless(10);
        let outcome = turn_in(&script, Ears::new(Verdict::Allow), nothing(), limits).await;
        let error = outcome.answer.unwrap_err();
        assert!(
            matches!(error, TurnError::Limit(_)) && error.to_string().contains(text),
            "{error}"
        );
        assert_eq!(script.requests(), requests, "{text}");
    }
    let script = Script::new(true, vec![calls(&[("never", json!({}))])]);
    let hurry = limits(|l| l.time = Duration::from_secs(5));
    let outcome = turn_in(&script, Ears::new(Verdict::Allow), nothing(), hurry).await;
    assert!(outcome.answer.unwrap_err().to_string().contains("5 s"));
}

#[tokio::test]
async fn d073_a_result_is_cut_as_a_whole_and_says_so() {
    let limits = TurnLimits { shown: 20_000, ..TurnLimits::default() };
    let shown = async |parts: usize, bytes: usize| {
        let wanted = calls(&[("large", json!({ "parts": parts, "bytes": bytes }))]);
        let script = Script::new(true, vec![wanted, says("ok")]);
        let ears = Ears::new(Verdict::Allow);
        let outcome = turn_in(&script, ears, Policy::new(Vec::new()), limits).await;
        assert!(outcome.answer.is_ok());
        let whole = outcome.ears.of("result")[0]["content"].to_string().len();
        assert!(whole > parts * bytes, "the person has all of it");
        texts(&script).remove(0)
    };
    let one = shown(1, 1_000_000).await;
    assert!(one.len() < 20_200 && one.contains("bytes left out"), "{}", one.len());
    assert!(one.starts_with("0:x") && one.ends_with('x'), "head and tail");
    let many = shown(50, 9_000).await;
    assert!(many.len() < 20_400 && many.contains("47 more parts"), "{}", &many[many.len() - 60..]);
    let fitting = shown(2, 9_000).await;
    assert!(!fitting.contains("left out"));
}

#[tokio::test]
async fn d074_pictures_are_pictures_and_broken_ones_a_note() {
    let script = Script::new(true, vec![calls(&[("pictures", json!({}))]), says("ok")]);
    assert!(turn(&script).await.answer.is_ok());
    let (_, is_error, parts) = results(&script).remove(0);
    assert!(!is_error);
    let [
        ResultPart::Image(first),
        ResultPart::Image(second),
        ResultPart::Text(third),
        ResultPart::Text(text),
    ] = &parts[..]
    else {
        panic!("{parts:?}")
    };
    assert_eq!((first.base64.as_str(), second.base64.as_str()), ("aGk=", "aGk="));
    assert!(third.contains("not base64") && text == "seen");
}

#[tokio::test]
async fn a_tool_that_fails_is_an_error_that_the_model_can_read() {
    let script = Script::new(
        true,
        vec![calls(&[("fails", json!({})), ("echo", json!({ "wrong": 1 }))]), says("ok")],
    );
    assert!(turn(&script).await.answer.is_ok());
    let results = results(&script);
    assert!(results.iter().all(|(_, is_error, _)| *is_error));
    assert!(texts(&script)[0].contains("out of paper"));
    assert!(texts(&script)[1].contains("do not fit the schema"));
}

#[tokio::test]
async fn progress_is_told_between_a_call_and_its_result() {
    let script = Script::new(true, vec![calls(&[("steps", json!({}))]), says("ok")]);
    let Outcome { ears, .. } = turn(&script).await;
    let kinds: Vec<Value> =
        ears.heard.lock().unwrap().iter().map(|event| event["type"].clone()).collect();
    assert_eq!(kinds[..3], ["call", "progress", "result"]);
    assert_eq!(ears.of("progress")[0]["total"], 2.0);
}

#[tokio::test]
async fn resources_are_listed_and_read() {
    let wanted = [
        ("read_resource", json!({ "server": "box", "uri": "box://lid" })),
        ("read_resource", json!({ "server": "box", "uri": "box://none" })),
        ("read_resource", json!({ "server": "nobody", "uri": "x" })),
        ("read_resource", json!({ "uri": "x" })),
    ];
    let script = Script::new(true, vec![calls(&wanted), says("ok")]);
    assert!(turn(&script).await.answer.is_ok());
    let texts = texts(&script);
    assert_eq!(texts[0], "a lid of oak");
    assert!(texts[1].contains("no resource box://none"), "{}", texts[1]);
    assert!(texts[2].contains("no server of that name"), "{}", texts[2]);
    assert!(texts[3].contains("not run: missing field `server`"), "{}", texts[3]);
    let requests = script.requests.lock().unwrap();
    let own = requests[0].tools.iter().find(|tool| tool.name == "read_resource").unwrap();
    assert!(own.description.contains("box: box://lid the lid"), "{}", own.description);
    assert!(requests[0].tools.iter().all(|tool| tool.name != "get_prompt"), "nobody has prompts");
    assert!(requests[0].system.contains("Handle with care."));
}

#[tokio::test]
async fn an_answer_that_fails_halfway_runs_none_of_its_calls() {
    let script = Script::new(true, vec![calls(&[("echo", json!({ "t": "x" }))])]);
    let error = ModelError::new(ModelErrorKind::Overloaded, "script", "gone");
    script.answers.lock().unwrap()[0].insert(1, Err(error));
    let Outcome { answer, ears } = turn(&script).await;
    assert!(matches!(answer, Err(TurnError::Model(_))));
    assert!(ears.of("call").is_empty());
}

#[tokio::test]
async fn an_answer_that_was_cut_says_so() {
    let cut = vec![Said::Text("Once upon".into()), Said::Stop(StopReason::MaxTokens)];
    let script = Script::new(true, vec![cut]);
    let answer = turn(&script).await.answer.unwrap();
    assert_eq!((answer.text.as_str(), answer.stopped), ("Once upon", Some(StopReason::MaxTokens)));
}

#[tokio::test]
async fn a_model_that_takes_no_tools_is_taught_the_text_form() {
    let script = Script::new(true, vec![Vec::new(), says("ok")]);
    let error = ModelError::new(ModelErrorKind::NoTools, "script", "no tools");
    script.answers.lock().unwrap()[0].push(Err(error));
    assert_eq!(turn(&script).await.answer.unwrap().text, "ok");
    let requests = script.requests.lock().unwrap();
    assert!(requests[1].tools.is_empty() && requests[1].system.contains("<use_mcp_tool>"));
}
