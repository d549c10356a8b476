//! What a client observes of the server.

use carrick::Client;
use carrick::client::{CallError, Changed, ClientError, ClientEvent, Handlers, Hooks};
use carrick::types::{CreateMessageResult, ElicitResult, Root, RpcError};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, watch};
use tokio::time::timeout;

/// What was observed, by feature.
pub type Observed = BTreeMap<&'static str, Value>;

/// How long something may take that is told of later.
const PATIENCE: Duration = Duration::from_secs(20);

/// Hears what the server says and answers what it asks.
#[derive(Clone)]
pub struct Observer {
    logs: Arc<Mutex<Vec<Value>>>,
    changes: watch::Sender<Vec<Changed>>,
    asked: Arc<AtomicUsize>,
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
            .elicit(move |_| {
                name.asked.fetch_add(1, Ordering::SeqCst);
                async {
                    let content = serde_json::value::to_raw_value(&json!({ "name": "Ada" }));
                    let failed = |error: serde_json::Error| RpcError::internal(error.to_string());
                    Ok(ElicitResult::accept(content.map_err(failed)?))
                }
            })
            .sample(move |_| {
                model.asked.fetch_add(1, Ordering::SeqCst);
                async { Ok(CreateMessageResult::text("Paris", "a-model")) }
            })
            .roots(move || {
                roots.asked.fetch_add(1, Ordering::SeqCst);
                async { Ok(vec![Root::new("file:///work")]) }
            });
        let heard = self.clone();
        let mut hooks = Hooks::from(handlers);
        hooks.events = Some(Arc::new(move |event| heard.hear(event)));
        hooks
    }

    /// Tries every feature and writes down what comes of it.
    pub async fn observe(&self, client: &Client) -> Observed {
        BTreeMap::from([
            ("lists", lists(client).await),
            ("calls", call(client, "echo", json!({ "t": "héllo" })).await),
            ("images and sound", call(client, "media", json!({})).await),
            ("structured results", call(client, "find", json!({ "name": "Ben" })).await),
            ("errors", errors(client).await),
            ("reads", request(client, "resources/read", json!({ "uri": "cross://ok" })).await),
            ("prompts", prompts(client).await),
            ("completion", complete(client).await),
            ("progress", progress(client).await),
            ("cancellation", cancel(client).await),
            ("logging", self.log(client).await),
            ("elicitation", self.ask(client, "ask_name").await),
            ("sampling", self.ask(client, "ask_model").await),
            ("roots", self.ask(client, "ask_roots").await),
            ("list changes", self.changes(client, &Changed::Tools).await),
            ("subscriptions", self.changes(client, &Changed::Resource("cross://ok".into())).await),
        ])
    }

    fn hear(&self, event: ClientEvent) {
        match event {
            ClientEvent::Log(params) => {
                let value: Value = params.read().unwrap_or_default();
                self.logs.lock().unwrap_or_else(PoisonError::into_inner).push(value);
            }
            ClientEvent::Changed(changed) => self.changes.send_modify(|all| all.push(changed)),
            _ => {}
        }
    }

    async fn log(&self, client: &Client) -> Value {
        let mut heard = Vec::new();
        for level in ["error", "debug"] {
            self.logs.lock().unwrap_or_else(PoisonError::into_inner).clear();
            let in_session = client.server().revision.rules().server_requests;
            let mut params = json!({ "name": "logs", "arguments": {} });
            if in_session {
                let set = request(client, "logging/setLevel", json!({ "level": level })).await;
                heard.push(set);
            } else {
                params["_meta"] = json!({ "io.modelcontextprotocol/logLevel": level });
                heard.push(json!({}));
            }
            heard.push(request(client, "tools/call", params).await);
            heard.extend(self.logs.lock().unwrap_or_else(PoisonError::into_inner).drain(..));
        }
        heard.into()
    }

    async fn ask(&self, client: &Client, tool: &str) -> Value {
        let before = self.asked.load(Ordering::SeqCst);
        let result = call(client, tool, json!({})).await;
        let asked = self.asked.load(Ordering::SeqCst) - before;
        json!({ "asked": asked, "result": result })
    }

    async fn changes(&self, client: &Client, wanted: &Changed) -> Value {
        // A stream that has the resource has the lists as well.
        if let Err(error) = client.subscribe("cross://ok").await {
            return told(&error);
        }
        self.changes.send_replace(Vec::new());
        let result = call(client, "change", json!({})).await;
        let mut changes = self.changes.subscribe();
        let heard = changes.wait_for(|changes| changes.contains(wanted));
        let heard = timeout(PATIENCE, heard).await.is_ok();
        let ended = client.unsubscribe("cross://ok").await.is_ok();
        json!({ "result": result, "heard": heard, "ended": ended })
    }
}

async fn request(client: &Client, method: &str, params: Value) -> Value {
    let name = params["name"].as_str().or(params["uri"].as_str()).map(str::to_owned);
    let params = params.to_string().into_bytes();
    match client.request(method, params, name.as_deref(), None).await {
        Ok(json) => json.read().map_or_else(|error| json!({ "unread": error.to_string() }), plain),
        Err(error) => told(&error),
    }
}

/// A result without what belongs to the hop that it came by.
fn plain(mut result: Value) -> Value {
    if let Some(members) = result.as_object_mut() {
        members.remove("resultType");
        if let Some(meta) = members.get_mut("_meta").and_then(Value::as_object_mut) {
            meta.remove("io.modelcontextprotocol/serverInfo");
            if meta.is_empty() {
                members.remove("_meta");
            }
        }
    }
    result
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Value {
    request(client, "tools/call", json!({ "name": tool, "arguments": arguments })).await
}

async fn lists(client: &Client) -> Value {
    let mut lists = Vec::new();
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        lists.push(request(client, method, json!({})).await);
    }
    lists.into()
}

async fn errors(client: &Client) -> Value {
    let failed = call(client, "fail", json!({})).await;
    let unknown = call(client, "nothing", json!({})).await;
    let mut unread = request(client, "resources/read", json!({ "uri": "cross://nothing" })).await;
    // The code of this one is the revision's.
    let code = &mut unread["error"]["code"];
    if [json!(-32002), json!(-32602)].contains(code) {
        *code = "not found".into();
    }
    json!([failed, unknown, unread])
}

async fn prompts(client: &Client) -> Value {
    request(client, "prompts/get", json!({ "name": "greet", "arguments": { "name": "Ada" } })).await
}

async fn complete(client: &Client) -> Value {
    let params = json!({ "ref": { "type": "ref/prompt", "name": "greet" },
        "argument": { "name": "name", "value": "a" } });
    // It is about nothing that a header mirrors.
    match client.request("completion/complete", params.to_string().into_bytes(), None, None).await {
        Ok(json) => plain(json.read().unwrap_or_default()),
        Err(error) => told(&error),
    }
}

async fn progress(client: &Client) -> Value {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = heard.clone();
    let handler = move |progress: carrick::types::Progress| {
        let (done, total, text) = (progress.progress, progress.total, progress.message);
        hears.lock().unwrap_or_else(PoisonError::into_inner).push(json!([done, total, text]));
    };
    let result = client.call_tool_raw("steps", b"{}", Some(Arc::new(handler))).await;
    let result = result.map_or_else(|e| told(&e), |json| plain(json.read().unwrap_or_default()));
    let heard = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
    json!([heard, result])
}

/// Gives a call up once it runs.
async fn cancel(client: &Client) -> Value {
    let before = given_up(client, 0).await;
    let runs = Arc::new(Notify::new());
    let hears = runs.clone();
    let handler = Arc::new(move |_| hears.notify_one());
    let mut call = Box::pin(client.call_tool_raw("stuck", b"{}", Some(handler)));
    let running = timeout(PATIENCE, runs.notified());
    tokio::select! {
        ended = &mut call => return json!({ "ended": ended.is_ok() }),
        running = running => if running.is_err() { return "it never began".into() },
    }
    drop(call);
    let after = timeout(PATIENCE, given_up(client, before + 1)).await;
    json!({ "cancelled": after.map(|after| after - before).unwrap_or_default() })
}

async fn given_up(client: &Client, calls: u64) -> u64 {
    let result = call(client, "given_up", json!({ "calls": calls })).await;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    text.parse().unwrap_or_default()
}

fn told(error: &ClientError) -> Value {
    match error {
        ClientError::Call(CallError::Rpc(error)) => {
            json!({ "error": { "code": error.code, "message": error.message } })
        }
        error => json!({ "failed": error.to_string() }),
    }
}
