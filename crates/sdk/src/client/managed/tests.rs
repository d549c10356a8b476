//! Managed connections over servers in memory, on a clock that the tests move.

use super::*;
use crate::client::tests::scripted::Script;
use crate::client::{CallError, Changed, ClientError, Era};
use crate::transport::memory;
use crate::{Server, serve, tool, tools};
use carrick_proto::peer::ServerDescription;
use carrick_proto::types::{Implementation, RpcError};
use futures_util::future::{BoxFuture, FutureExt, join_all};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, advance, sleep};

#[tool]
async fn ping() -> &'static str {
    "pong"
}

#[tool]
async fn slow() -> &'static str {
    sleep(Duration::from_secs(50)).await;
    "done"
}

/// What a test decides of its server, and what it hears.
#[derive(Default)]
struct World {
    attempts: AtomicUsize,
    /// Whether attempts fail.
    down: AtomicBool,
    panics: AtomicBool,
    /// How long an attempt takes.
    takes: Mutex<Duration>,
    /// The other ends, to be cut.
    servers: Mutex<Vec<tokio::task::AbortHandle>>,
    eras: Mutex<Vec<Option<Era>>>,
    events: Mutex<Vec<String>>,
    /// Whether a memory of the era is wrong.
    refuses_memory: AtomicBool,
    stored: Mutex<Option<Era>>,
    saves: Mutex<Vec<Option<Era>>>,
}

impl World {
    fn set(flag: &AtomicBool, on: bool) {
        flag.store(on, Ordering::SeqCst);
    }

    fn attempts(&self) -> usize {
        self.attempts.load(Ordering::SeqCst)
    }

    fn events(&self) -> Vec<String> {
        self.events.lock().unwrap().clone()
    }

    fn tell(&self, event: impl Into<String>) {
        self.events.lock().unwrap().push(event.into());
    }

    /// Ends the server of the newest connection, and lets that be noticed.
    async fn cut(&self) {
        let server = self.servers.lock().unwrap().pop().unwrap();
        server.abort();
        settle().await;
    }
}

/// Lets all tasks come to rest without moving the clock.
async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

struct Connects(Arc<World>);

impl Connector for Connects {
    fn name(&self) -> &str {
        "s"
    }

    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        let world = self.0.clone();
        async move {
            let nth = world.attempts.fetch_add(1, Ordering::SeqCst) + 1;
            world.eras.lock().unwrap().push(config.era);
            let takes = *world.takes.lock().unwrap();
            sleep(takes).await;
            assert!(!world.panics.load(Ordering::SeqCst), "as the test wants it");
            if world.down.load(Ordering::SeqCst) {
                return Err(ConnectError::new(format!("failure {nth}")));
            }
            if world.refuses_memory.load(Ordering::SeqCst) && config.era == Some(Era::Legacy) {
                let refusal = RpcError::new(-32601, "no initialize here");
                return Err(ClientError::from(CallError::Rpc(refusal)).into());
            }
            let server = Server::builder("s", "1").tools(tools![ping, slow]).build();
            let (ours, theirs) = memory();
            let serving = tokio::spawn(async move { drop(serve(&server, theirs).await) });
            world.servers.lock().unwrap().push(serving.abort_handle());
            Client::connect(ours, config, hooks).await.map_err(ConnectError::from)
        }
        .boxed()
    }
}

struct Hears(Arc<World>);

impl ConnectionEvents for Hears {
    fn connecting(&self) {
        self.0.tell("connecting");
    }

    fn prepare(&self, client: Client) -> BoxFuture<'static, ()> {
        let world = self.0.clone();
        async move {
            client.list_tools().await.unwrap();
            world.tell("prepared");
        }
        .boxed()
    }

    fn opened(&self, server: &ServerDescription) {
        self.0.tell(format!("opened {}", server.info.as_ref().unwrap().name));
    }

    fn closed(&self, reason: &CloseReason) {
        self.0.tell(format!("closed {reason:?}"));
    }

    fn changed(&self, changed: &Changed) {
        self.0.tell(format!("changed {changed:?}"));
    }
}

struct Store(Arc<World>);

impl EraStore for Store {
    fn load(&self) -> Option<Era> {
        *self.0.stored.lock().unwrap()
    }

    fn save(&self, era: Option<Era>) -> BoxFuture<'_, ()> {
        self.0.saves.lock().unwrap().push(era);
        *self.0.stored.lock().unwrap() = era;
        std::future::ready(()).boxed()
    }
}

fn exact() -> ManagedOptions {
    let mut options = ManagedOptions::default();
    options.backoff.jitter = 0.0;
    options
}

fn config() -> ClientConfig {
    ClientConfig::new(Implementation::new("tests", "0"))
}

fn managed(options: ManagedOptions) -> (ManagedConnection, Arc<World>) {
    let world = Arc::new(World::default());
    let connector = Arc::new(Connects(world.clone()));
    let events = Arc::new(Hears(world.clone()));
    (ManagedConnection::new(connector, config(), Hooks::default(), events, options), world)
}

async fn is_up(connection: &ManagedConnection) -> bool {
    match connection.client().await {
        Ok(client) => client.call_tool("ping", b"{}").await.is_ok(),
        Err(_) => false,
    }
}

#[tokio::test(start_paused = true)]
async fn it_opens_when_it_is_needed_and_callers_share_one_attempt() {
    let (connection, world) = managed(exact());
    *world.takes.lock().unwrap() = Duration::from_secs(5);
    assert!(matches!(connection.state(), ConnectionState::Stopped));
    assert!(connection.now().is_none() && world.attempts() == 0);
    let mut states = connection.subscribe();
    let all = join_all((0..10).map(|_| connection.client()));
    let (all, ()) = tokio::join!(all, async {
        states.changed().await.unwrap();
        assert!(
            matches!(*states.borrow(), ConnectionState::Starting { since } if since == Instant::now())
        );
        assert!(connection.now().is_none());
    });
    assert!(all.iter().all(Result::is_ok));
    assert_eq!(world.attempts(), 1);
    assert!(connection.now().is_some());
    assert!(matches!(connection.state(), ConnectionState::Connected { .. }));
    assert_eq!(world.events(), ["connecting", "prepared", "opened s"]);
}

#[tokio::test(start_paused = true)]
async fn f11_a_caller_that_gives_up_does_not_take_the_attempt_from_later_ones() {
    let (connection, world) = managed(exact());
    *world.takes.lock().unwrap() = Duration::from_secs(40);
    let waited = tokio::time::timeout(Duration::from_secs(10), connection.client()).await;
    assert!(waited.is_err());
    assert!(matches!(connection.state(), ConnectionState::Starting { .. }));
    assert!(is_up(&connection).await);
    assert_eq!(world.attempts(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_circuit_opens_after_the_second_failure_and_one_attempt_half_opens_it() {
    let (connection, world) = managed(exact());
    World::set(&world.down, true);
    let said = async || connection.client().await.unwrap_err().to_string();
    assert_eq!(said().await, "failure 1");
    assert_eq!(said().await, "failure 2", "at once the first time");
    for wait in [1, 2, 4, 8, 16, 32, 60, 60] {
        let before = world.attempts();
        let error = connection.client().await.unwrap_err();
        let due = error.next_attempt().unwrap() - Instant::now();
        assert_eq!(due, Duration::from_secs(wait));
        assert!(matches!(connection.state(), ConnectionState::Failed(_)));
        advance(Duration::from_secs(wait) - Duration::from_millis(1)).await;
        said().await;
        assert_eq!(world.attempts(), before, "the last error answers");
        advance(Duration::from_millis(1)).await;
        // Side by side, as they would come.
        join_all((0..5).map(|_| connection.client())).await;
        assert_eq!(world.attempts(), before + 1, "one attempt decides");
    }
    World::set(&world.down, false);
    advance(Duration::from_secs(60)).await;
    assert!(is_up(&connection).await);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_soon_counts_as_a_failure_and_one_that_lasted_does_not() {
    let (connection, world) = managed(exact());
    assert!(is_up(&connection).await);
    world.cut().await;
    assert!(is_up(&connection).await, "at once the first time");
    world.cut().await;
    assert!(matches!(connection.client().await, Err(ManagedError::Ended { .. })));
    advance(Duration::from_secs(1)).await;
    assert!(is_up(&connection).await);
    assert_eq!(world.attempts(), 3);
    advance(Duration::from_secs(30)).await;
    world.cut().await;
    assert!(matches!(connection.state(), ConnectionState::Stopped));
    assert!(is_up(&connection).await && is_up(&connection).await);
    assert_eq!(world.attempts(), 4);
    let closed = world.events().iter().filter(|event| event.starts_with("closed Ended")).count();
    assert_eq!(closed, 3);
}

#[test]
fn waits_double_up_to_the_longest_and_jitter_only_shortens_them() {
    let backoff = Backoff::default();
    assert_eq!(backoff.wait(0, 0), None);
    assert_eq!(backoff.wait(1, 255), None);
    assert_eq!(backoff.wait(2, 0), Some(Duration::from_secs(1)));
    assert_eq!(backoff.wait(2, 255), Some(Duration::from_millis(750)));
    assert_eq!(backoff.wait(u32::MAX, 0), Some(Duration::from_secs(60)));
    for jitter in [f64::NAN, -1.0, 0.0] {
        let backoff = Backoff { jitter, ..backoff };
        assert_eq!(backoff.wait(3, 255), Some(Duration::from_secs(2)));
    }
    let all = Backoff { jitter: 7.0, ..backoff };
    assert_eq!(all.wait(3, 255), Some(Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn it_closes_when_idle_and_opens_again_for_the_next_use() {
    let mut options = exact();
    options.idle_timeout = Some(Duration::from_secs(20));
    let (connection, world) = managed(options);
    let client = connection.client().await.unwrap();
    sleep(Duration::from_secs(19)).await;
    assert!(client.call_tool("ping", b"{}").await.is_ok());
    sleep(Duration::from_secs(19)).await;
    assert!(connection.now().is_some(), "the time begins at the last call");
    // A call in flight keeps it open, however long it takes.
    assert!(client.call_tool("slow", b"{}").await.is_ok());
    sleep(Duration::from_secs(19)).await;
    assert!(!world.events().iter().any(|event| event.starts_with("closed")));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(world.events().last().unwrap(), "closed Idle");
    assert!(connection.now().is_none());
    assert!(matches!(connection.state(), ConnectionState::Stopped));
    assert!(is_up(&connection).await);
    assert_eq!(world.attempts(), 2);
    // The watch of the first connection has ended with it.
    sleep(Duration::from_secs(10)).await;
    assert!(connection.now().is_some());
}

#[tokio::test(start_paused = true)]
async fn reconnecting_forgets_failures_and_whoever_waits_gets_the_new_connection() {
    let (connection, world) = managed(exact());
    World::set(&world.down, true);
    for _ in 0..2 {
        connection.client().await.unwrap_err();
    }
    World::set(&world.down, false);
    assert!(!is_up(&connection).await, "it is not due yet");
    connection.reconnect().await;
    assert!(is_up(&connection).await);
    connection.reconnect().await;
    assert_eq!(world.events().last().unwrap(), "closed Reconnect");
    *world.takes.lock().unwrap() = Duration::from_secs(5);
    let (client, ()) = tokio::join!(connection.client(), async {
        sleep(Duration::from_secs(4)).await;
        connection.reconnect().await;
    });
    assert!(client.is_ok());
    assert_eq!(world.attempts(), 5, "the attempt that was under way, and another one");
    assert_eq!(*world.eras.lock().unwrap().last().unwrap(), None, "nothing is known any more");
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_attempt_and_all_that_wait_for_it() {
    let (connection, world) = managed(exact());
    *world.takes.lock().unwrap() = Duration::from_secs(5);
    let (client, ()) = tokio::join!(connection.client(), async {
        sleep(Duration::from_secs(1)).await;
        connection.close().await;
    });
    assert!(matches!(client, Err(ManagedError::Closed)));
    assert!(matches!(connection.client().await, Err(ManagedError::Closed)));
    assert!(connection.is_closed() && world.attempts() == 1);
}

#[tokio::test(start_paused = true)]
async fn dropping_it_closes_the_connection() {
    let (connection, world) = managed(exact());
    assert!(is_up(&connection).await);
    let server = world.servers.lock().unwrap().pop().unwrap();
    drop(connection);
    settle().await;
    assert!(server.is_finished(), "the server has seen its client go");
    assert_eq!(world.events().last().unwrap(), "closed Shutdown");
}

#[tokio::test(start_paused = true)]
async fn a_panic_while_connecting_is_a_failure_like_others() {
    let (connection, world) = managed(exact());
    World::set(&world.panics, true);
    let error = connection.client().await.unwrap_err();
    assert!(error.to_string().contains("panicked"), "{error}");
    World::set(&world.panics, false);
    assert!(is_up(&connection).await);
}

#[tokio::test(start_paused = true)]
async fn f17_an_era_that_is_remembered_wrongly_is_forgotten_and_the_other_tried_at_once() {
    let world = Arc::new(World::default());
    *world.stored.lock().unwrap() = Some(Era::Legacy);
    World::set(&world.refuses_memory, true);
    let mut options = exact();
    options.eras = Some(Arc::new(Store(world.clone())));
    let connector = Arc::new(Connects(world.clone()));
    let events = Arc::new(Hears(world.clone()));
    let connection =
        ManagedConnection::<()>::new(connector, config(), Hooks::default(), events, options);
    assert!(connection.client().await.is_ok());
    assert_eq!(*world.eras.lock().unwrap(), [Some(Era::Legacy), None]);
    assert_eq!(*world.saves.lock().unwrap(), [None, Some(Era::Modern)]);
    // Again on the same connection, and nothing is written that is no news.
    world.cut().await;
    assert!(connection.client().await.is_ok());
    assert_eq!(world.eras.lock().unwrap().last(), Some(&Some(Era::Modern)));
    assert_eq!(world.saves.lock().unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_kept_with_a_connection_goes_with_it() {
    let world = Arc::new(World::default());
    let connector = Arc::new(Connects(world.clone()));
    let events = Arc::new(Hears(world.clone()));
    let connection = ManagedConnection::<AtomicUsize>::new(
        connector,
        config(),
        Hooks::default(),
        events,
        exact(),
    );
    connection.connected().await.unwrap().data.store(7, Ordering::SeqCst);
    assert_eq!(connection.now().unwrap().data.load(Ordering::SeqCst), 7);
    world.cut().await;
    assert_eq!(connection.connected().await.unwrap().data.load(Ordering::SeqCst), 0);
}

/// A server that ends while the connection is being prepared.
struct Ends(Mutex<Option<Script>>);

impl Connector for Ends {
    fn name(&self) -> &str {
        "ends"
    }

    fn connect(
        &self,
        config: ClientConfig,
        hooks: Hooks,
    ) -> BoxFuture<'_, Result<Client, ConnectError>> {
        async move {
            let (transport, mut script) = Script::new();
            let connecting = Client::connect(transport, config, hooks);
            let (client, ()) = tokio::join!(connecting, script.open());
            *self.0.lock().unwrap() = Some(script);
            client.map_err(ConnectError::from)
        }
        .boxed()
    }
}

struct Cuts(Arc<Ends>, Arc<World>);

impl ConnectionEvents for Cuts {
    fn prepare(&self, _: Client) -> BoxFuture<'static, ()> {
        drop(self.0.0.lock().unwrap().take());
        settle().boxed()
    }

    fn opened(&self, _: &ServerDescription) {
        self.1.tell("opened");
    }

    fn closed(&self, _: &CloseReason) {
        self.1.tell("closed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_ends_before_anybody_has_it_was_never_open() {
    let (ends, world) = (Arc::new(Ends(Mutex::default())), Arc::new(World::default()));
    let events = Arc::new(Cuts(ends.clone(), world.clone()));
    let connection =
        ManagedConnection::<()>::new(ends, config(), Hooks::default(), events, exact());
    assert!(matches!(connection.client().await, Err(ManagedError::Ended { .. })));
    assert!(connection.now().is_none() && world.events().is_empty());
}
