//! The client's side of Streamable HTTP, in both its forms.
//!
//! Every message is a POST of its own. The answer to a request comes as JSON or
//! as an event stream; what arrives is handed on as it comes, and how each
//! exchange ended is said exactly once. In the form with sessions there is also
//! a stream opened by GET, and a broken stream is resumed when the server gave
//! its events ids.

mod exchange;
mod headers;
mod listen;
mod params;
mod retry;
mod stream;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method as Verb, Uri};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use carrick_proto::method::Method;
use carrick_proto::peer::{Head, Lane, LaneEnd};
use carrick_proto::revision::Revision;
use carrick_proto::sse;

use crate::net::HttpClient;

pub use headers::HeaderError;
pub use retry::Retry;

/// How a [`HttpTransport`] behaves: take [`HttpOptions::default`] and set what
/// should differ.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Further headers of every request, such as `Authorization`. Default: none.
    pub headers: HeaderMap,
    /// The largest message taken, in bytes. Default: 16 MiB.
    pub max_message_bytes: usize,
    /// How broken streams are resumed. Default: see [`Retry::default`].
    pub retry: Retry,
    /// Whether to open the stream for messages that answer no request, where
    /// the server has one (legacy). Default: true.
    pub listen: bool,
    /// How long closing waits for the server to end the session. Default: 2 s.
    pub close_timeout: Duration,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            headers: HeaderMap::new(),
            max_message_bytes: 16 * 1024 * 1024,
            retry: Retry::default(),
            listen: true,
            close_timeout: Duration::from_secs(2),
        }
    }
}

/// What comes out of a [`HttpTransport`].
#[derive(Debug)]
#[non_exhaustive]
pub enum HttpEvent {
    /// A message from the server.
    Message(Bytes),
    /// An exchange is over. Without effect when its response came before.
    LaneEnd(Lane, LaneEnd),
    /// The server has ended the session: nothing can be sent any more.
    Closed(String),
}

/// A connection to one MCP endpoint.
///
/// Dropping it aborts every exchange; [`close`](Self::close) also tells the
/// server that the session is over.
#[derive(Debug)]
pub struct HttpTransport {
    link: Arc<Link>,
    events: mpsc::Receiver<HttpEvent>,
    lanes: HashMap<u64, AbortHandle>,
    tasks: JoinSet<Option<u64>>,
    /// False while the server has not yet heard that the session is open.
    ready: watch::Sender<bool>,
}

/// What all exchanges share.
#[derive(Debug)]
struct Link {
    http: HttpClient,
    url: Uri,
    options: HttpOptions,
    session: Mutex<Session>,
    params: Mutex<params::ParamTable>,
    events: mpsc::Sender<HttpEvent>,
}

/// What `initialize` led to (legacy).
#[derive(Debug, Default, Clone)]
struct Session {
    id: Option<HeaderValue>,
    revision: Option<Revision>,
}

impl HttpTransport {
    /// A transport to `url` (absolute, `http` or `https`). Nothing connects
    /// until something is sent.
    ///
    /// # Errors
    ///
    /// [`HeaderError`] when `options.headers` has a header that the transport
    /// itself sets.
    pub fn new(http: HttpClient, url: Uri, options: HttpOptions) -> Result<Self, HeaderError> {
        headers::check_extra(&options.headers)?;
        let (sender, events) = mpsc::channel(64);
        let link = Link {
            http,
            url,
            options,
            session: Mutex::default(),
            params: Mutex::default(),
            events: sender,
        };
        Ok(Self {
            link: Arc::new(link),
            events,
            lanes: HashMap::new(),
            tasks: JoinSet::new(),
            ready: watch::Sender::new(true),
        })
    }

    /// Sends a message. How that went comes out of [`next`](Self::next).
    pub fn send(&mut self, lane: Lane, bytes: Vec<u8>, head: Head) {
        if head.method == Method::Cancelled && exchange::disconnect_cancels(&head) {
            // Abandoning the lane says the same here.
            return;
        }
        let link = Arc::clone(&self.link);
        let bytes = Bytes::from(bytes);
        match lane {
            Lane::Exchange(number) => {
                let ready = self.ready.subscribe();
                let task = self.tasks.spawn(async move {
                    wait_until_ready(ready).await;
                    exchange::request(&link, lane, bytes, &head).await;
                    Some(number)
                });
                self.lanes.insert(number, task);
            }
            Lane::Connection if head.method == Method::Initialized => {
                self.ready.send_replace(false);
                let ready = self.ready.clone();
                self.tasks.spawn(async move {
                    link.session().revision = head.revision;
                    exchange::one_way(&link, bytes, &head).await;
                    ready.send_replace(true);
                    if link.options.listen {
                        listen::run(&link).await;
                    }
                    None
                });
            }
            Lane::Connection => {
                let ready = self.ready.subscribe();
                self.tasks.spawn(async move {
                    wait_until_ready(ready).await;
                    exchange::one_way(&link, bytes, &head).await;
                    None
                });
            }
        }
    }

    /// Ends an exchange whose answer is no longer wanted, and its connection.
    pub fn abandon(&mut self, lane: Lane) {
        if let Lane::Exchange(number) = lane
            && let Some(task) = self.lanes.remove(&number)
        {
            task.abort();
        }
    }

    /// Waits for the next event. Safe to cancel: no event is lost. Waits for
    /// ever while nothing is going on.
    pub async fn next(&mut self) -> HttpEvent {
        loop {
            tokio::select! {
                biased;
                event = self.events.recv() => {
                    // The link holds a sender, so the channel is open.
                    if let Some(event) = event {
                        return event;
                    }
                }
                Some(ended) = self.tasks.join_next() => {
                    if let Ok(Some(number)) = ended {
                        self.lanes.remove(&number);
                    }
                }
            }
        }
    }

    /// Aborts every exchange and ends the session, if there is one: best effort,
    /// whatever the server answers.
    pub async fn close(mut self) {
        self.tasks.shutdown().await;
        if self.link.session().id.is_none() {
            return;
        }
        let request = self.link.bare(Verb::DELETE);
        let ending = async {
            if let Ok(response) = self.link.http.send(request).await {
                // Read to its end, so that the connection can be used again.
                drop(response.into_body().collect(64 * 1024).await);
            }
        };
        drop(tokio::time::timeout(self.link.options.close_timeout, ending).await);
    }
}

async fn wait_until_ready(mut ready: watch::Receiver<bool>) {
    // An error says that the transport is gone; this task ends with it.
    drop(ready.wait_for(|ready| *ready).await);
}

impl Link {
    fn session(&self) -> MutexGuard<'_, Session> {
        self.session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn params(&self) -> MutexGuard<'_, params::ParamTable> {
        self.params.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn tell(&self, event: HttpEvent) {
        // The receiver lives as long as the tasks that call this.
        drop(self.events.send(event).await);
    }

    fn decoder(&self) -> sse::Decoder {
        sse::Decoder::new(self.options.retry.limits(self.options.max_message_bytes))
    }
}
