//! How long sessions live, and how they run.

use std::sync::atomic::AtomicUsize;

use bytes::Bytes;
use carrick_proto::http::ParamHeader;
use carrick_proto::peer::{Call, Identity};
use carrick_proto::rpc::{self, Limits};
use futures_util::FutureExt;

use crate::server::{
    CallInfo, Connection, ConnectionInfo, Dispatch, Outbox, Server, Service, TransportKind,
};
use crate::transport::http::HttpServerOptions;
use crate::{tool, tools};

use super::super::budget::Budget;
use super::super::conversation::Conversation;
use super::*;

fn options(idle: Duration, half_open: Duration) -> HttpServerOptions {
    HttpServerOptions { session_idle: idle, session_half_open: half_open, ..Default::default() }
}

fn budget() -> Arc<Budget> {
    Budget::new(1 << 20)
}

fn info() -> Arc<ConnectionInfo> {
    Arc::new(ConnectionInfo::new(TransportKind::Http))
}

fn conversation() -> Box<Conversation> {
    Box::new(Conversation::new(
        &Server::builder("s", "1").build(),
        info(),
        Limits::default(),
        1,
        budget().whole(),
    ))
}

#[tokio::test]
async fn d040_an_open_stream_keeps_its_session_and_nothing_else_does() {
    let sessions = Sessions::new(&options(Duration::ZERO, Duration::ZERO));
    let idle = sessions.open(conversation()).unwrap();
    let watched = sessions.open(conversation()).unwrap();
    let stream = watched.in_use();
    sessions.sweep();
    assert!(sessions.find(idle.id().to_string().as_bytes(), None).is_none());
    assert!(sessions.find(watched.id().to_string().as_bytes(), None).is_some());
    drop(stream);
    sessions.sweep();
    assert!(sessions.find(watched.id().to_string().as_bytes(), None).is_none());
}

#[tokio::test]
async fn d036_a_session_lives_longer_once_its_client_is_ready() {
    let sessions = Sessions::new(&options(Duration::from_secs(3600), Duration::ZERO));
    let half_open = sessions.open(conversation()).unwrap();
    let ready = sessions.open(conversation()).unwrap();
    ready.client_is_ready();
    sessions.sweep();
    assert!(sessions.find(half_open.id().to_string().as_bytes(), None).is_none());
    assert!(sessions.find(ready.id().to_string().as_bytes(), None).is_some());
}

#[tokio::test]
async fn d038_ids_are_random_and_compared_whole() {
    let sessions = Sessions::new(&HttpServerOptions::default());
    let one = sessions.open(conversation()).unwrap();
    let two = sessions.open(conversation()).unwrap();
    let (one, two) = (one.id().to_string(), two.id().to_string());
    assert_eq!((one.len(), two.len()), (32, 32), "128 bits");
    assert_ne!(one, two);
    assert!(sessions.find(one.as_bytes(), None).is_some());
    assert!(sessions.find(&one.as_bytes()[..31], None).is_none());
    assert!(sessions.find(format!("+{}", &one[1..]).as_bytes(), None).is_none());
    assert!(
        sessions.find(one.to_uppercase().as_bytes(), None).is_none() || one == one.to_uppercase()
    );
    assert!(sessions.find(format!("{one}0").as_bytes(), None).is_none());
    assert!(sessions.find(b"", None).is_none());
}

#[tokio::test]
async fn an_ended_session_takes_nothing_and_ends_its_streams() {
    let sessions = Sessions::new(&HttpServerOptions::default());
    let session = sessions.open(conversation()).unwrap();
    let mut reader = session.lanes.connection();
    sessions.end(&session);
    assert!(reader.next().await.is_none());
    assert!(sessions.find(session.id().to_string().as_bytes(), None).is_none());
}

#[tokio::test]
async fn f20_a_service_may_end_a_session_after_what_it_has_said() {
    let server = Server::builder("s", "1").build();
    let sessions = Sessions::new(&HttpServerOptions::default());
    let conversation = initialized(&server);
    let outbox = Arc::clone(conversation.signals());
    let session = sessions.open(conversation).unwrap();
    let mut stream = session.lanes.connection();
    let mut answered = session.lanes.open(session.lanes.reserve());
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    assert!(session.take(Lane::Exchange(answered.stream()), frame(ping.into())).await);
    outbox.close_session();
    assert!(stream.next().await.is_none(), "its stream ends");
    assert!(answered.next().await.unwrap().1.is_last(), "what was said before is not lost");
    assert!(sessions.find(session.id().to_string().as_bytes(), None).is_none());
    assert!(!session.take(Lane::Connection, frame(ping.into())).await);
    let gone = Arc::downgrade(&session);
    drop((session, stream, answered));
    assert_eq!(gone.strong_count(), 0, "nothing keeps it");
}

#[tokio::test]
async fn f20_a_request_of_its_own_has_no_session_to_end() {
    let mut conversation = conversation();
    conversation.signals().close_session();
    let mut cx = std::task::Context::from_waker(Waker::noop());
    assert!(conversation.poll_next(&mut cx).is_pending());
}

#[test]
fn the_key_of_a_session_in_the_store_has_its_owner_in_it() {
    let key = |subject: Option<&str>| {
        let principal = subject.map(|subject| Principal::new("i", subject));
        table::store_key(7, principal.as_ref())
    };
    assert_eq!(key(None), 7);
    assert_eq!(key(Some("a")), key(Some("a")));
    assert!(key(Some("a")) != key(Some("b")) && key(Some("a")) != 7);
}

/// A server that counts its conversations.
struct Counted {
    server: Server,
    open: Arc<AtomicUsize>,
}

struct CountedConnection {
    connection: Box<dyn Connection>,
    open: Arc<AtomicUsize>,
}

impl Service for Counted {
    fn identity(&self) -> Arc<Identity> {
        self.server.identity()
    }

    fn connect(&self, info: Arc<ConnectionInfo>, outbox: Arc<dyn Outbox>) -> Box<dyn Connection> {
        self.open.fetch_add(1, Ordering::Relaxed);
        let connection = self.server.connect(info, outbox);
        Box::new(CountedConnection { connection, open: Arc::clone(&self.open) })
    }

    fn mirrored(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.server.mirrored(tool)
    }
}

impl Connection for CountedConnection {
    fn call(&mut self, call: Call, info: &CallInfo) -> Dispatch {
        self.connection.call(call, info)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn frame(text: String) -> Frame {
    let messages = rpc::scan(Bytes::from(text), Limits::default()).unwrap();
    Frame { messages, request: None }
}

/// A conversation that is a session.
fn initialized(service: &dyn Service) -> Box<Conversation> {
    let mut conversation =
        Box::new(Conversation::new(service, info(), Limits::default(), 4, budget().whole()));
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25"}}"#;
    conversation.take(Lane::Exchange(0), frame(hello.into()));
    let mut cx = std::task::Context::from_waker(Waker::noop());
    assert!(conversation.poll_next(&mut cx).is_ready());
    assert!(conversation.session().is_some());
    conversation
}

#[tokio::test(start_paused = true)]
async fn d036_sessions_that_are_left_are_gone_by_their_time_with_all_they_had() {
    const COUNT: usize = 500;
    let open = Arc::new(AtomicUsize::new(0));
    let server = Server::builder("s", "1").build();
    let service = Counted { server, open: Arc::clone(&open) };
    let (idle, half_open) = (Duration::from_secs(600), Duration::from_secs(60));
    let sessions = Sessions::new(&options(idle, half_open));
    let mut left = Vec::new();
    for number in 0..COUNT {
        let session = sessions.open(initialized(&service)).unwrap();
        if number % 2 == 0 {
            session.client_is_ready();
        }
        let mut reader = session.lanes.open(session.lanes.reserve());
        let ping = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"ping"}}"#);
        assert!(session.take(Lane::Exchange(reader.stream()), frame(ping)).await);
        assert!(reader.next().await.unwrap().1.is_last());
        left.push(Arc::downgrade(&session));
    }
    let alive = |left: &[std::sync::Weak<Session>]| {
        left.iter().filter(|session| session.strong_count() > 0).count()
    };
    tokio::time::advance(half_open - Duration::from_millis(1)).await;
    sessions.sweep();
    assert_eq!((alive(&left), open.load(Ordering::Relaxed)), (COUNT, COUNT));
    tokio::time::advance(Duration::from_millis(1)).await;
    sessions.sweep();
    assert_eq!((alive(&left), open.load(Ordering::Relaxed)), (COUNT / 2, COUNT / 2));
    tokio::time::advance(idle - half_open).await;
    let one = left.iter().find_map(std::sync::Weak::upgrade).unwrap();
    assert!(sessions.find(one.id().to_string().as_bytes(), None).is_none(), "even before a sweep");
    drop(one);
    sessions.sweep();
    assert_eq!((alive(&left), open.load(Ordering::Relaxed)), (0, 0));
}

#[tool]
async fn quick() -> String {
    "done".into()
}

fn ping(id: u32) -> Frame {
    frame(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#))
}

#[tokio::test(start_paused = true)]
async fn d036_a_session_lives_on_from_the_last_that_was_said_in_it() {
    let idle = Duration::from_secs(600);
    let sessions = Sessions::new(&options(idle, idle));
    let session = sessions.open(initialized(&Server::builder("s", "1").build())).unwrap();
    for id in 1..=3 {
        tokio::time::advance(idle / 2).await;
        assert!(session.take(Lane::Connection, ping(id)).await);
    }
    let left = Arc::downgrade(&session);
    drop(session);
    tokio::time::advance(idle - Duration::from_millis(1)).await;
    sessions.sweep();
    assert_eq!(left.strong_count(), 1);
    tokio::time::advance(Duration::from_millis(1)).await;
    sessions.sweep();
    assert_eq!(left.strong_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_session_gives_its_memory_back_once_it_has_rested_and_only_once() {
    let rest = Duration::from_secs(15);
    let sessions = Sessions::new(&HttpServerOptions::default());
    let session = sessions.open(initialized(&Server::builder("s", "1").build())).unwrap();
    for id in 1..=2 {
        let asks = session.in_use();
        assert!(session.ask(ping(id), false).await.is_some());
        drop(asks);
        tokio::time::advance(rest - Duration::from_millis(1)).await;
        assert!(!session.may_shrink(rest), "its client may be about to go on");
        tokio::time::advance(Duration::from_millis(1)).await;
        let working = session.in_use();
        assert!(!session.may_shrink(rest), "it is at work");
        drop(working);
        tokio::time::advance(rest).await;
        assert_eq!([session.may_shrink(rest), session.may_shrink(rest)], [true, false]);
    }
}

/// A server in the middle of whose calls another request comes in.
struct Interrupted {
    server: Server,
    session: Arc<std::sync::OnceLock<std::sync::Weak<Session>>>,
    other: Arc<std::sync::Mutex<Option<First>>>,
}

struct InterruptedConnection {
    connection: Box<dyn Connection>,
    session: Arc<std::sync::OnceLock<std::sync::Weak<Session>>>,
    other: Arc<std::sync::Mutex<Option<First>>>,
}

impl Service for Interrupted {
    fn identity(&self) -> Arc<Identity> {
        self.server.identity()
    }

    fn connect(&self, info: Arc<ConnectionInfo>, outbox: Arc<dyn Outbox>) -> Box<dyn Connection> {
        Box::new(InterruptedConnection {
            connection: self.server.connect(info, outbox),
            session: Arc::clone(&self.session),
            other: Arc::clone(&self.other),
        })
    }

    fn mirrored(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.server.mirrored(tool)
    }
}

impl Connection for InterruptedConnection {
    fn call(&mut self, call: Call, info: &CallInfo) -> Dispatch {
        let session = self.session.get().and_then(std::sync::Weak::upgrade).unwrap();
        let asked = session.ask(ping(2), false).now_or_never();
        *self.other.lock().unwrap() = asked.expect("there is room for it");
        self.connection.call(call, info)
    }
}

#[tokio::test]
async fn a_request_that_comes_while_another_is_taken_up_is_answered_after_it() {
    let (session_of_it, other) = (Arc::default(), Arc::default());
    let service = Interrupted {
        server: Server::builder("s", "1").tools(tools![quick]).build(),
        session: Arc::clone(&session_of_it),
        other: Arc::clone(&other),
    };
    let sessions = Sessions::new(&HttpServerOptions::default());
    let session = sessions.open(initialized(&service)).unwrap();
    session_of_it.set(Arc::downgrade(&session)).unwrap();
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert!(session.take(Lane::Connection, frame(ready.into())).await);
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"quick"}}"#;
    assert!(matches!(session.ask(frame(call.into()), false).await, Some(First::Answer(_))));
    let other = other.lock().unwrap().take();
    let Some(First::Stream(mut reader)) = other else {
        panic!("it was refused, or never answered")
    };
    let (_, answer) = reader.next().await.unwrap();
    assert!(String::from_utf8_lossy(&answer.bytes).contains("\"id\":2"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_at_once_hand_in_frames_and_each_gets_its_answer() {
    let server = Server::builder("s", "1").build();
    let sessions = Sessions::new(&HttpServerOptions::default());
    let session = sessions.open(initialized(&server)).unwrap();
    let tasks = (0..16).map(|task| {
        let session = Arc::clone(&session);
        tokio::spawn(async move {
            for number in 0..200 {
                let mut reader = session.lanes.open(session.lanes.reserve());
                let id = task * 1000 + number + 1;
                let ping = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
                assert!(session.take(Lane::Exchange(reader.stream()), frame(ping)).await);
                let (_, answer) = reader.next().await.unwrap();
                let text = String::from_utf8(answer.bytes.to_vec()).unwrap();
                assert!(
                    text.contains(&format!("\"id\":{id},"))
                        || text.contains(&format!("\"id\":{id}}}")),
                    "{text}"
                );
                session.lanes.discard(reader.stream());
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
}

#[tokio::test]
async fn an_idle_session_takes_up_work_again() {
    let server = Server::builder("s", "1").build();
    let sessions = Sessions::new(&HttpServerOptions::default());
    let session = sessions.open(initialized(&server)).unwrap();
    for number in 1..4 {
        let mut reader = session.lanes.open(session.lanes.reserve());
        let ping = format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"ping"}}"#);
        assert!(session.take(Lane::Exchange(reader.stream()), frame(ping)).await);
        assert!(reader.next().await.unwrap().1.is_last());
    }
}
