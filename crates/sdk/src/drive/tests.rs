use super::*;
use crate::server::Server;
use crate::transport::MemoryTransport;
use crate::transport::memory;
use crate::{State, tool, tools};
use serde_json::{Value, json};
use std::collections::BTreeMap as Map;
use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinHandle;

/// What the handlers of a test share with it.
struct Probe {
    started: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
    gate: Semaphore,
    dropped: Mutex<Option<mpsc::UnboundedSender<()>>>,
}

impl Default for Probe {
    fn default() -> Self {
        let zero = || AtomicUsize::new(0);
        Self {
            started: zero(),
            running: zero(),
            most: zero(),
            gate: Semaphore::new(0),
            dropped: Mutex::default(),
        }
    }
}

impl Probe {
    fn enter(&self) -> Inside<'_> {
        self.started.fetch_add(1, Ordering::SeqCst);
        let running = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(running, Ordering::SeqCst);
        Inside(self)
    }
}

struct Inside<'a>(&'a Probe);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::SeqCst);
        if let Some(told) = &*self.0.dropped.lock().unwrap() {
            let _ = told.send(());
        }
    }
}

#[tool]
async fn echo(text: String) -> String {
    text
}

/// Answers with this many bytes.
#[tool]
async fn large(bytes: usize, probe: State<Arc<Probe>>) -> String {
    let _inside = probe.enter();
    "x".repeat(bytes)
}

/// Gives way so many times before it answers.
#[tool]
async fn hop(times: u32, text: String) -> String {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
    text
}

/// Talks, answers, and goes on talking when the test says so.
#[tool]
async fn lingers(context: crate::Context, probe: State<Arc<Probe>>) -> String {
    let probe = Arc::clone(&probe);
    context.progress(1.0, None, Some("in time"));
    context.log(carrick_proto::types::LogLevel::Error, &"in time");
    tokio::spawn(async move {
        let _inside = probe.enter();
        probe.gate.acquire().await.unwrap().forget();
        context.progress(2.0, None, Some("too late"));
        context.log(carrick_proto::types::LogLevel::Error, &"too late");
    });
    "answered".into()
}

/// Waits for the test.
#[tool]
async fn gated(probe: State<Arc<Probe>>) -> String {
    let _inside = probe.enter();
    probe.gate.acquire().await.unwrap().forget();
    "through".into()
}

#[tool]
async fn wait_ms(ms: u64) -> String {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    "waited".into()
}

#[tool]
#[expect(clippy::panic, reason = "to see what becomes of it")]
async fn panics(later: bool) -> String {
    if later {
        tokio::task::yield_now().await;
    }
    panic!("a secret of the server's")
}

/// Reports progress as fast as it can.
#[tool]
async fn chatty(reports: u32, context: crate::Context) -> String {
    for n in 0..reports {
        context.progress(f64::from(n + 1), None, Some("a message that takes some room"));
        context.log(carrick_proto::types::LogLevel::Error, &"a log line that takes some room");
        if n % 100 == 0 {
            tokio::task::yield_now().await;
        }
    }
    "done".into()
}

struct Peer {
    transport: MemoryTransport,
    serving: JoinHandle<Result<(), ServeError>>,
    probe: Arc<Probe>,
}

fn start(options: ServeOptions) -> Peer {
    let probe = Arc::new(Probe::default());
    let server = Server::builder("test", "1")
        .state(probe.clone())
        .tools(tools![echo, large, gated, wait_ms, panics, chatty, hop, lingers])
        .build();
    let (transport, theirs) = memory();
    let serving = tokio::spawn(async move { serve_with(&server, theirs, options).await });
    Peer { transport, serving, probe }
}

fn request(id: usize, tool: &str, arguments: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {
        "name": tool, "arguments": arguments, "_meta": {
            "progressToken": id,
            "io.modelcontextprotocol/protocolVersion": carrick_proto::revision::Revision::NEWEST.date(),
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/logLevel": "debug",
        } } })
}

impl Peer {
    fn queue(&mut self, message: &Value) {
        let bytes = message.to_string().into_bytes();
        self.transport.send(Outgoing::from_server(Lane::Connection, bytes));
    }

    async fn flush(&mut self) {
        poll_fn(|cx| self.transport.poll_flush(cx)).await.unwrap();
    }

    async fn call(&mut self, id: usize, tool: &str, arguments: Value) {
        self.queue(&request(id, tool, &arguments));
        self.flush().await;
    }

    /// The next message, while what is queued goes out.
    async fn next(&mut self) -> Option<Value> {
        let event = poll_fn(|cx| {
            let _ = self.transport.poll_flush(cx);
            self.transport.poll_recv(cx)
        });
        match event.await {
            Event::Message { bytes, .. } => Some(serde_json::from_slice(&bytes).unwrap()),
            Event::Closed(_) => None,
            other => panic!("{other:?}"),
        }
    }

    async fn text_of(&mut self, id: usize) -> Result<String, i64> {
        loop {
            let message = self.next().await.expect("an answer");
            if message["id"] == id {
                return match message["error"]["code"].as_i64() {
                    Some(code) => Err(code),
                    None => Ok(message["result"]["content"][0]["text"].as_str().unwrap().into()),
                };
            }
        }
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_is_refused_and_loses_nothing() {
    const CALLS: usize = 600;
    let options = ServeOptions { backlog: 1 << 20, ..ServeOptions::default() };
    let mut peer = start(options);
    for id in 0..CALLS {
        // Some waiting room each, so that it runs out.
        let arguments = json!({ "bytes": 100_000 });
        peer.queue(&request(id, "large", &arguments));
    }
    peer.flush().await;
    // Whatever the server can do without being read, it does now.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let started = peer.probe.started.load(Ordering::SeqCst);
    assert!(started < 40, "{started} answers are held for a client that reads none");
    let mut answers: Map<usize, bool> = Map::new();
    while answers.len() < CALLS {
        let message = peer.next().await.expect("an answer");
        let id = message["id"].as_u64().unwrap() as usize;
        let refused = message["error"]["code"] == -32603;
        assert!(
            refused || message["result"]["content"][0]["text"].as_str().unwrap().len() == 100_000
        );
        assert!(answers.insert(id, refused).is_none(), "{id} is answered twice");
    }
    let ran = answers.values().filter(|refused| !**refused).count();
    assert!(ran > started, "what waited runs once there is room");
    assert_eq!(ran, peer.probe.started.load(Ordering::SeqCst));
    peer.call(CALLS, "echo", json!({ "text": "still here" })).await;
    assert_eq!(peer.text_of(CALLS).await.unwrap(), "still here");
}

#[tokio::test]
async fn no_more_handlers_run_than_may_and_the_rest_wait() {
    let mut peer = start(ServeOptions { concurrency: 3, ..ServeOptions::default() });
    for id in 0..10 {
        peer.call(id, "gated", json!({})).await;
    }
    peer.call(10, "echo", json!({ "text": "x" })).await;
    let mut answered = Vec::new();
    for released in 1..=10 {
        while peer.probe.started.load(Ordering::SeqCst) < (released + 2).min(10) {
            tokio::task::yield_now().await;
        }
        peer.probe.gate.add_permits(1);
        answered.push(peer.next().await.expect("one is through")["id"].as_u64().unwrap());
    }
    answered.push(peer.next().await.unwrap()["id"].as_u64().unwrap());
    answered.sort_unstable();
    assert_eq!(answered, (0..=10).collect::<Vec<_>>());
    assert_eq!(peer.probe.most.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_cancelled_call_ends_and_one_that_waits_never_starts() {
    let mut peer = start(ServeOptions { concurrency: 1, ..ServeOptions::default() });
    let (told, mut dropped) = mpsc::unbounded_channel();
    *peer.probe.dropped.lock().unwrap() = Some(told);
    peer.call(1, "gated", json!({})).await;
    peer.call(2, "gated", json!({})).await;
    peer.call(3, "gated", json!({})).await;
    for id in [2, 1] {
        peer.queue(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
                            "params": { "requestId": id } }));
        peer.flush().await;
    }
    dropped.recv().await.expect("the first handler's future is dropped");
    peer.probe.gate.add_permits(1);
    assert_eq!(peer.next().await.unwrap()["id"], 3, "the only one that is answered");
    assert_eq!(peer.probe.started.load(Ordering::SeqCst), 2);
    assert_eq!(peer.probe.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn d136_panics_are_internal_errors_that_say_nothing_and_touch_nothing() {
    let mut peer = start(ServeOptions { concurrency: 4, ..ServeOptions::default() });
    peer.call(0, "gated", json!({})).await;
    for id in 1..=100 {
        peer.call(id, "panics", json!({ "later": id % 2 == 0 })).await;
        let answer = peer.next().await.unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(id), &json!(-32603)));
        assert!(!answer.to_string().contains("secret"), "{answer}");
    }
    peer.probe.gate.add_permits(1);
    assert_eq!(peer.text_of(0).await.unwrap(), "through", "d039: the others go on");
    peer.call(200, "echo", json!({ "text": "x" })).await;
    assert_eq!(peer.text_of(200).await.unwrap(), "x");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn d137_of_ten_thousand_exchanges_each_is_answered() {
    const TASKS: usize = 40;
    let (ours, theirs) = memory();
    let server = Server::builder("test", "1").tools(tools![hop]).build();
    tokio::spawn(async move { serve(&server, theirs).await });
    let config =
        crate::client::ClientConfig::new(carrick_proto::types::Implementation::new("t", "0"));
    let client = crate::Client::connect(ours, config, None).await.unwrap();
    let tasks = (0..TASKS).map(|task| {
        let client = client.clone();
        tokio::spawn(async move {
            // A walk that is the same each time, and different for each task.
            let mut walk = task as u32 + 1;
            for n in 0..10_000 / TASKS {
                walk = walk.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let text = format!("{task}-{n}");
                let arguments = json!({ "times": (walk >> 16) % 4, "text": text }).to_string();
                let call = client.call_tool("hop", arguments.as_bytes());
                if walk >> 24 < 64 {
                    tokio::task::yield_now().await;
                }
                assert_eq!(call.await.unwrap().content[0].as_text(), Some(&*text));
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn d137_what_is_said_after_the_answer_is_dropped() {
    let mut peer = start(ServeOptions::default());
    let (told, mut dropped) = mpsc::unbounded_channel();
    *peer.probe.dropped.lock().unwrap() = Some(told);
    for id in 0..10 {
        peer.call(2 * id, "lingers", json!({})).await;
        // What is said before the answer arrives.
        for method in ["notifications/progress", "notifications/message"] {
            assert_eq!(peer.next().await.unwrap()["method"], method);
        }
        assert_eq!(peer.text_of(2 * id).await.unwrap(), "answered");
        peer.probe.gate.add_permits(1);
        dropped.recv().await.unwrap();
        peer.call(2 * id + 1, "echo", json!({ "text": "x" })).await;
        assert_eq!(peer.next().await.unwrap()["id"], 2 * id + 1, "nothing comes in between");
    }
}

#[tokio::test]
async fn d072_short_calls_leave_no_task_behind() {
    let mut peer = start(ServeOptions::default());
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for round in 0..100 {
        // Every other one needs a task.
        for id in 0..100 {
            peer.queue(&request(100 * round + id, "hop", &json!({ "times": id % 2, "text": "" })));
        }
        for _ in 0..100 {
            assert!(peer.next().await.unwrap()["result"].is_object());
        }
    }
    assert_eq!(tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn d013_what_runs_when_input_ends_is_answered() {
    let mut peer = start(ServeOptions::default());
    peer.queue(&request(1, "wait_ms", &json!({ "ms": 200 })));
    peer.queue(&request(2, "wait_ms", &json!({ "ms": 60_000 })));
    // Closes our side only: the answers can still be read.
    poll_fn(|cx| peer.transport.poll_close(cx)).await;
    assert_eq!(peer.next().await.unwrap()["id"], 1);
    let ended = peer.next().await;
    assert!(ended.is_none(), "the other one is past its grace: {ended:?}");
    peer.serving.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn input_that_ends_with_nothing_running_ends_the_server_at_once() {
    let mut peer = start(ServeOptions::default());
    let before = tokio::time::Instant::now();
    poll_fn(|cx| peer.transport.poll_close(cx)).await;
    peer.serving.await.unwrap().unwrap();
    assert_eq!(before.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_closes_and_never_reads_cannot_keep_the_server() {
    let mut peer = start(ServeOptions::default());
    for id in 0..20 {
        peer.queue(&request(id, "large", &json!({ "bytes": 100_000 })));
    }
    poll_fn(|cx| peer.transport.poll_close(cx)).await;
    peer.serving.await.unwrap().unwrap();
}

#[tokio::test]
async fn progress_and_logs_come_before_the_answer_and_do_not_pile_up() {
    let mut peer = start(ServeOptions { backlog: 64 << 10, ..ServeOptions::default() });
    peer.call(1, "chatty", json!({ "reports": 20 })).await;
    let mut said = Vec::new();
    loop {
        let message = peer.next().await.unwrap();
        if message["id"] == 1 {
            break;
        }
        said.push(message["method"].as_str().unwrap().to_owned());
    }
    assert_eq!(said.len(), 40, "{said:?}");

    peer.call(2, "chatty", json!({ "reports": 50_000 })).await;
    // The handler comes to its end while nobody reads.
    for _ in 0..5_000 {
        tokio::task::yield_now().await;
    }
    let mut bytes = 0;
    loop {
        let message = peer.next().await.unwrap();
        if message["id"] == 2 {
            break;
        }
        bytes += message.to_string().len();
    }
    assert!(bytes < 1 << 20, "{bytes} bytes were kept of ten million");
}

#[tokio::test]
async fn a_message_that_is_too_large_is_refused_and_the_connection_stays() {
    let server = Server::builder("test", "1").tools(tools![echo]).build();
    let (transport, theirs) = memory();
    let serving = tokio::spawn(async move { serve(&server, theirs.limit(2000)).await });
    let mut peer = Peer { transport, serving, probe: Arc::default() };
    peer.call(1, "echo", json!({ "text": "x".repeat(3000) })).await;
    let refusal = peer.next().await.unwrap();
    assert_eq!(refusal["error"]["code"], -32600);
    assert!(refusal["error"]["message"].as_str().unwrap().contains("2000"));
    peer.call(2, "echo", json!({ "text": "short" })).await;
    assert_eq!(peer.text_of(2).await.unwrap(), "short");
}

#[tokio::test(start_paused = true)]
async fn f23_a_client_that_reads_nothing_is_given_up() {
    let mut peer = start(ServeOptions { backlog: 64 << 10, ..ServeOptions::default() });
    let before = tokio::time::Instant::now();
    for id in 0..10 {
        peer.queue(&request(id, "large", &json!({ "bytes": 500_000 })));
    }
    poll_fn(|cx| peer.transport.poll_flush(cx)).await.unwrap();
    let error = peer.serving.await.unwrap().unwrap_err();
    assert!(error.to_string().contains("writing"), "{error}");
    assert_eq!(before.elapsed(), ServeOptions::default().write_timeout);
}

#[tokio::test(start_paused = true)]
async fn f23_a_client_that_reads_slowly_is_not_given_up() {
    let mut peer = start(ServeOptions { backlog: 64 << 10, ..ServeOptions::default() });
    for id in 0..10 {
        peer.queue(&request(id, "large", &json!({ "bytes": 500_000 })));
    }
    poll_fn(|cx| peer.transport.poll_flush(cx)).await.unwrap();
    for _ in 0..10 {
        tokio::time::sleep(ServeOptions::default().write_timeout * 2 / 3).await;
        assert!(peer.next().await.unwrap()["result"].is_object());
    }
}

#[tokio::test]
async fn f23_answers_that_nobody_reads_are_bounded_and_each_call_has_one() {
    const BYTES: usize = 200_000;
    const CALLS: usize = 100;
    let backlog = 2 * BYTES;
    let mut peer = start(ServeOptions { backlog, ..ServeOptions::default() });
    for id in 0..CALLS {
        let arguments = json!({ "times": 5, "text": "x".repeat(BYTES) });
        peer.queue(&request(id, "hop", &arguments));
    }
    // All of them come to their end while nobody reads.
    for _ in 0..20_000 {
        let _ = poll_fn(|cx| peer.transport.poll_flush(cx)).now_or_never();
        tokio::task::yield_now().await;
    }
    let (mut whole, mut left_out) = (0, 0);
    for _ in 0..CALLS {
        let answer = peer.next().await.unwrap();
        match answer["error"]["code"].as_i64() {
            None => whole += 1,
            Some(code) => {
                assert_eq!(code, RpcError::OVERLOADED, "{answer}");
                left_out += 1;
            }
        }
    }
    assert_eq!(whole + left_out, CALLS);
    assert!(whole > 0 && left_out > 0, "{whole} {left_out}");
}
