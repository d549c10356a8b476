//! Hearing of changes: `subscriptions/listen` (`basic/patterns/subscriptions`),
//! or in sessions `resources/subscribe`.
//!
//! One stream carries all that is wanted. When that changes a new one is
//! opened, and the old one closed a little after the new one is acknowledged, so
//! that nothing is missed in between: what happened before the server knew of
//! the new one may be told late. A stream that ends is opened again.

use super::{CallError, CallOptions, ClientOutput, ClientPeer, Phase, number};
use crate::method::Method;
use crate::revision::method_row;
use crate::rpc::{self, Field, Json, Message};
use crate::types::{RpcError, ServerCapabilities, SubscriptionFilter};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use bytes::Bytes;
use core::time::Duration;

/// How long a server may take to acknowledge a stream.
const ACKNOWLEDGE: Duration = Duration::from_secs(30);
/// The wait before a stream that ended is opened again; doubles each time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Streams in a row that came to nothing before listening is given up.
const TRIES: u32 = 10;
/// How long a stream is still listened to after another has taken its place.
const OVERLAP: Duration = Duration::from_secs(2);
/// Such streams at a time.
const MOST_PAST: usize = 4;
/// A stream that lived this long came to something.
const HEALTHY: Duration = Duration::from_secs(10);

/// What is listened to, and what is wanted.
#[derive(Default)]
pub(super) struct Subscriptions {
    /// Whether the server tells of changes of single resources.
    offered: bool,
    /// The lists whose changes it tells of.
    lists: SubscriptionFilter,
    /// The resources whose changes are wanted.
    uris: BTreeSet<String>,
    /// The stream that is acknowledged.
    open: Option<Stream>,
    /// The stream that is to take its place.
    next: Option<u64>,
    /// Those whose place it took, oldest first, and when they are closed.
    past: Vec<(u64, Duration)>,
    /// Callers who wait for a stream that has their URI.
    waiting: Vec<(u64, String)>,
    /// In sessions: calls after which a URI is wanted, or no longer.
    changing: BTreeMap<u64, (String, bool)>,
    retry_at: Option<Duration>,
    tries: u32,
}

struct Stream {
    id: u64,
    since: Duration,
    /// Whether anything came on it.
    heard: bool,
}

impl Subscriptions {
    /// When there is next something to do.
    pub(super) fn due(&self) -> Option<Duration> {
        self.past.iter().map(|(_, until)| *until).chain(self.retry_at).min()
    }

    fn is_past(&self, id: u64) -> bool {
        self.past.iter().any(|(past, _)| *past == id)
    }

    fn wants_any(&self) -> bool {
        self.lists != SubscriptionFilter::default() || !self.uris.is_empty()
    }

    /// The parameters of a stream of all that is wanted.
    fn params(&self) -> Vec<u8> {
        let uris = self.uris.iter().cloned().collect();
        let filter = SubscriptionFilter { resource_subscriptions: uris, ..self.lists.clone() };
        let mut params = b"{\"notifications\":".to_vec();
        // Writing texts and truth values cannot fail.
        params.extend(serde_json::to_vec(&filter).unwrap_or_else(|_| b"{}".to_vec()));
        params.push(b'}');
        params
    }

    fn wait(&self, spread: u8) -> Duration {
        let doubled = FIRST_WAIT.saturating_mul(1 << self.tries.min(16));
        let wait = doubled.min(LONGEST_WAIT);
        wait + wait / 1024 * u32::from(spread)
    }
}

impl ClientPeer {
    /// Asks to be told of changes of a resource, as [`ClientOutput::Changed`].
    /// [`ClientOutput::Resolved`] tells when the server has agreed, by the key
    /// that is returned, or why it has not. It holds until
    /// [`ClientPeer::unsubscribe`], whatever becomes of single streams or sessions.
    pub fn subscribe(&mut self, now: Duration, uri: &str, options: CallOptions) -> u64 {
        if self.is_open() && !self.subscriptions.offered {
            return self.resolved(Err(CallError::NotOffered("subscriptions to resources")));
        }
        if !self.has(Method::SubscriptionsListen) || !self.is_open() {
            return self.change_session(now, Method::ResourcesSubscribe, uri, options);
        }
        let added = self.subscriptions.uris.insert(uri.into());
        if !added && self.subscriptions.next.is_none() && self.subscriptions.open.is_some() {
            return self.resolved(Ok(nothing()));
        }
        let key = self.take_id();
        self.subscriptions.waiting.push((key, uri.into()));
        self.subscriptions.tries = 0;
        self.listen(now);
        key
    }

    /// The opposite of [`ClientPeer::subscribe`].
    pub fn unsubscribe(&mut self, now: Duration, uri: &str, options: CallOptions) -> u64 {
        if !self.has(Method::SubscriptionsListen) || !self.is_open() {
            return self.change_session(now, Method::ResourcesUnsubscribe, uri, options);
        }
        if self.subscriptions.uris.remove(uri) {
            self.listen(now);
        }
        self.resolved(Ok(nothing()))
    }

    /// Takes over what the server offers, and listens to it.
    pub(super) fn start_listening(&mut self, now: Duration, server: &ServerCapabilities) {
        let resources = server.resources.as_ref();
        self.logs = server.logging.is_some();
        self.subscriptions = Subscriptions {
            offered: resources.is_some_and(|resources| resources.subscribe),
            ..Subscriptions::default()
        };
        if !self.has(Method::SubscriptionsListen) || !self.config.listen {
            return;
        }
        let lists = &mut self.subscriptions.lists;
        lists.tools_list_changed = server.tools.as_ref().is_some_and(|list| list.list_changed);
        lists.prompts_list_changed = server.prompts.as_ref().is_some_and(|list| list.list_changed);
        lists.resources_list_changed = resources.is_some_and(|list| list.list_changed);
        if self.subscriptions.wants_any() {
            self.listen(now);
        }
    }

    /// Whether this is a request that stays open to hear of changes.
    pub(super) fn is_listen(&self, id: u64) -> bool {
        let open = self.subscriptions.open.as_ref();
        self.subscriptions.next == Some(id)
            || open.is_some_and(|stream| stream.id == id)
            || self.subscriptions.is_past(id)
    }

    /// Opens the stream again, and closes those of the past, when it is time.
    pub(super) fn listen_if_due(&mut self, now: Duration) {
        while self.subscriptions.past.first().is_some_and(|(_, until)| *until <= now) {
            self.close_oldest();
        }
        if self.subscriptions.retry_at.is_some_and(|at| at <= now) {
            self.listen(now);
        }
    }

    /// The server has agreed to a stream.
    pub(super) fn acknowledged(
        &mut self,
        now: Duration,
        message: &Message,
    ) -> Option<ClientOutput> {
        #[derive(serde::Deserialize)]
        struct Body {
            notifications: SubscriptionFilter,
        }
        let id = number(message.id_at(Field::MetaSubscriptionId).as_ref())?;
        let next = self.subscriptions.next.take_if(|next| *next == id)?;
        // What it does not say it has not agreed to.
        let body = serde_json::from_slice(message.body_bytes());
        let agreed = body.map(|Body { notifications }| notifications).unwrap_or_default();
        if let Some(call) = self.pending.get_mut(&next) {
            // It stays open for as long as there is something to hear.
            (call.deadline, call.last) = (Duration::MAX, Duration::MAX);
        }
        let stream = Stream { id: next, since: now, heard: false };
        let old = self.subscriptions.open.replace(stream);
        let unheard = old.is_none();
        if let Some(old) = old {
            let until = now.saturating_add(OVERLAP);
            self.subscriptions.past.push((old.id, until));
            self.wake = earliest(self.wake, Some(until));
            if self.subscriptions.past.len() > MOST_PAST {
                self.close_oldest();
            }
        }
        for (key, uri) in core::mem::take(&mut self.subscriptions.waiting) {
            let answer = if agreed.resource_subscriptions.contains(&uri) {
                Ok(nothing())
            } else {
                self.subscriptions.uris.remove(&uri);
                Err(CallError::NotOffered("a subscription to this resource"))
            };
            self.out.push_back(ClientOutput::Resolved(key, answer));
        }
        Some(ClientOutput::Listening { agreed, unheard })
    }

    /// A stream has ended: in good order when there is no error.
    pub(super) fn listen_ended(&mut self, now: Duration, id: u64, error: Option<CallError>) {
        let subscriptions = &mut self.subscriptions;
        if subscriptions.is_past(id) {
            return subscriptions.past.retain(|(past, _)| *past != id);
        }
        let error =
            error.unwrap_or_else(|| CallError::Closed("the server ended the stream".into()));
        if subscriptions.next.take_if(|next| *next == id).is_some() {
            if matches!(&error, CallError::Rpc(e) if e.code == RpcError::METHOD_NOT_FOUND) {
                subscriptions.tries = TRIES;
            }
            for (key, uri) in core::mem::take(&mut subscriptions.waiting) {
                subscriptions.uris.remove(&uri);
                self.out.push_back(ClientOutput::Resolved(key, Err(error.clone())));
            }
        } else if let Some(open) = subscriptions.open.take_if(|open| open.id == id)
            && (open.heard || now.saturating_sub(open.since) >= HEALTHY)
        {
            subscriptions.tries = 0;
        }
        if subscriptions.next.is_some()
            || subscriptions.open.is_some()
            || !subscriptions.wants_any()
        {
            return;
        }
        let (what, again) = match subscriptions.tries < TRIES {
            true => ("is opened again", Some(subscriptions.wait(self.config.spread))),
            false => ("is given up", None),
        };
        subscriptions.tries = subscriptions.tries.saturating_add(1);
        subscriptions.retry_at = again.map(|wait| now.saturating_add(wait));
        self.wake = earliest(self.wake, subscriptions.retry_at);
        let what = format!("the stream of changes {what}: {error}");
        self.out.push_back(ClientOutput::Ignored { what, noise: false });
    }

    /// Whether a notification of a change is one for this client: where one
    /// channel has many streams, it names its own.
    pub(super) fn is_for_us(&mut self, message: &Message) -> bool {
        if !self.has(Method::SubscriptionsListen) {
            return true;
        }
        let Some(id) = message.id_at(Field::MetaSubscriptionId) else { return true };
        match (number(Some(&id)), &mut self.subscriptions.open) {
            (Some(id), Some(open)) if open.id == id => {
                open.heard = true;
                true
            }
            (Some(id), _) => self.subscriptions.is_past(id),
            (None, _) => false,
        }
    }

    /// In sessions: what a call's success changes.
    pub(super) fn session_changed(&mut self, id: u64, success: bool) {
        match self.subscriptions.changing.remove(&id) {
            Some((uri, true)) if success => {
                self.subscriptions.uris.insert(uri);
            }
            Some((uri, false)) if success => {
                self.subscriptions.uris.remove(&uri);
            }
            _ => {}
        }
    }

    /// Asks for everything again, in a new session.
    pub(super) fn subscribe_again(&mut self, now: Duration) {
        for uri in core::mem::take(&mut self.subscriptions.uris) {
            let options = CallOptions { progress: false, ..CallOptions::default() };
            self.change_session(now, Method::ResourcesSubscribe, &uri, options);
        }
    }

    /// Gives up waiting; what was asked for stays asked for.
    pub(super) fn stop_waiting(&mut self, key: u64) {
        self.subscriptions.waiting.retain(|(waiting, _)| *waiting != key);
    }

    /// Ends it all with the connection.
    pub(super) fn stop_listening(&mut self, how: &str) {
        let Subscriptions { open, next, past, waiting, .. } =
            core::mem::take(&mut self.subscriptions);
        let past = past.into_iter().map(|(id, _)| id);
        for id in open.map(|open| open.id).into_iter().chain(next).chain(past) {
            self.pending.remove(&id);
        }
        for (key, _) in waiting {
            let error = CallError::Closed(how.into());
            self.out.push_back(ClientOutput::Resolved(key, Err(error)));
        }
    }

    fn close_oldest(&mut self) {
        let (id, _) = self.subscriptions.past.remove(0);
        self.cancel(id, "another stream has taken its place");
    }

    /// Opens a stream of all that is wanted now, or closes the one there is.
    fn listen(&mut self, now: Duration) {
        self.subscriptions.retry_at = None;
        if let Some(superseded) = self.subscriptions.next.take() {
            self.cancel(superseded, "another stream takes its place");
        }
        if !self.subscriptions.wants_any() {
            if let Some(open) = self.subscriptions.open.take() {
                self.cancel(open.id, "nothing is to be heard any more");
            }
            return;
        }
        let params = self.subscriptions.params();
        let options = CallOptions {
            timeout: ACKNOWLEDGE,
            reset_on_progress: false,
            progress: false,
            ..CallOptions::default()
        };
        self.subscriptions.next = Some(self.next_id);
        self.send_request(now, Method::SubscriptionsListen.name(), &params, None, options);
    }

    fn change_session(
        &mut self,
        now: Duration,
        method: Method,
        uri: &str,
        options: CallOptions,
    ) -> u64 {
        let mut params = b"{\"uri\":\"".to_vec();
        rpc::push_escaped(&mut params, uri);
        params.extend_from_slice(b"\"}");
        let id = self.call(now, method.name(), &params, None, options);
        if self.pending.contains_key(&id) {
            let on = method == Method::ResourcesSubscribe;
            self.subscriptions.changing.insert(id, (uri.to_string(), on));
        }
        id
    }

    pub(super) fn resolved(&mut self, answer: Result<Json, CallError>) -> u64 {
        let key = self.take_id();
        self.out.push_back(ClientOutput::Resolved(key, answer));
        key
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Ready | Phase::Reopening { .. })
    }

    pub(super) fn has(&self, method: Method) -> bool {
        method_row(method).is_some_and(|row| row.exists_in(self.revision))
    }
}

/// The result of what has nothing to say.
pub(super) fn nothing() -> Json {
    Json::scanned(Bytes::from_static(b"{}"))
}

/// The earlier of two times, where there are any.
pub(super) fn earliest(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}
