//! What a client observes of the server.

use super::seen::{Observed, Seen};
use carrick::Client;
use carrick::client::{CallError, Changed, ClientError, ClientEvent, Handlers, Hooks};
use carrick::proto::method::Method;
use carrick::proto::revision::Part;
use carrick::proto::rpc::Json;
use carrick::types::{CreateMessageResult, ElicitResult, Progress, Root, RpcError};
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// How long something may take that is told of later.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hears what the server says and answers what it asks.
#[derive(Clone)]
pub struct Observer {
    logs: Arc<Mutex<Vec<Seen>>>,
    changes: watch::Sender<Vec<Changed>>,
    asked: Arc<Mutex<Vec<Seen>>>,
}

impl Default for Observer {
    fn default() -> Self {
        Self {
            logs: Arc::default(),
            changes: watch::Sender::new(Vec::new()),
            asked: Arc::default(),
        }
    }
}

impl Observer {
    /// What a client is to be connected with.
    pub fn hooks(&self) -> Hooks {
        let (name, model, roots) = (self.clone(), self.clone(), self.clone());
        let handlers = Handlers::new()
            .elicit(move |asked| {
                name.was_asked(Method::ElicitationCreate, &asked);
                async {
                    let content = serde_json::value::to_raw_value(&json!({ "name": "Ada" }));
                    let failed = |error: serde_json::Error| RpcError::internal(error.to_string());
                    Ok(ElicitResult::accept(content.map_err(failed)?))
                }
            })
            .sample(move |asked| {
                model.was_asked(Method::SamplingCreateMessage, &asked);
                async { Ok(CreateMessageResult::text("Paris", "a-model")) }
            })
            .roots(move || {
                roots.was_asked(Method::RootsList, &json!({}));
                async { Ok(vec![Root::new("file:///work")]) }
            });
        let heard = self.clone();
        let mut hooks = Hooks::from(handlers);
        hooks.events = Some(Arc::new(move |event| heard.hear(event)));
        hooks
    }

    /// Tries every feature and writes down what comes of it.
    pub async fn observe(&self, client: &Client) -> Observed {
        let mut observed = BTreeMap::from([
            ("lists", lists(client).await),
            ("calls", vec![call(client, "echo", json!({ "t": "héllo" })).await]),
            ("images and sound", vec![call(client, "media", json!({})).await]),
            ("structured results", vec![call(client, "find", json!({ "name": "Ben" })).await]),
            ("errors", errors(client).await),
            ("reads", vec![read(client, "cross://ok").await]),
            ("prompts", vec![prompt(client).await]),
            ("completion", vec![complete(client).await]),
            ("progress", progress(client).await),
            ("cancellation", vec![cancel(client).await]),
            ("logging", self.log(client).await),
        ]);
        observed.extend(self.questions(client).await);
        let resource = Changed::Resource("cross://ok".into());
        observed.insert("list changes", self.changes(client, &Changed::Tools).await);
        observed.insert("subscriptions", self.changes(client, &resource).await);
        observed
    }

    /// Has the server ask whatever it can ask.
    pub(super) async fn questions(&self, client: &Client) -> Observed {
        BTreeMap::from([
            ("elicitation", self.ask(client, "ask_name").await),
            ("sampling", self.ask(client, "ask_model").await),
            ("roots", self.ask(client, "ask_roots").await),
        ])
    }

    fn was_asked(&self, method: Method, params: &impl Serialize) {
        let asked = match serde_json::to_value(params) {
            Ok(params) => Seen::of(Part::Params(method), params),
            Err(error) => Seen::failed(error),
        };
        keep(&self.asked, asked);
    }

    fn hear(&self, event: ClientEvent) {
        match event {
            ClientEvent::Log(params) => {
                keep(&self.logs, seen(Part::Params(Method::Message), &params));
            }
            ClientEvent::Changed(changed) => self.changes.send_modify(|all| all.push(changed)),
            _ => {}
        }
    }

    async fn log(&self, client: &Client) -> Vec<Seen> {
        let mut heard = Vec::new();
        for level in ["error", "debug"] {
            taken(&self.logs);
            let in_session = client.server().revision.rules().server_requests;
            let mut params = json!({ "name": "logs", "arguments": {} });
            if in_session {
                // Others say it with the call; there must be nothing to tell here.
                let set = request(client, Method::LoggingSetLevel, json!({ "level": level })).await;
                heard.extend((set.value != json!({})).then_some(set));
            } else {
                params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": level });
            }
            heard.push(request(client, Method::ToolsCall, params).await);
            heard.extend(taken(&self.logs));
        }
        heard
    }

    async fn ask(&self, client: &Client, tool: &str) -> Vec<Seen> {
        taken(&self.asked);
        let result = call(client, tool, json!({})).await;
        let mut all = taken(&self.asked);
        all.push(result);
        all
    }

    async fn changes(&self, client: &Client, wanted: &Changed) -> Vec<Seen> {
        // A stream that has the resource has the lists as well.
        if let Err(error) = client.subscribe("cross://ok").await {
            return vec![told(Method::ResourcesSubscribe, &error)];
        }
        self.changes.send_replace(Vec::new());
        let result = call(client, "change", json!({})).await;
        let mut changes = self.changes.subscribe();
        let heard = changes.wait_for(|changes| changes.contains(wanted));
        let heard = timeout(PATIENCE, heard).await.is_ok();
        let ended = client.unsubscribe("cross://ok").await.is_ok();
        vec![result, Seen::aside(json!({ "heard": heard, "ended": ended }))]
    }
}

fn keep(all: &Mutex<Vec<Seen>>, seen: Seen) {
    all.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
}

fn taken(all: &Mutex<Vec<Seen>>) -> Vec<Seen> {
    std::mem::take(&mut *all.lock().unwrap_or_else(PoisonError::into_inner))
}

fn seen(part: Part, json: &Json) -> Seen {
    json.read().map_or_else(Seen::failed, |value| Seen::of(part, value))
}

async fn request(client: &Client, method: Method, params: Value) -> Seen {
    // What a header mirrors.
    let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
    let params = params.to_string().into_bytes();
    match client.request(method.name(), params, name.as_deref(), None).await {
        Ok(json) => seen(Part::Result(method), &json),
        Err(error) => told(method, &error),
    }
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Seen {
    request(client, Method::ToolsCall, json!({ "name": tool, "arguments": arguments })).await
}

async fn read(client: &Client, uri: &str) -> Seen {
    request(client, Method::ResourcesRead, json!({ "uri": uri })).await
}

async fn lists(client: &Client) -> Vec<Seen> {
    let mut lists = Vec::new();
    for method in [
        Method::ToolsList,
        Method::PromptsList,
        Method::ResourcesList,
        Method::ResourcesTemplatesList,
    ] {
        lists.push(request(client, method, json!({})).await);
    }
    lists
}

async fn errors(client: &Client) -> Vec<Seen> {
    let failed = call(client, "fail", json!({})).await;
    let unknown = call(client, "nothing", json!({})).await;
    vec![failed, unknown, read(client, "cross://nothing").await]
}

async fn prompt(client: &Client) -> Seen {
    let params = json!({ "name": "greet", "arguments": { "name": "Ada" } });
    request(client, Method::PromptsGet, params).await
}

async fn complete(client: &Client) -> Seen {
    let params = json!({ "ref": { "type": "ref/prompt", "name": "greet" },
        "argument": { "name": "name", "value": "a" } });
    request(client, Method::CompletionComplete, params).await
}

async fn progress(client: &Client) -> Vec<Seen> {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    let handler = move |progress: Progress| {
        // The token is the hop's.
        let mut params = json!({ "progressToken": 0, "progress": progress.progress });
        if let Some(total) = progress.total {
            params["total"] = total.into();
        }
        if let Some(message) = progress.message {
            params["message"] = message.into();
        }
        keep(&hears, Seen::of(Part::Params(Method::Progress), params));
    };
    let result = client.call_tool_raw("steps", b"{}", Some(Arc::new(handler))).await;
    let mut all = taken(&heard);
    all.push(match result {
        Ok(json) => seen(Part::Result(Method::ToolsCall), &json),
        Err(error) => told(Method::ToolsCall, &error),
    });
    all
}

/// Gives a call up once it runs.
async fn cancel(client: &Client) -> Seen {
    let before = given_up(client, 0).await;
    let runs = Arc::new(Notify::new());
    let hears = runs.clone();
    let handler = Arc::new(move |_| hears.notify_one());
    let mut call = Box::pin(client.call_tool_raw("stuck", b"{}", Some(handler)));
    let running = timeout(PATIENCE, runs.notified());
    tokio::select! {
        ended = &mut call => return Seen::failed(format!("it ended: {}", ended.is_ok())),
        running = running => if running.is_err() { return Seen::failed("it never began") },
    }
    drop(call);
    match timeout(PATIENCE, given_up(client, before + 1)).await {
        Ok(after) => Seen::aside(json!({ "cancelled": after - before })),
        Err(_) => Seen::failed("the server was not told"),
    }
}

async fn given_up(client: &Client, calls: u64) -> u64 {
    let result = call(client, "given_up", json!({ "calls": calls })).await.value;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    text.parse().unwrap_or_default()
}

fn told(method: Method, error: &ClientError) -> Seen {
    match error {
        ClientError::Call(CallError::Rpc(error)) => match serde_json::to_value(error) {
            Ok(error) => Seen::of(Part::Error(method), error),
            Err(error) => Seen::failed(error),
        },
        error => Seen::failed(error),
    }
}
