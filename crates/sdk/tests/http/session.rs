//! Sessions that a server loses, schemas that change, and streams of changes.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use carrick::Client;
use carrick::client::{CallError, Changed, ClientEvent, Era, EventHandler};
use futures_util::future::join_all;

use crate::client::{call, config, connect, lost, modern, transport};
use crate::scripted::*;

/// A server whose sessions are named by `count`, of which only the last is alive.
struct Restarting {
    sessions: Arc<AtomicUsize>,
    server: Scripted,
}

impl Restarting {
    async fn start(answer: impl Fn(&Seen) -> String + Send + Sync + 'static) -> Self {
        let sessions = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sessions);
        let server = Scripted::start(move |seen| {
            if seen.method() == "initialize" {
                let id = count.fetch_add(1, Ordering::SeqCst) + 1;
                let id = format!("Mcp-Session-Id: s-{id}");
                return json(200, &[&id], &result(seen, INITIALIZED));
            }
            let alive = format!("s-{}", count.load(Ordering::SeqCst));
            if seen.header("mcp-session-id") != Some(&alive) {
                return empty(404);
            }
            match seen.method().as_str() {
                "notifications/initialized" => empty(202),
                _ => answer(seen),
            }
        })
        .await;
        Self { sessions, server }
    }

    /// Forgets the session.
    fn restart(&self) {
        self.sessions.fetch_add(1, Ordering::SeqCst);
    }

    fn count(&self, method: &str) -> usize {
        self.server.methods().iter().filter(|seen| *seen == method).count()
    }
}

fn answers(seen: &Seen) -> String {
    match seen.verb.as_str() {
        "GET" => empty(405),
        _ => answer(seen, TOOL_OK),
    }
}

#[tokio::test]
async fn d035_ten_calls_that_meet_a_restart_share_one_new_session() {
    let server = Restarting::start(answers).await;
    let client = connect(&server.server, Some(Era::Legacy)).await.unwrap();
    call(&client).await.unwrap();
    for round in 0..3 {
        // The stream of the server's own messages belongs to each session.
        let session = format!("s-{}", 2 * round + 1);
        let of =
            |seen: &Seen| seen.verb == "GET" && seen.header("mcp-session-id") == Some(&session);
        server.server.wait_until(|seen| seen.iter().any(of)).await;
        let (before, hellos) = (server.count("tools/call"), server.count("initialize"));
        server.restart();
        for result in join_all((0..10).map(|_| call(&client))).await {
            assert_eq!(result.unwrap(), r#""ok""#);
        }
        assert_eq!(server.count("initialize"), hellos + 1, "{:?}", server.server.methods());
        assert!(server.count("tools/call") <= before + 20, "each at most twice");
    }
    let seen = server.server.seen();
    let hellos = seen.iter().filter(|seen| seen.method() == "initialize");
    assert!(
        hellos.clone().count() == 4 && hellos.clone().all(|h| h.header("mcp-session-id").is_none())
    );
}

#[tokio::test]
async fn d035_a_call_that_was_running_fails_clearly_and_is_not_run_again() {
    let restart = Arc::new(AtomicUsize::new(0));
    let flag = Arc::clone(&restart);
    let server = Restarting::start(move |seen| match seen.verb.as_str() {
        "POST" if seen.body.contains("slow") => {
            flag.fetch_add(1, Ordering::SeqCst);
            events("id: 7\nretry: 1\ndata:\n\n")
        }
        // The server has restarted by the time of the resumption.
        "GET" if seen.header("last-event-id") == Some("7") => empty(404),
        _ => answers(seen),
    })
    .await;
    let client = connect(&server.server, Some(Era::Legacy)).await.unwrap();
    let slow = client.call_tool("slow", b"{}").await;
    let text = slow.unwrap_err().to_string();
    assert!(text.contains("session") && text.contains("not known"), "{text}");
    assert_eq!(restart.load(Ordering::SeqCst), 1, "it ran once");
    assert_eq!(call(&client).await.unwrap(), r#""ok""#, "in the new session");
    assert_eq!(server.count("initialize"), 2);
}

#[tokio::test]
async fn d035_a_session_that_is_never_kept_ends_the_connection() {
    let server = Scripted::start(|seen| match seen.method().as_str() {
        "initialize" => json(200, &["Mcp-Session-Id: s"], &result(seen, INITIALIZED)),
        "notifications/initialized" => empty(202),
        _ => empty(404),
    })
    .await;
    let ends = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ends);
    let events: EventHandler = Arc::new(move |event| {
        if matches!(event, ClientEvent::Closed(_)) {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let client =
        Client::connect(transport(&server.url), config(Some(Era::Legacy)), Some(events)).await;
    match call(&client.unwrap()).await {
        Err(CallError::Closed(how)) => assert!(how.contains("session"), "{how}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(ends.load(Ordering::SeqCst), 1);
    let hellos = server.methods().iter().filter(|seen| *seen == "initialize").count();
    assert_eq!(hellos, 2, "one more, and no third");
}

#[tokio::test]
async fn d037_only_a_handshake_that_succeeds_names_the_session() {
    for named in [true, false] {
        let server = Scripted::start(move |seen| match seen.method().as_str() {
            "server/discover" => json(400, &["Mcp-Session-Id: x"], "{}"),
            "initialize" if named => json(200, &["Mcp-Session-Id: s"], &result(seen, INITIALIZED)),
            "initialize" => answer(seen, INITIALIZED),
            "notifications/initialized" => json(202, &["Mcp-Session-Id: y"], "{}"),
            "GET" => empty(405),
            _ => json(200, &["Mcp-Session-Id: z"], &result(seen, TOOL_OK)),
        })
        .await;
        let client = connect(&server, None).await.unwrap();
        for _ in 0..2 {
            call(&client).await.unwrap();
        }
        for seen in server.seen() {
            let opens = matches!(seen.method().as_str(), "server/discover" | "initialize");
            let expected = (named && !opens).then_some("s");
            assert_eq!(seen.header("mcp-session-id"), expected, "{}", seen.method());
        }
    }
}

#[tokio::test]
async fn a_404_without_a_session_is_just_a_status() {
    let server = Scripted::start(|seen| match seen.method().as_str() {
        "initialize" => answer(seen, INITIALIZED),
        "notifications/initialized" => empty(202),
        _ => empty(404),
    })
    .await;
    let client = connect(&server, Some(Era::Legacy)).await.unwrap();
    assert!(matches!(call(&client).await, Err(CallError::Exchange(_))));
    assert!(matches!(call(&client).await, Err(CallError::Exchange(_))), "it stays open");
}

/// Tools of which one mirrors an argument into this header.
fn tools(header: Option<&str>) -> String {
    let mark = header.map(|name| format!(r#","x-mcp-header":"{name}""#)).unwrap_or_default();
    format!(
        r#"{{"resultType":"complete","ttlMs":60000,"cacheScope":"private","tools":[{{"name":"echo","inputSchema":{{"type":"object","properties":{{"t":{{"type":"string"{mark}}}}}}}}}]}}"#
    )
}

const MISMATCH: &str =
    r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"mismatch"}}"#;

#[tokio::test]
async fn a_header_mismatch_leads_to_the_list_and_one_more_try() {
    let wanted = Arc::new(Mutex::new(Some("One")));
    let now = Arc::clone(&wanted);
    let (server, client) = modern(move |seen| {
        let wanted = *now.lock().unwrap();
        let header = wanted.map(|name| format!("mcp-param-{}", name.to_lowercase()));
        let sent: Vec<&str> = seen
            .headers
            .keys()
            .filter(|name| name.starts_with("mcp-param-"))
            .map(|n| &**n)
            .collect();
        match seen.method().as_str() {
            "tools/list" => answer(seen, &tools(wanted)),
            _ if sent == header.as_deref().into_iter().collect::<Vec<_>>() => answer(seen, TOOL_OK),
            _ => json(400, &[], MISMATCH),
        }
    })
    .await;
    // Before any list, after a list, and after the mark has moved and gone.
    for (header, list) in [(Some("One"), 1), (Some("One"), 0), (Some("Two"), 1), (None, 1)] {
        *wanted.lock().unwrap() = header;
        let before = server.methods();
        assert_eq!(call(&client).await.unwrap(), r#""ok""#, "{header:?}");
        let after = server.methods()[before.len()..].to_vec();
        assert_eq!(after.iter().filter(|m| *m == "tools/list").count(), list, "{after:?}");
        assert_eq!(after.iter().filter(|m| *m == "tools/call").count(), list + 1, "{after:?}");
    }
}

#[tokio::test]
async fn a_header_mismatch_that_stays_is_tried_no_third_time() {
    for list_fails in [false, true] {
        let (server, client) = modern(move |seen| match seen.method().as_str() {
            "tools/list" if list_fails => empty(500),
            "tools/list" => answer(seen, &tools(Some("One"))),
            _ => json(400, &[], MISMATCH),
        })
        .await;
        match call(&client).await {
            Err(CallError::Rpc(error)) => assert_eq!(error.code, -32020),
            other => panic!("{other:?}"),
        }
        let calls = server.methods().iter().filter(|seen| *seen == "tools/call").count();
        assert_eq!(calls, if list_fails { 1 } else { 2 });
        // Nor is it for any other method.
        let before = server.methods().len();
        assert!(client.request("x/y", Vec::new(), None, None).await.is_err());
        assert_eq!(server.methods().len(), before + 1);
    }
}

const OFFERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}"#;

fn on_stream(seen: &Seen, messages: &[&str]) -> String {
    let meta = format!(r#"{{"io.modelcontextprotocol/subscriptionId":{}}}"#, seen.id());
    let lines = messages.iter().map(|message| {
        let message = message.replace("META", &meta);
        format!("data: {{\"jsonrpc\":\"2.0\",\"method\":{message}}}\n\n")
    });
    events(&lines.collect::<String>())
}

#[tokio::test]
async fn a_broken_stream_of_changes_is_opened_again_and_lists_are_fetched_again() {
    let acknowledged = r#""notifications/subscriptions/acknowledged","params":{"_meta":META,"notifications":{"toolsListChanged":true}}"#;
    let changed = r#""notifications/tools/list_changed","params":{"_meta":META}"#;
    let open = AtomicUsize::new(0);
    let server = Scripted::start(move |seen| match seen.method().as_str() {
        "server/discover" => answer(seen, OFFERED),
        "subscriptions/listen" if open.fetch_add(1, Ordering::SeqCst) == 0 => {
            on_stream(seen, &[acknowledged, changed])
        }
        "subscriptions/listen" => on_stream(seen, &[acknowledged]),
        _ => answer(seen, &tools(None)),
    })
    .await;
    let heard = Arc::new(AtomicUsize::new(0));
    let (told, count) = (Arc::new(tokio::sync::Notify::new()), Arc::clone(&heard));
    let tell = Arc::clone(&told);
    let events: EventHandler = Arc::new(move |event| {
        if matches!(event, ClientEvent::Changed(Changed::Tools)) {
            count.fetch_add(1, Ordering::SeqCst);
            tell.notify_one();
        }
    });
    let client = Client::connect(transport(&server.url), config(None), Some(events)).await.unwrap();
    told.notified().await;
    let listen = server.seen().into_iter().find(|seen| seen.method() == "subscriptions/listen");
    assert_eq!(listen.unwrap().header("mcp-method"), Some("subscriptions/listen"));
    client.list_tools().await.unwrap();
    let lists = |server: &Scripted| server.methods().iter().filter(|m| *m == "tools/list").count();
    let before = lists(&server);
    // What happened while the stream was broken nobody knows.
    server
        .wait_until(|seen| {
            seen.iter().filter(|s| s.method() == "subscriptions/listen").count() >= 2
        })
        .await;
    told.notified().await;
    assert!(heard.load(Ordering::SeqCst) >= 2);
    client.list_tools().await.unwrap();
    assert_eq!(lists(&server), before + 1, "though what was kept was fresh");
}

#[tokio::test]
async fn d030_a_call_on_a_broken_stream_is_the_callers_to_repeat() {
    let tries = AtomicUsize::new(0);
    let (server, client) = modern(move |seen| match tries.fetch_add(1, Ordering::SeqCst) {
        0 => events(""),
        _ => answer(seen, TOOL_OK),
    })
    .await;
    lost(call(&client).await);
    assert_eq!(call(&client).await.unwrap(), r#""ok""#);
    let ids: BTreeSet<_> = server.seen()[1..].iter().map(Seen::id).collect();
    assert_eq!(ids.len(), 2, "under another id");
}
