//! Whole turns with models that answer by script and servers in this process.

mod native;
mod xml;

use super::*;
use crate::config::{Launch, Origin, Server as Configured, ServerState, Source};
use crate::model::{BrokenCall, Event as Said, Request, ToolCall};
use crate::registry::{Builtins, RegistryOptions};
use carrick::net::{HttpClient, Options};
use carrick::types::{ContentBlock, Implementation};
use carrick::{Context, ToolError, tool, tools};
use carrick_policy::{Effect, Pattern, Rule};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Barrier;

/// A model that says what a test has written down.
struct Script {
    native: bool,
    answers: Mutex<VecDeque<Vec<Result<Said, ModelError>>>>,
    requests: Mutex<Vec<Request>>,
}

impl Script {
    fn new(native: bool, answers: Vec<Vec<Said>>) -> Arc<Self> {
        let answers = answers.into_iter().map(|said| said.into_iter().map(Ok).collect());
        let answers = Mutex::new(answers.collect());
        Arc::new(Self { native, answers, requests: Mutex::default() })
    }

    /// What the model was told last, as text.
    fn told(&self) -> String {
        let requests = self.requests.lock().unwrap();
        format!("{:?}", requests.last().unwrap().messages.last().unwrap().content)
    }

    fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl Model for Script {
    fn name(&self) -> &str {
        "script:one"
    }

    fn native_tools(&self) -> bool {
        self.native
    }

    fn stream(&self, request: &Request) -> BoxStream<'static, Result<Said, ModelError>> {
        self.requests.lock().unwrap().push(request.clone());
        let answer = self.answers.lock().unwrap().pop_front();
        stream::iter(answer.expect("the script goes on")).boxed()
    }
}

fn says(text: &str) -> Vec<Said> {
    vec![Said::Text(text.into()), Said::Stop(StopReason::End)]
}

fn calls(wanted: &[(&str, Value)]) -> Vec<Said> {
    let mut said = Vec::new();
    for (n, (name, arguments)) in (1..).zip(wanted) {
        said.push(Said::ToolCall(ToolCall {
            id: format!("id{n}"),
            name: (*name).into(),
            arguments: RawValue::from_string(arguments.to_string()).unwrap(),
        }));
    }
    let (input_tokens, output_tokens) = (100, 10);
    said.push(Said::Usage(Usage { input_tokens, output_tokens }));
    said.push(Said::Stop(StopReason::ToolUse));
    said
}

/// Hears everything and decides as it was told.
struct Ears {
    heard: Mutex<Vec<Value>>,
    verdict: Verdict,
    asked: AtomicUsize,
}

impl Ears {
    fn new(verdict: Verdict) -> Self {
        Self { heard: Mutex::default(), verdict, asked: AtomicUsize::new(0) }
    }

    fn of(&self, kind: &str) -> Vec<Value> {
        let heard = self.heard.lock().unwrap();
        heard.iter().filter(|event| event["type"] == kind).cloned().collect()
    }

    /// All that was streamed.
    fn text(&self) -> String {
        let texts = self.of("text");
        texts.iter().map(|event| event["text"].as_str().unwrap()).collect()
    }
}

impl Frontend for Ears {
    fn event(&self, event: &Event) {
        self.heard.lock().unwrap().push(serde_json::to_value(event).unwrap());
    }

    fn approve<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, Verdict> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        assert!(!approval.description.is_empty() && !approval.reason.is_empty());
        Box::pin(std::future::ready(self.verdict))
    }
}

#[tool(read_only)]
async fn echo(t: String) -> String {
    t
}

#[tool(destructive)]
async fn danger() -> String {
    "done".into()
}

/// Answers only when two of it run at once.
#[tool(read_only)]
async fn meet(n: u64, barrier: carrick::State<Barrier>) -> String {
    barrier.wait().await;
    format!("met {n}")
}

#[tool(read_only)]
async fn large(parts: usize, bytes: usize) -> Vec<ContentBlock> {
    (0..parts).map(|n| ContentBlock::text(format!("{n}:{}", "x".repeat(bytes)))).collect()
}

#[tool(read_only)]
async fn fails() -> Result<String, ToolError> {
    Err(ToolError::new("it is out of paper"))
}

#[tool(read_only)]
async fn steps(context: Context) -> String {
    context.progress(1.0, Some(2.0), Some("half"));
    tokio::task::yield_now().await;
    "stepped".into()
}

#[tool(read_only)]
async fn pictures() -> Vec<ContentBlock> {
    let image = |data: &str| ContentBlock::image(data, "image/png");
    vec![image("aGk="), image("aG\nk"), image("!!!"), ContentBlock::text("seen")]
}

#[tool(read_only)]
async fn never() -> String {
    std::future::pending().await
}

/// One built-in server named `box` with all of these tools.
fn registry() -> Registry {
    registry_of(|| {
        carrick::Server::builder("box", "1")
            .instructions("Handle with care.")
            .state(Barrier::new(2))
            .tools(tools![echo, danger, meet, large, fails, steps, pictures, never])
            .resources(Shelf)
            .build()
    })
}

fn registry_of(server: fn() -> carrick::Server) -> Registry {
    let builtins: Builtins = Arc::new(move |_, _| Ok(server()));
    let http = HttpClient::new(Options::default());
    let options = RegistryOptions::new(Implementation::new("tests", "0"), http, builtins);
    let origin = Origin { source: Source::User, file: None, position: None };
    let launch = Launch::Builtin { name: "box".into(), args: Vec::new() };
    let state = ServerState::Ready(launch);
    Registry::new(
        [Configured {
            name: "box".into(),
            origin,
            timeout: None,
            session: Default::default(),
            state,
        }],
        options,
    )
}

struct Shelf;

impl carrick::server::ResourceSource for Shelf {
    fn list(
        &self,
        _: Option<&str>,
        _: &carrick::server::CallInfo,
    ) -> BoxFuture<'_, Result<carrick::types::ListResourcesResult, carrick::types::RpcError>> {
        let listed = vec![carrick::types::Resource::new("box://lid", "the lid")].into();
        Box::pin(std::future::ready(Ok(listed)))
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &carrick::server::CallInfo,
    ) -> BoxFuture<'a, Result<carrick::types::ReadResourceResult, carrick::types::RpcError>> {
        let contents = carrick::types::ResourceContents::text(uri, "a lid of oak");
        let read = match uri {
            "box://lid" => Ok(carrick::types::ReadResourceResult::one(contents)),
            _ => Err(carrick::server::not_found(uri)),
        };
        Box::pin(std::future::ready(read))
    }
}

/// What a turn came to.
struct Outcome {
    answer: Result<Answer, TurnError>,
    ears: Ears,
}

async fn turn_in(script: &Arc<Script>, ears: Ears, policy: Policy, limits: TurnLimits) -> Outcome {
    turn_of(registry(), script, ears, policy, limits).await
}

async fn turn_of(
    registry: Registry,
    script: &Arc<Script>,
    ears: Ears,
    policy: Policy,
    limits: TurnLimits,
) -> Outcome {
    let catalog = registry.full_catalog().await;
    assert!(catalog.failed.is_empty(), "{:?}", catalog.failed);
    let turn = Turn {
        registry: &registry,
        catalog: &catalog,
        policy: &policy,
        frontend: &ears,
        dialect: DialectChoice::Auto,
        limits,
    };
    let model: Arc<dyn Model> = script.clone();
    let answer = turn.ask(&model, "What is in the box?").await;
    registry.close().await;
    Outcome { answer, ears }
}

async fn turn(script: &Arc<Script>) -> Outcome {
    turn_in(script, Ears::new(Verdict::Allow), Policy::new(Vec::new()), TurnLimits::default()).await
}

fn deny(pattern: &str) -> Policy {
    Policy::new(vec![Rule::new(Effect::Deny, pattern.parse::<Pattern>().unwrap())])
}
