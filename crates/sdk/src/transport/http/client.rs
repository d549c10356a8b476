//! The client's side of Streamable HTTP, in both its forms.
//!
//! Every message is a POST of its own. The answer to a request comes as JSON or
//! as an event stream; what arrives is handed on as it comes, and how each
//! exchange ended is said exactly once. In the form with sessions there is also
//! a stream opened by GET, and a broken stream is resumed when the server gave
//! its events ids.

mod chatter;
mod exchange;
mod exchanges;
mod headers;
mod listen;
mod old;
mod params;
mod refused;
mod retry;
mod stream;

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method as Verb, Uri};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use carrick_proto::method::Method;
use carrick_proto::peer::Lane;
use carrick_proto::revision::Revision;
use carrick_proto::rpc::Limits;
use carrick_proto::sse;

use crate::net::HttpClient;
use crate::server::TransportKind;
use crate::transport::{Event, Outgoing, Transport};

use exchanges::Exchanges;
use old::Old;

pub use headers::HttpTransportError;
pub use retry::Retry;

/// How a [`HttpTransport`] behaves: take [`HttpOptions::default`] and set what
/// should differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The largest message taken, in bytes. Default: 16 MiB.
    pub max_message_bytes: usize,
    /// Bounds on what is in one message: an answer is looked at here, and not again by
    /// the client. Default: see [`Limits`].
    pub limits: Limits,
    /// How broken streams are resumed. Default: see [`Retry::default`].
    pub retry: Retry,
    /// Whether to open the stream for messages that answer no request, where
    /// the server has one (legacy). Default: true.
    pub listen: bool,
    /// Which of the HTTP transports to speak. Default: [`Form::Any`].
    pub form: Form,
    /// How long a server of HTTP+SSE may take to say where messages go. Default:
    /// 5 s.
    pub endpoint_timeout: Duration,
    /// How long closing waits for the server to end the session. Default: 2 s.
    pub close_timeout: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            max_message_bytes: 16 * 1024 * 1024,
            limits: Limits::default(),
            retry: Retry::default(),
            listen: true,
            form: Form::Any,
            endpoint_timeout: Duration::from_secs(5),
            close_timeout: Duration::from_secs(2),
        }
    }
}

/// Which of the HTTP transports a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// Streamable HTTP, or HTTP+SSE with a server that refuses `initialize` by
    /// 400, 404 or 405 and opens a stream that says where messages go (2025-03-26
    /// `basic/transports`, Backwards Compatibility).
    #[default]
    Any,
    /// Streamable HTTP only.
    Streamable,
    /// HTTP+SSE (2024-11-05 `basic/transports`) only. Its servers are of the
    /// handshake era: [`ClientConfig::era`](crate::client::ClientConfig::era)
    /// spares them the probe.
    Sse,
}

/// A connection to one MCP endpoint.
///
/// Dropping it aborts every exchange; closing it also tells the server that the
/// session is over.
pub struct HttpTransport {
    link: Arc<Link>,
    events: mpsc::Receiver<Event>,
    /// Exchanges that wait for a response. Each may have something to say last.
    requests: Exchanges<Option<Event>>,
    /// What exchanges have ended with.
    ended: VecDeque<Event>,
    /// How many of the events come before that.
    before: usize,
    /// Messages without a response, and the stream of the server's own ones.
    others: JoinSet<()>,
    listener: Option<AbortHandle>,
    closing: Option<Pin<Box<dyn Future<Output = ()> + Send>>>,
}

/// What all exchanges share.
struct Link {
    http: HttpClient,
    url: Uri,
    headers: HeaderMap,
    options: HttpOptions,
    session: Mutex<Session>,
    params: Mutex<params::ParamTable>,
    /// The stream of HTTP+SSE, once that is what the server speaks.
    old: Mutex<Option<Old>>,
    /// False while there is no session for a message, because the server has not
    /// yet heard that it is open, or has lost it.
    ready: watch::Sender<bool>,
    events: mpsc::Sender<Event>,
    /// Bytes of messages that the server has not yet taken.
    queued: AtomicUsize,
}

/// What `initialize` led to (legacy).
#[derive(Debug, Default, Clone)]
struct Session {
    id: Option<HeaderValue>,
    revision: Option<Revision>,
    /// The server knows it no more, and no other one has been opened.
    lost: bool,
}

impl HttpTransport {
    /// A transport to `url` (absolute, `http` or `https`) whose requests all
    /// carry `headers`, such as `Authorization`. Nothing connects until
    /// something is sent.
    ///
    /// # Errors
    ///
    /// [`HttpTransportError`] for a URL or header that cannot be used.
    pub fn new<N, V>(
        http: HttpClient,
        url: &str,
        headers: impl IntoIterator<Item = (N, V)>,
        options: HttpOptions,
    ) -> Result<Self, HttpTransportError>
    where
        N: AsRef<str>,
        V: AsRef<str>,
    {
        let url = headers::endpoint(url)?;
        let headers = headers::extra(headers)?;
        let (sender, events) = mpsc::channel(64);
        let link = Link {
            http,
            url,
            headers,
            options,
            session: Mutex::default(),
            params: Mutex::default(),
            old: Mutex::default(),
            ready: watch::Sender::new(true),
            events: sender,
            queued: AtomicUsize::new(0),
        };
        Ok(Self {
            link: Arc::new(link),
            events,
            requests: Exchanges::new(),
            ended: VecDeque::new(),
            before: 0,
            others: JoinSet::new(),
            listener: None,
            closing: None,
        })
    }

    /// Keeps what an exchange has ended with. What it has told before comes before, though not
    /// all that others tell meanwhile, who may never stop.
    fn end(&mut self, last: Option<Event>) {
        if let Some(last) = last {
            self.ended.push_back(last);
            self.before = self.events.len();
        }
    }

    /// Ends the session, if there is one, once what is on its way has arrived.
    fn close(&mut self) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        self.requests.clear();
        if let Some(listener) = self.listener.take() {
            listener.abort();
        }
        let mut others = std::mem::take(&mut self.others);
        let link = Arc::clone(&self.link);
        Box::pin(async move {
            let ending = async {
                while others.join_next().await.is_some() {}
                link.old().take();
                link.end_session().await;
            };
            if timeout(link.options.close_timeout, ending).await.is_err() {
                tracing::debug!("the server did not end the session in time");
            }
        })
    }
}

impl Transport for HttpTransport {
    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<Event> {
        while let Poll::Ready(Some(_)) = self.others.poll_join_next(cx) {}
        loop {
            if !self.ended.is_empty() {
                let told = if self.before == 0 { None } else { self.events.try_recv().ok() };
                self.before = self.before.saturating_sub(1);
                if let Some(event) = told.or_else(|| self.ended.pop_front()) {
                    return Poll::Ready(event);
                }
            }
            match self.requests.poll_next(cx) {
                Poll::Ready(last) => self.end(last),
                // The link holds a sender, so the channel never ends.
                Poll::Pending => match ready!(self.events.poll_recv(cx)) {
                    Some(event) => return Poll::Ready(event),
                    None => return Poll::Pending,
                },
            }
        }
    }

    fn send(&mut self, message: Outgoing) {
        let Outgoing { lane, bytes, head: Some(head), .. } = message else {
            debug_assert!(false, "a client's message has a head");
            return;
        };
        if head.method == Method::Cancelled && exchange::disconnect_cancels(&head) {
            // Abandoning the lane says the same here.
            return;
        }
        let link = Arc::clone(&self.link);
        let queued = Queued::new(&link, bytes.len());
        let bytes = Bytes::from(bytes);
        match lane {
            Lane::Exchange(number) => {
                let exchange =
                    async move { exchange::request(&link, lane, bytes, &head, queued).await };
                self.requests.add(number, Box::pin(exchange));
            }
            Lane::Connection if head.method == Method::Initialized => {
                self.link.ready.send_replace(false);
                if let Some(old) = self.listener.take() {
                    old.abort();
                }
                self.listener = Some(self.others.spawn(async move {
                    link.session().revision = head.revision;
                    exchange::one_way(&link, bytes, &head, queued).await;
                    if link.session().lost {
                        return;
                    }
                    link.ready.send_replace(true);
                    if link.options.listen && link.endpoint().is_none() {
                        listen::run(&link).await;
                    }
                }));
            }
            Lane::Connection => {
                self.others.spawn(async move {
                    link.wait_until_ready().await;
                    exchange::one_way(&link, bytes, &head, queued).await;
                });
            }
        }
    }

    fn abandon(&mut self, lane: Lane) {
        if let Lane::Exchange(number) = lane {
            self.requests.remove(number);
        }
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Begins what was sent since the last look at what has arrived. Failures are events.
        while let Poll::Ready(last) = self.requests.poll_next(cx) {
            self.end(last);
        }
        if !self.ended.is_empty() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    fn queued(&self) -> usize {
        self.link.queued.load(Ordering::Relaxed)
    }

    fn kind(&self) -> TransportKind {
        TransportKind::Http
    }

    fn poll_close(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.closing.is_none() {
            self.closing = Some(self.close());
        }
        match &mut self.closing {
            Some(closing) => closing.as_mut().poll(cx),
            None => Poll::Ready(()),
        }
    }
}

impl Drop for HttpTransport {
    fn drop(&mut self) {
        // Its reader keeps the link, and with it itself.
        self.link.old().take();
    }
}

impl std::fmt::Debug for HttpTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not the URL: its query may hold a secret.
        f.debug_struct("HttpTransport")
            .field("exchanges", &self.requests.len())
            .finish_non_exhaustive()
    }
}

/// A message on its way, counted until the server takes it.
struct Queued {
    link: Arc<Link>,
    bytes: usize,
}

impl Queued {
    fn new(link: &Arc<Link>, bytes: usize) -> Self {
        link.queued.fetch_add(bytes, Ordering::Relaxed);
        Self { link: Arc::clone(link), bytes }
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        self.link.queued.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Link {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn params(&self) -> MutexGuard<'_, params::ParamTable> {
        self.params.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn old(&self) -> MutexGuard<'_, Option<Old>> {
        self.old.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where messages go that are those of HTTP+SSE.
    fn endpoint(&self) -> Option<Uri> {
        self.old().as_ref().map(|old| old.endpoint().clone())
    }

    /// Waits until the session is open, or while there is no need of one.
    async fn wait_until_ready(&self) {
        if *self.ready.borrow() {
            return;
        }
        let mut ready = self.ready.subscribe();
        // The sender lives as long as this.
        drop(Box::pin(ready.wait_for(|ready| *ready)).await);
    }

    /// Takes it that the server knows this session no more, and says so, unless
    /// another one is open already, or on its way.
    async fn lose(&self, id: &HeaderValue) {
        {
            let mut session = self.session();
            if session.id.as_ref() != Some(id) {
                return;
            }
            (session.id, session.lost) = (None, true);
        }
        self.ready.send_replace(false);
        self.tell(Event::SessionLost).await;
    }

    async fn tell(&self, event: Event) {
        // The receiver lives as long as the tasks that call this.
        drop(self.events.send(event).await);
    }

    /// Best effort, whatever the server answers.
    async fn end_session(&self) {
        if self.session().id.is_none() {
            return;
        }
        if let Ok(response) = self.http.send(self.bare(Verb::DELETE)).await {
            // Read to its end, so that the connection can be used again.
            drop(response.into_body().collect(64 * 1024).await);
        }
    }

    fn decoder(&self) -> sse::Decoder {
        sse::Decoder::new(self.options.retry.limits(self.options.max_message_bytes))
    }
}
