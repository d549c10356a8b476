//! One handler, both carriers.

use crate::client::{CallError, ClientConfig, Era, Handlers};
use crate::server::{AskError, StateKeys};
use crate::transport::memory;
use crate::types::{
    CreateMessage, CreateMessageResult, Elicit, ElicitAction, ElicitResult, Implementation,
    RawJson, Root, RpcError,
};
use crate::{Client, Context, Server, State, ToolError, serve, tool, tools};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
struct Effects {
    steps: AtomicUsize,
    runs: AtomicUsize,
}

fn raw(json: &str) -> RawJson {
    serde_json::value::RawValue::from_string(json.into()).unwrap()
}

fn form(message: &str) -> Elicit {
    let requested_schema = raw(r#"{"type":"object","properties":{"name":{"type":"string"}}}"#);
    Elicit::Form { message: message.into(), requested_schema }
}

/// Asks twice, one after the other, then both of the rest at once.
#[tool]
async fn interview(effects: State<Effects>, context: Context) -> Result<String, ToolError> {
    effects.runs.fetch_add(1, Ordering::SeqCst);
    let paid: usize = context
        .step("pay", || {
            let effects = effects.0.clone();
            async move { effects.steps.fetch_add(1, Ordering::SeqCst) }
        })
        .await?;
    let first = context.elicit_as(Some("user_name"), &form("who?")).await?;
    let question = CreateMessage::question("what?", 10);
    let (model, roots) = tokio::join!(context.sample(&question), context.roots());
    let (model, roots) = (model?, roots?);
    let name = first.content.map(|c| c.get().to_owned()).unwrap_or_default();
    Ok(format!("{paid} {:?} {name} {} {}", first.action, model.model, roots[0].uri))
}

fn server() -> Server {
    Server::builder("asks", "1").state(Effects::default()).tools(tools![interview, other]).build()
}

/// Asks something else each time it runs.
#[tool]
async fn other(effects: State<Effects>, context: Context) -> Result<String, ToolError> {
    let n = effects.runs.fetch_add(1, Ordering::SeqCst);
    context.elicit(&form(&format!("{n}"))).await?;
    context.elicit(&form("and?")).await?;
    Ok("done".into())
}

fn handlers() -> Handlers {
    Handlers::new()
        .elicit(|ask| async move {
            let Elicit::Form { .. } = ask else { return Err(RpcError::internal("a form")) };
            Ok(ElicitResult::accept(raw(r#"{"name":"Ada"}"#)))
        })
        .sample(|ask| async move {
            assert_eq!(ask.max_tokens, 10);
            Ok(CreateMessageResult::text("42", "deep"))
        })
        .roots(|| async { Ok(vec![Root::new("file:///work")]) })
}

async fn connect(server: &Server, era: Era, handlers: Handlers) -> Client {
    let (ours, theirs) = memory();
    let server = server.clone();
    tokio::spawn(async move { serve(&server, theirs).await });
    let mut config = ClientConfig::new(Implementation::new("tests", "0"));
    config.era = Some(era);
    Client::connect(ours, config, handlers).await.unwrap()
}

#[tokio::test]
async fn a_handler_asks_the_same_way_in_both_eras() {
    for era in [Era::Legacy, Era::Modern] {
        let client = connect(&server(), era, handlers()).await;
        let result = client.call_tool("interview", b"{}").await.unwrap();
        let text = result.content[0].as_text().unwrap();
        assert_eq!(text, "0 Accept {\"name\":\"Ada\"} deep file:///work", "{era:?}");
        // The step ran once, however often the handler did.
        let again = client.call_tool("interview", b"{}").await.unwrap();
        assert!(again.content[0].as_text().unwrap().starts_with("1 "), "{era:?}");
    }
}

#[tokio::test]
async fn a_refusal_of_the_user_is_an_answer() {
    for era in [Era::Legacy, Era::Modern] {
        let declines = handlers()
            .elicit(|_| async { Ok(ElicitResult::without_content(ElicitAction::Decline)) });
        let client = connect(&server(), era, declines).await;
        let result = client.call_tool("interview", b"{}").await.unwrap();
        assert!(result.content[0].as_text().unwrap().contains("Decline"), "{era:?}");
    }
}

#[tokio::test]
async fn d133_what_the_client_does_not_offer_is_not_asked() {
    let client = connect(&server(), Era::Legacy, Handlers::new()).await;
    let result = client.call_tool("interview", b"{}").await.unwrap();
    assert!(result.is_error && result.content[0].as_text().unwrap().contains("elicitation"));

    let client = connect(&server(), Era::Modern, Handlers::new()).await;
    let error = client.call_tool("interview", b"{}").await.unwrap_err();
    let Some(CallError::Rpc(error)) = error.call() else { panic!("{error}") };
    assert_eq!(error.code, RpcError::MISSING_CAPABILITY);
    assert_eq!(
        error.data.as_ref().unwrap().get(),
        r#"{"requiredCapabilities":{"elicitation":{}}}"#
    );
}

#[tokio::test]
async fn a_handler_that_asks_something_else_the_second_time_is_stopped() {
    let client = connect(&server(), Era::Modern, handlers()).await;
    let error = client.call_tool("other", b"{}").await.unwrap_err();
    let Some(CallError::Rpc(error)) = error.call() else { panic!("{error}") };
    assert_eq!(error.code, RpcError::INTERNAL);
    assert!(error.message.contains("not deterministic"), "{error}");
    // In a session it runs once, so it may.
    let client = connect(&server(), Era::Legacy, handlers()).await;
    assert_eq!(client.call_tool("other", b"{}").await.unwrap().content[0].as_text(), Some("done"));
}

#[tokio::test]
async fn a_state_is_good_for_its_own_request_only() {
    let server = server();
    let client = connect(&server, Era::Modern, handlers()).await;
    let ask = |params: &str| {
        let params = params.as_bytes().to_vec();
        let client = client.clone();
        async move { raw_call(&client, params).await }
    };
    let state = ask(r#"{"name":"interview","arguments":{}}"#).await.unwrap_err();
    let answered = r#""inputResponses":{"user_name":{"action":"accept"}}"#;
    for (params, good) in [
        (
            format!(
                r#"{{"name":"interview","arguments":{{ }},{answered},"requestState":"{state}"}}"#
            ),
            true,
        ),
        (
            format!(r#"{{"name":"other","arguments":{{}},{answered},"requestState":"{state}"}}"#),
            false,
        ),
        (
            format!(
                r#"{{"name":"interview","arguments":{{"a":1}},{answered},"requestState":"{state}"}}"#
            ),
            false,
        ),
        (format!(r#"{{"name":"interview",{answered},"requestState":"x{state}"}}"#), false),
        (format!(r#"{{"name":"interview",{answered},"requestState":7}}"#), false),
        (r#"{"name":"interview","inputResponses":7}"#.to_owned(), false),
        (r#"{"name":"interview","inputResponses":{"user_name":7}}"#.to_owned(), false),
        (r#"{"name":"interview","inputResponses":{"user_name":null}}"#.to_owned(), false),
        (r#"{"name":"interview","inputResponses":{"user_name":{"action":"?"}}}"#.to_owned(), false),
    ] {
        let error = ask(&params).await.unwrap_err();
        assert_eq!(!error.starts_with('-'), good, "{params}: {error}");
    }
    // What is missing is asked for again; what is not known is ignored.
    let again = ask(r#"{"name":"interview","inputResponses":{"nobody":{}}}"#).await.unwrap_err();
    assert!(!again.starts_with('-'));
}

#[tokio::test]
async fn f41_a_state_is_bound_to_what_the_arguments_say_to_the_last_digit() {
    let client = connect(&server(), Era::Modern, handlers()).await;
    let ask = |arguments: &str, more: &str| {
        let params = format!(r#"{{"name":"interview","arguments":{arguments}{more}}}"#);
        let client = client.clone();
        async move { raw_call(&client, params.into_bytes()).await.unwrap_err() }
    };
    let retry = |state: &str| {
        format!(
            r#","inputResponses":{{"user_name":{{"action":"accept"}}}},"requestState":"{state}""#
        )
    };
    for (first, same, others) in [
        (
            r#"{"n":9007199254740993,"t":"é"}"#,
            r#"{ "t":"\u00e9" , "n":9007199254740993}"#,
            &[r#"{"n":9007199254740992,"t":"é"}"#, r#"{"n":9007199254740993.0,"t":"é"}"#][..],
        ),
        (
            r#"{"n":123456789012345678901234567890}"#,
            r#"{"n": 123456789012345678901234567890}"#,
            &[r#"{"n":123456789012345678901234567891}"#, r#"{"n":1.2345678901234568e29}"#],
        ),
        (r#"{"n":-0}"#, r#"{"n":-0}"#, &[r#"{"n":0}"#, r#"{"n":-0.0}"#, "{}"]),
        (r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"c":2,"b":1}}"#, &[r#"{"a":{"b":2,"c":1}}"#]),
    ] {
        let state = ask(first, "").await;
        assert!(!state.starts_with('-'), "{first}: {state}");
        for other in others {
            assert_eq!(ask(other, &retry(&state)).await, "-32602", "{first} as {other}");
        }
        assert!(!ask(same, &retry(&state)).await.starts_with('-'), "{first} as {same}");
    }
    let state = ask("{}", "").await;
    for unreadable in [r#"{"n":1e999}"#, r#"{"n":-1e400}"#, r#"{"t":"\ud800"}"#, r#"{"\udfff":1}"#]
    {
        assert_eq!(ask(unreadable, "").await, "-32602", "{unreadable} is not sealed");
        assert_eq!(ask(unreadable, &retry(&state)).await, "-32602", "nor is it none");
    }
}

/// Offers the client's model tools, or a choice of them.
#[tool]
async fn with_tools(context: Context) -> Result<String, ToolError> {
    let mut question = CreateMessage::question("what?", 10);
    question.tools = Some(Vec::new());
    let none = context.sample(&question).await;
    question.tools = None;
    question.tool_choice = Some(raw(r#"{"mode":"none"}"#));
    let choice = context.sample(&question).await;
    Ok(format!("{} {}", none.is_ok(), choice.is_ok()))
}

#[tokio::test]
async fn f46_sampling_with_tools_is_not_asked_of_those_who_do_not_declare_it() {
    let server = Server::builder("asks", "1").tools(tools![with_tools]).build();
    let client = connect(&server, Era::Legacy, handlers()).await;
    let result = client.call_tool("with_tools", b"{}").await.unwrap();
    assert_eq!(result.content[0].as_text(), Some("false false"));
    let client = connect(&server, Era::Modern, handlers()).await;
    let error = client.call_tool("with_tools", b"{}").await.unwrap_err();
    let Some(CallError::Rpc(error)) = error.call() else { panic!("{error}") };
    assert_eq!(error.code, RpcError::MISSING_CAPABILITY);
    assert_eq!(
        error.data.as_ref().unwrap().get(),
        r#"{"requiredCapabilities":{"sampling":{"tools":{}}}}"#
    );
}

/// The sealed state, or the code of an error.
async fn raw_call(client: &Client, params: Vec<u8>) -> Result<String, String> {
    // Without handlers of its own, the round is seen.
    match client.once_for_tests("tools/call", params).await {
        Err(CallError::InputRequired(asked)) => {
            Err(serde_json::from_str(asked.state.unwrap().get()).unwrap())
        }
        Err(CallError::Rpc(error)) => Err(error.code.to_string()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn processes_that_share_a_secret_go_on_with_each_others_requests() {
    let keyed = |secret: &[u8]| {
        let keys = StateKeys::from_secrets([secret]);
        Server::builder("asks", "1")
            .state(Effects::default())
            .tools(tools![interview])
            .state_keys(keys)
            .build()
    };
    let (one, two, stranger) = (keyed(b"s"), keyed(b"s"), keyed(b"t"));
    let first = connect(&one, Era::Modern, handlers()).await;
    let state = raw_call(&first, br#"{"name":"interview"}"#.to_vec()).await.unwrap_err();
    let retry = format!(
        r#"{{"name":"interview","inputResponses":{{"user_name":{{"action":"cancel"}}}},"requestState":"{state}"}}"#
    );
    let second = connect(&two, Era::Modern, handlers()).await;
    assert!(!raw_call(&second, retry.clone().into()).await.unwrap_err().starts_with('-'));
    let third = connect(&stranger, Era::Modern, handlers()).await;
    assert_eq!(raw_call(&third, retry.into()).await, Err("-32602".into()));
}

#[test]
fn errors_say_what_happened() {
    let text = AskError::NotOffered("roots".into()).to_string();
    assert_eq!(text, "the client does not offer roots");
    let _: Arc<dyn std::error::Error> = Arc::new(AskError::NoWay("x".into()));
}
