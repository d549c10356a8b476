use super::*;
use crate::model::{Event as Said, ModelError, Request, StopReason};
use crate::turn::{Approval, Event};
use carrick::server::Context;
use carrick::transport::memory;
use carrick::types::{Implementation, RawJson};
use carrick::{Client, ToolError, tool, tools};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use std::sync::Mutex;

fn form(schema: &Value) -> Form {
    Form::read(&to_raw_value(schema).unwrap()).unwrap()
}

/// What the only field of a form with this schema makes of what is typed.
fn typed(schema: &str, typed: &str) -> Result<Value, String> {
    let schema: Value = serde_json::from_str(schema).unwrap();
    form(&json!({ "type": "object", "properties": { "f": schema } })).fields()[0].parse(typed)
}

#[test]
fn fields_stand_in_the_order_of_the_schema_with_all_that_is_said_of_them() {
    let schema = r#"{"type":"object","required":["z"],"properties":{
        "z":{"type":"string","title":"Name","description":"Yours","format":"email"},
        "a":{"type":"integer","minimum":3,"default":5},
        "m":{"type":"boolean","default":"not one"}}}"#;
    let form = Form::read(&serde_json::from_str::<RawJson>(schema).unwrap()).unwrap();
    let [z, a, m] = form.fields() else { panic!("{form:?}") };
    assert_eq!((&*z.name, &*a.name, &*m.name), ("z", "a", "m"));
    assert_eq!(z.title.as_deref(), Some("Name"));
    assert_eq!(z.description.as_deref(), Some("Yours"));
    assert_eq!(z.kind, Kind::Text(Some("email".into())));
    assert!(z.required && !a.required);
    assert_eq!(a.default, Some(json!(5)));
    assert_eq!(m.default, None, "a default that does not fit is none");
}

#[test]
fn what_is_typed_becomes_what_the_field_takes() {
    let colours =
        r#"{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]}"#;
    let many = r#"{"type":"array","minItems":1,"items":{"type":"string","enum":["a","b","c"]}}"#;
    for (schema, text, expected) in [
        (r#"{"type":"string"}"#, " 北京 ", json!("北京")),
        (r#"{"type":"integer"}"#, "-7", json!(-7)),
        (r#"{"type":"number"}"#, "1.5", json!(1.5)),
        (r#"{"type":"boolean"}"#, "Yes", json!(true)),
        (r#"{"type":"boolean"}"#, "n", json!(false)),
        (colours, "2", json!("g")),
        (colours, "Red", json!("r")),
        (colours, "g", json!("g")),
        (r#"{"type":"string","enum":["2","1"],"enumNames":["Two","One"]}"#, "1", json!("1")),
        (many, "1, c", json!(["a", "c"])),
        (r#"{"type":"string","format":"email"}"#, "a@b.example", json!("a@b.example")),
        (r#"{"type":"string","format":"date"}"#, "2026-01-31", json!("2026-01-31")),
        (r#"{"type":"string","format":"uri"}"#, "mailto:a@b", json!("mailto:a@b")),
        (r#"{"type":["string","null"]}"#, "null", json!(null)),
    ] {
        assert_eq!(typed(schema, text), Ok(expected), "{schema} {text}");
    }
}

#[test]
fn what_does_not_fit_is_said_in_words() {
    for (schema, text, said) in [
        (r#"{"type":"integer"}"#, "1.5", "a whole number"),
        (r#"{"type":"integer","maximum":3}"#, "4", "3"),
        (r#"{"type":"number"}"#, "[1]", "a number"),
        (r#"{"type":"boolean"}"#, "perhaps", "yes or no"),
        (r#"{"type":"string","minLength":3}"#, "ab", "3"),
        (r#"{"type":"string","enum":["a","b"]}"#, "3", "from 1 to 2"),
        (r#"{"type":"string","enum":["a","b"]}"#, "0", "from 1 to 2"),
        (r#"{"type":"array","minItems":2,"items":{"enum":["a","b"]}}"#, "a", "2"),
        (r#"{"type":"string","format":"email"}"#, "nobody", "an email address"),
        (r#"{"type":"string","format":"date"}"#, "tomorrow", "a date"),
        (r#"{"type":"string","format":"date-time"}"#, "2026-01-31", "a date and time"),
        (r#"{"type":"string","format":"uri"}"#, "no address", "an address"),
        (r#"{"type":"object"}"#, "{", "JSON"),
    ] {
        let error = typed(schema, text).unwrap_err();
        assert!(error.contains(said), "{schema} {text}: {error}");
    }
}

#[test]
fn a_whole_answer_is_checked_too() {
    let form = form(&json!({ "type": "object", "required": ["a"],
        "properties": { "a": { "type": "string", "format": "email" } } }));
    assert_eq!(form.check(r#"{"a":"a@b"}"#), Ok(()));
    for wrong in ["{}", r#"{"a":1}"#, r#"{"a":"x"}"#, "[]", "{"] {
        assert!(form.check(wrong).is_err(), "{wrong}");
    }
    let bad = |schema: &str| Form::read(&serde_json::from_str::<RawJson>(schema).unwrap()).is_err();
    assert!(bad(r#"{"type":"object","properties":[]}"#) && bad("[]") && bad(r#"{"type":"thing"}"#));
    let many: serde_json::Map<_, _> = (0..101).map(|n| (n.to_string(), json!({}))).collect();
    assert!(bad(&json!({ "type": "object", "properties": many }).to_string()));
}

/// Answers as it was told, and writes down what it was asked.
struct Person {
    elicited: ElicitResult,
    permits: Verdict,
    seen: Mutex<Vec<String>>,
}

impl Person {
    fn new(elicited: ElicitResult, permits: Verdict) -> Arc<Self> {
        Arc::new(Self { elicited, permits, seen: Mutex::default() })
    }
}

impl Frontend for Person {
    fn event(&self, event: &Event) {
        self.seen.lock().unwrap().push(serde_json::to_string(event).unwrap());
    }

    fn approve<'a>(&'a self, _: &'a Approval) -> BoxFuture<'a, Verdict> {
        Box::pin(std::future::ready(Verdict::Deny))
    }

    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, ElicitResult> {
        self.seen.lock().unwrap().push(format!("{} {:?}", question.server, question.ask));
        Box::pin(std::future::ready(self.elicited.clone()))
    }

    fn permit_sampling<'a>(&'a self, sampling: &'a Sampling) -> BoxFuture<'a, Verdict> {
        self.seen.lock().unwrap().push(format!("{} {}", sampling.server, sampling.description));
        Box::pin(std::future::ready(self.permits))
    }
}

struct Says(&'static [&'static str]);

impl Model for Says {
    fn name(&self) -> &str {
        "script:one"
    }

    fn native_tools(&self) -> bool {
        true
    }

    fn stream(&self, _: &Request) -> BoxStream<'static, Result<Said, ModelError>> {
        let said = self.0.iter().map(|text| Ok(Said::Text((*text).into())));
        stream::iter(said.chain([Ok(Said::Stop(StopReason::End))]).collect::<Vec<_>>()).boxed()
    }
}

#[tool]
async fn name(context: Context) -> Result<String, ToolError> {
    let schema = json!({ "type": "object", "required": ["n"],
        "properties": { "n": { "type": "integer" } } });
    let ask = Elicit::Form { message: "Which?".into(), requested_schema: to_raw_value(&schema)? };
    let answer = context.elicit(&ask).await?;
    Ok(format!("{:?} {:?}", answer.action, answer.content.map(|content| content.to_string())))
}

#[tool]
async fn think(context: Context) -> Result<String, ToolError> {
    let mut ask = CreateMessage::question("What is\nit?\u{202e}", 9);
    ask.stop_sequences = vec!["STOP".into()];
    let answer = context.sample(&ask).await?;
    Ok(serde_json::to_string(&answer)?)
}

#[tool]
async fn folders(context: Context) -> Result<String, ToolError> {
    Ok(context.roots().await?.iter().map(|root| root.uri.as_str()).collect())
}

async fn call(asks: &Arc<Asks>, tool: &str) -> String {
    let server = carrick::Server::builder("s", "1").tools(tools![name, think, folders]).build();
    let (ours, theirs) = memory();
    tokio::spawn(async move { carrick::serve(&server, theirs).await });
    let config = carrick::client::ClientConfig::new(Implementation::new("tests", "0"));
    let client = Client::connect(ours, config, asks.handlers("s")).await.unwrap();
    let said = match client.call_tool(tool, b"{}").await {
        Ok(result) => result.content[0].as_text().unwrap().to_owned(),
        Err(error) => error.to_string(),
    };
    client.close().await;
    said
}

fn accepted(content: &Value) -> ElicitResult {
    ElicitResult::accept(to_raw_value(content).unwrap())
}

#[tokio::test]
async fn a_form_reaches_the_person_and_only_what_fits_goes_back() {
    let person = Person::new(accepted(&json!({ "n": 3 })), Verdict::Deny);
    let asks = Asks::new(person.clone(), Vec::new());
    assert_eq!(call(&asks, "name").await, r#"Accept Some("{\"n\":3}")"#);
    assert!(person.seen.lock().unwrap()[0].starts_with("s Form { message: \"Which?\""));
    let asks = Asks::new(Person::new(accepted(&json!({ "n": "x" })), Verdict::Deny), Vec::new());
    assert!(!call(&asks, "name").await.contains("Accept"));
    let declined = ElicitResult::without_content(ElicitAction::Decline);
    let asks = Asks::new(Person::new(declined, Verdict::Deny), Vec::new());
    assert_eq!(call(&asks, "name").await, "Decline None");
}

/// Sends the person to a page.
#[tool]
async fn page(context: Context, url: String) -> Result<String, ToolError> {
    let ask = Elicit::Url { message: "Log in".into(), url, elicitation_id: None };
    Ok(format!("{:?}", context.elicit(&ask).await?.action))
}

#[tokio::test]
async fn f49_only_pages_whose_host_is_plain_reach_the_person() {
    let accepts = ElicitResult::without_content(ElicitAction::Accept);
    let person = Person::new(accepts, Verdict::Deny);
    let asks = Asks::new(person.clone(), Vec::new());
    let server = carrick::Server::builder("s", "1").tools(tools![page]).build();
    let (ours, theirs) = memory();
    tokio::spawn(async move { carrick::serve(&server, theirs).await });
    let config = carrick::client::ClientConfig::new(Implementation::new("tests", "0"));
    let client = Client::connect(ours, config, asks.handlers("s")).await.unwrap();
    for (url, said) in [
        ("javascript:alert(1)", "https://"),
        ("data:text/html,x", "https://"),
        ("http://bank.example@evil.example/", "https://"),
        ("http://evil.example/", "https://"),
    ] {
        let arguments = json!({ "url": url }).to_string();
        let error = client.call_tool("page", arguments.as_bytes()).await.unwrap_err().to_string();
        assert!(error.contains(said), "{url}: {error}");
    }
    assert!(person.seen.lock().unwrap().is_empty(), "nobody was asked");
    let good = client.call_tool("page", br#"{"url":"https://xn--pple-43d.com/a"}"#).await.unwrap();
    assert_eq!(good.content[0].as_text(), Some("Accept"));
    assert_eq!(person.seen.lock().unwrap().len(), 1);
    client.close().await;
}

#[tokio::test]
async fn the_model_answers_when_it_may() {
    let cancelled = ElicitResult::without_content(ElicitAction::Cancel);
    let person = Person::new(cancelled.clone(), Verdict::Allow);
    let asks = Asks::new(person.clone(), Vec::new());
    let declared = asks.handlers("s").capabilities();
    assert!(call(&asks, "think").await.contains("no model"), "none is set up");
    asks.use_model(Arc::new(Says(&["It is ", "42.ST", "OP and more"])));
    // F12: a server is told the same, whether there is a model or not.
    assert_eq!(asks.handlers("s").capabilities(), declared);
    let said: Value = serde_json::from_str(&call(&asks, "think").await).unwrap();
    assert_eq!(
        said,
        json!({ "role": "assistant", "content": { "type": "text", "text": "It is 42." },
                "model": "script:one", "stopReason": "stopSequence" })
    );
    assert_eq!(
        person.seen.lock().unwrap()[0],
        "s user:\n  | What is\n  | it?\\u{202e}\nat most 9 tokens of an answer, which goes to \
         the server\n"
    );
    let asks = Asks::new(Person::new(cancelled, Verdict::Deny), Vec::new());
    asks.use_model(Arc::new(Says(&[])));
    assert!(call(&asks, "think").await.contains("did not permit"));
}

struct Fails;

impl Model for Fails {
    fn name(&self) -> &str {
        "script:two"
    }

    fn native_tools(&self) -> bool {
        true
    }

    fn stream(&self, _: &Request) -> BoxStream<'static, Result<Said, ModelError>> {
        stream::iter([Ok(Said::Text("half".into())), Ok(Said::Stop(StopReason::Refusal))]).boxed()
    }
}

#[tokio::test]
async fn why_a_model_fails_is_told_to_the_person_and_not_to_the_server() {
    let cancelled = ElicitResult::without_content(ElicitAction::Cancel);
    let person = Person::new(cancelled, Verdict::Allow);
    let asks = Asks::new(person.clone(), Vec::new());
    asks.use_model(Arc::new(Fails));
    let said = call(&asks, "think").await;
    assert!(said.contains("could not answer") && !said.contains("refused"), "{said}");
    assert!(person.seen.lock().unwrap()[1].contains("it refused to answer"));
}

#[tokio::test]
async fn folders_are_told_where_there_are_any() {
    let cancelled = ElicitResult::without_content(ElicitAction::Cancel);
    let person = Person::new(cancelled, Verdict::Deny);
    let asks = Asks::new(person.clone(), vec![Root::new("file:///a")]);
    assert_eq!(call(&asks, "folders").await, "file:///a");
    let asks = Asks::new(person, Vec::new());
    assert!(!asks.handlers("s").capabilities().contains("roots"));
}

#[test]
fn long_texts_are_shown_by_head_and_tail() {
    let text = format!("{}{}{}", "a".repeat(1200), "b".repeat(1000), "c".repeat(400));
    let shown = sampling::describe(&CreateMessage::question(text, u64::MAX));
    assert!(shown.contains("[1000 of 2600 characters are not shown]"), "{shown}");
    assert!(!shown.contains('b'), "{shown}");
    assert!(shown.ends_with("at most 8192 tokens of an answer, which goes to the server\n"));
}
