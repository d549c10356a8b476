//! Whether a handler does the same in a session and without one.
//!
//! In a session a handler that asks waits where it stands. Without one it is run again from the
//! top for each answer, so what it does before its last ask must have no effects, or stand in
//! [`Context::step`](carrick::Context::step). [`replay_check`] runs it both ways and compares.

use carrick::client::{ClientConfig, ClientError, Era, Handlers};
use carrick::transport::memory;
use carrick::types::{
    CallToolResult, CreateMessage, CreateMessageResult, Elicit, ElicitResult, Implementation, Root,
};
use carrick::{Client, Server, serve};
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::{self, Debug};
use std::sync::{Arc, Mutex, PoisonError};

type Answer<Q, A> = Arc<dyn Fn(&Q) -> A + Send + Sync>;

/// What the client answers. Each answer depends on its question alone, since the order of
/// questions that are open at once may differ.
#[derive(Clone, Default)]
pub struct Script {
    elicit: Option<Answer<Elicit, ElicitResult>>,
    sample: Option<Answer<CreateMessage, CreateMessageResult>>,
    roots: Option<Vec<Root>>,
}

impl Script {
    /// A client that cannot be asked anything.
    pub fn new() -> Self {
        Self::default()
    }

    /// A user who answers so.
    #[must_use]
    pub fn elicit(
        mut self,
        answer: impl Fn(&Elicit) -> ElicitResult + Send + Sync + 'static,
    ) -> Self {
        self.elicit = Some(Arc::new(answer));
        self
    }

    /// A model that answers so.
    #[must_use]
    pub fn sample(
        mut self,
        answer: impl Fn(&CreateMessage) -> CreateMessageResult + Send + Sync + 'static,
    ) -> Self {
        self.sample = Some(Arc::new(answer));
        self
    }

    /// A client that works in these folders.
    #[must_use]
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        self.roots = Some(roots.into_iter().collect());
        self
    }

    /// The handlers of a client that answers so and writes down what it was asked.
    fn handlers(&self, asked: &Arc<Mutex<Vec<Value>>>) -> Handlers {
        let mut handlers = Handlers::new();
        if let Some(answer) = self.elicit.clone() {
            let asked = asked.clone();
            handlers = handlers.elicit(move |ask| {
                note(&asked, "elicitation/create", &ask);
                std::future::ready(Ok(answer(&ask)))
            });
        }
        if let Some(answer) = self.sample.clone() {
            let asked = asked.clone();
            handlers = handlers.sample(move |ask| {
                note(&asked, "sampling/createMessage", &ask);
                std::future::ready(Ok(answer(&ask)))
            });
        }
        if let Some(roots) = self.roots.clone() {
            let asked = asked.clone();
            handlers = handlers.roots(move || {
                note(&asked, "roots/list", &());
                std::future::ready(Ok(roots.clone()))
            });
        }
        handlers
    }
}

fn note(asked: &Mutex<Vec<Value>>, method: &str, question: &impl Serialize) {
    let entry = json!({ "method": method, "params": question });
    asked.lock().unwrap_or_else(PoisonError::into_inner).push(entry);
}

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Effects<E> {
    /// What the client was asked, in an order that does not depend on the way.
    pub asks: Vec<Value>,
    /// The reports of progress: what is done, of how much, and the message.
    pub progress: Vec<(f64, Option<f64>, Option<String>)>,
    /// The result, or the error, as JSON.
    pub result: Value,
    /// What the server itself says of its state afterwards.
    pub state: E,
}

/// A handler did something else without a session than in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// In what: `asks`, `progress`, `result` or `state`.
    pub what: &'static str,
    /// What there was in a session.
    pub in_session: String,
    /// What there was without.
    pub without: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, in_session, without } = self;
        write!(f, "{what} differ: in a session {in_session}, without one {without}")
    }
}

impl std::error::Error for Difference {}

/// Runs a tool in a session, and again without one, each time on a server that `make` makes anew,
/// and compares what came of it. `make` also gives a function that says, after the call, what
/// the tool has done: counts, files, rows.
///
/// # Errors
/// The first difference.
///
/// # Panics
/// When client and server do not come to terms in memory.
pub async fn replay_check<E, S>(
    make: impl Fn() -> (Server, S),
    tool: &str,
    arguments: &Value,
    script: &Script,
) -> Result<Effects<E>, Difference>
where
    E: PartialEq + Debug,
    S: FnOnce() -> E,
{
    let in_session = run(make(), Era::Legacy, tool, arguments, script).await;
    let without = run(make(), Era::Modern, tool, arguments, script).await;
    same("result", &in_session.result, &without.result)?;
    same("asks", &in_session.asks, &without.asks)?;
    same("progress", &in_session.progress, &without.progress)?;
    same("state", &in_session.state, &without.state)?;
    Ok(in_session)
}

fn same<T: PartialEq + Debug>(
    what: &'static str,
    in_session: &T,
    without: &T,
) -> Result<(), Difference> {
    if in_session == without {
        return Ok(());
    }
    let (in_session, without) = (format!("{in_session:?}"), format!("{without:?}"));
    Err(Difference { what, in_session, without })
}

async fn run<E>(
    (server, state): (Server, impl FnOnce() -> E),
    era: Era,
    tool: &str,
    arguments: &Value,
    script: &Script,
) -> Effects<E> {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let reports = Arc::new(Mutex::new(Vec::new()));
    let (ours, theirs) = memory();
    let serving = tokio::spawn(async move { serve(&server, theirs).await });
    let mut config = ClientConfig::new(Implementation::new("replay", "0"));
    config.era = Some(era);
    #[expect(clippy::expect_used, reason = "both sides are ours, in one process")]
    let client = Client::connect(ours, config, script.handlers(&asked))
        .await
        .expect("client and server come to terms");
    let heard = reports.clone();
    let progress = move |report: carrick::types::Progress| {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.push((report.progress, report.total, report.message));
    };
    let json = arguments.to_string();
    let result = client.call_tool_raw(tool, json.as_bytes(), Some(Arc::new(progress))).await;
    let result = match result.map(|json| json.read::<CallToolResult>()) {
        Ok(Ok(result)) => plain(result),
        Ok(Err(error)) => json!({ "unreadable": error.to_string() }),
        Err(error) => failure(&error),
    };
    client.close().await;
    serving.abort();
    let mut asks = std::mem::take(&mut *asked.lock().unwrap_or_else(PoisonError::into_inner));
    asks.sort_by_cached_key(Value::to_string);
    let progress = std::mem::take(&mut *reports.lock().unwrap_or_else(PoisonError::into_inner));
    Effects { asks, progress, result, state: state() }
}

/// A result without what differs between revisions.
fn plain(mut result: CallToolResult) -> Value {
    result.meta = None;
    serde_json::to_value(&result).unwrap_or_default()
}

fn failure(error: &ClientError) -> Value {
    json!({ "error": error.to_string() })
}
