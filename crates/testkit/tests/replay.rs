//! Handlers that do the same both ways, and ones that do not.

use carrick::server::{Approval, DefinedTool};
use carrick::types::{CreateMessage, CreateMessageResult, Elicit, ElicitResult, RawJson, Root};
use carrick::{Context, Server, State, ToolError, tool};
use carrick_testkit::replay::{Difference, Effects, Script, replay_check};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

type Count = Arc<AtomicUsize>;

#[expect(clippy::unwrap_used, reason = "a value tree always serializes")]
fn raw(value: Value) -> RawJson {
    serde_json::value::to_raw_value(&value).unwrap()
}

fn form(message: &str) -> Elicit {
    Elicit::Form { message: message.into(), requested_schema: raw(json!({ "type": "object" })) }
}

/// Books a table: one effect, in a step.
#[tool]
async fn book(day: String, context: Context, booked: State<Count>) -> Result<String, ToolError> {
    context.progress(1.0, Some(3.0), Some("asking"));
    let user = context.elicit(&form(&format!("book {day}?"))).await?;
    context.progress(2.0, Some(3.0), Some("booking"));
    let number = context.step("book", || async { booked.fetch_add(1, Ordering::SeqCst) }).await?;
    let question = CreateMessage::question("a kind word?", 10);
    let (word, roots) = tokio::try_join!(context.sample(&question), context.roots())?;
    context.progress(3.0, Some(3.0), None);
    Ok(format!("{number} {:?} {} {}", user.action, word.model, roots.len()))
}

/// Books before it asks, which without a session it does each time.
#[tool]
async fn book_first(context: Context, booked: State<Count>) -> Result<String, ToolError> {
    booked.fetch_add(1, Ordering::SeqCst);
    context.elicit(&form("keep it?")).await?;
    Ok("kept".into())
}

/// Asks something else each time it runs.
#[tool]
async fn wavering(context: Context, booked: State<Count>) -> Result<String, ToolError> {
    let run = booked.fetch_add(1, Ordering::SeqCst);
    context.elicit(&form(&format!("{run}?"))).await?;
    context.elicit(&form("and?")).await?;
    Ok("done".into())
}

/// Speaks of the way it is called.
#[tool]
async fn telling(context: Context) -> String {
    context.revision().date().to_owned()
}

fn script() -> Script {
    Script::new()
        .elicit(|_| ElicitResult::accept(raw(json!({}))))
        .sample(|_| CreateMessageResult::text("dear", "model"))
        .roots([Root::new("file:///a"), Root::new("file:///b")])
}

async fn check<T: DefinedTool>(name: &str) -> Result<Effects<usize>, Difference> {
    let make = || {
        let booked = Count::default();
        let server = Server::builder("replay", "1").state(booked.clone()).tool(T::tool()).build();
        (server, move || booked.load(Ordering::SeqCst))
    };
    replay_check(make, name, &json!({ "day": "monday" }), &script()).await
}

#[tokio::test]
async fn a_handler_with_its_effects_in_steps_does_the_same_both_ways() {
    let effects = check::<book>("book").await.unwrap();
    assert_eq!(effects.state, 1);
    assert_eq!(effects.result["content"][0]["text"], "0 Accept model 2");
    let asked: Vec<_> = effects.asks.iter().map(|ask| ask["method"].as_str().unwrap()).collect();
    assert_eq!(asked, ["elicitation/create", "roots/list", "sampling/createMessage"]);
    let done: Vec<f64> = effects.progress.iter().map(|(done, ..)| *done).collect();
    assert_eq!(done, [1.0, 2.0, 3.0]);
}

#[tokio::test]
async fn effects_outside_of_steps_are_found() {
    let make = || {
        let booked = Count::default();
        let builder = Server::builder("replay", "1").state(booked.clone());
        let server = builder.tool(<book_first as DefinedTool>::tool()).build();
        (server, move || booked.load(Ordering::SeqCst))
    };
    let difference = replay_check(make, "book_first", &json!({}), &script()).await.unwrap_err();
    assert_eq!((difference.what, difference.in_session.as_str()), ("state", "1"));
    assert_eq!(difference.without, "2");
}

#[tokio::test]
async fn handlers_that_change_their_minds_are_found() {
    for (difference, what) in [
        (
            replay_check(
                || {
                    let booked = Count::default();
                    let builder = Server::builder("replay", "1").state(booked);
                    (builder.tool(<wavering as DefinedTool>::tool()).build(), || ())
                },
                "wavering",
                &json!({}),
                &script(),
            )
            .await,
            "not deterministic",
        ),
        (
            replay_check(
                || {
                    let tool = <telling as DefinedTool>::tool();
                    (Server::builder("replay", "1").tool(tool).build(), || ())
                },
                "telling",
                &json!({}),
                &script(),
            )
            .await,
            "2026",
        ),
    ] {
        let difference = difference.unwrap_err();
        assert_eq!(difference.what, "result");
        assert!(difference.without.contains(what), "{difference}");
    }
}

#[tokio::test]
async fn an_approval_is_the_first_question_both_ways() {
    let make = || {
        let booked = Count::default();
        let tool = <book as DefinedTool>::tool().approve(Approval::new());
        let server = Server::builder("replay", "1").state(booked.clone()).tool(tool).build();
        (server, move || booked.load(Ordering::SeqCst))
    };
    let effects = replay_check(make, "book", &json!({ "day": "monday" }), &script()).await.unwrap();
    assert_eq!((effects.asks.len(), effects.state), (4, 1));
}
