//! Many streams through a shutdown: what was begun is answered, and each answer
//! is its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use carrick::transport::http::{
    EventLimits, EventStore, HttpServer, HttpServerOptions, MemoryEventStore, SqliteEventStore,
};
use carrick::{Context, Server, State, tool, tools};
use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};

use super::Outcome;
use super::raw::{Result, Target, whole};

const STREAMS: usize = 1_000;

/// Progress that each of them hears after the shutdown has begun.
const STEPS: u32 = 5;

/// Sessions among which those streams are spread that belong to one.
const SESSIONS: usize = 20;

/// What the calls have come to.
#[derive(Default)]
struct Crowd {
    begun: AtomicUsize,
    go: watch::Sender<bool>,
}

/// Begins, waits for the shutdown, makes progress, and ends.
#[tool]
async fn numbered(number: u64, crowd: State<Arc<Crowd>>, context: Context) -> String {
    crowd.begun.fetch_add(1, Ordering::SeqCst);
    // The sender lives as long as the server.
    drop(crowd.go.subscribe().wait_for(|go| *go).await);
    for step in 1..=STEPS {
        context.progress(f64::from(step), None, None);
        tokio::task::yield_now().await;
    }
    format!("end of {number}")
}

pub(super) async fn run(time: Duration) -> Outcome {
    let begin = Instant::now();
    let mut rounds = 0;
    loop {
        let folder = tempfile::tempdir()?;
        let file = SqliteEventStore::open(folder.path().join("events.db"), EventLimits::default())?;
        let memory = MemoryEventStore::new(EventLimits::default());
        drain(None).await?;
        drain(Some(Arc::new(memory))).await?;
        drain(Some(Arc::new(file))).await?;
        rounds += 3;
        if begin.elapsed() >= time {
            return Ok(vec![format!(
                "{rounds} shutdowns with {STREAMS} streams each: none is lost"
            )]);
        }
    }
}

/// One server from its start to the end of its shutdown.
async fn drain(store: Option<Arc<dyn EventStore>>) -> Result<()> {
    let crowd = Arc::new(Crowd::default());
    let built = Server::builder("soak", "1").state(Arc::clone(&crowd)).tools(tools![numbered]);
    let mut options = HttpServerOptions::default();
    options.grace = Duration::from_secs(120);
    options.event_store = store;
    let server = HttpServer::bind(built.build(), ([127, 0, 0, 1], 0).into(), options).await?;
    let target = Target::new(server.local_addr());
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server.serve(async {
        drop(stopped.await);
    }));

    let sessions = futures_util::future::try_join_all((0..SESSIONS).map(|_| target.open())).await?;
    let mut calls = Vec::new();
    for number in 0..STREAMS as u64 {
        let (target, at) = (target.clone(), number as usize);
        let session = (at % 2 == 0).then(|| sessions[at / 2 % SESSIONS].clone());
        calls.push(tokio::spawn(async move {
            let arguments = json!({ "number": number });
            let response = match &session {
                Some(session) => target.call(session, number + 1, "numbered", &arguments).await?,
                None => {
                    let more = json!({ "arguments": arguments });
                    target.call_alone(number + 1, "numbered", &more).await?
                }
            };
            check(number, &whole(response).await?)
        }));
    }
    while crowd.begun.load(Ordering::SeqCst) < STREAMS {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(stop);
    crowd.go.send_replace(true);
    for call in calls {
        call.await??;
    }
    serving.await??;
    Ok(())
}

fn check(number: u64, messages: &[Value]) -> Result<()> {
    let lost = || Err(format!("call {number}: {messages:?}").into());
    let Some((answer, progress)) = messages.split_last() else { return lost() };
    let text = format!("end of {number}");
    if answer["id"] != number + 1 || answer["result"]["content"][0]["text"] != *text {
        return lost();
    }
    let mine = |message: &Value| message["params"]["progressToken"] == number + 1;
    // Of progress that waits only the newest is sent.
    let last = progress.last().map(|message| &message["params"]["progress"]);
    let complete = last.is_none_or(|last| *last == STEPS);
    if progress.iter().all(mine) && complete && !progress.is_empty() { Ok(()) } else { lost() }
}
