//! One conversation with a client.

use crate::bridge;
use crate::call::{Passing, Route};
use crate::gateway::Inner;
use crate::session::Session;
use crate::watch::Subscriptions;
use carrick::client::Caller;
use carrick::proto::method::Method;
use carrick::proto::peer::{Call, CallKey, Outcome};
use carrick::proto::revision::{Part, Revision, translate};
use carrick::proto::rpc::{Field, Json, Limits, Message};
use carrick::server::{CallInfo, Connection, Dispatch, Outbox};
use carrick::types::{LogLevel, RpcError};
use std::borrow::Cow;
use std::sync::Arc;

pub(crate) struct Front {
    gateway: Arc<Inner>,
    outbox: Arc<dyn Outbox>,
    /// The revision of its session, if it has one.
    revision: Option<Revision>,
    /// The session at the server, once one was needed.
    session: Option<Arc<Session>>,
    /// The level that the client has set, once it has.
    level: Option<LogLevel>,
    /// What the client of the session said of itself, for a server to which each
    /// request says it.
    caller: Option<Caller>,
    /// Its number among those who hear of changes.
    listening: Option<u64>,
    subscriptions: Subscriptions,
}

impl Front {
    pub(crate) fn new(gateway: Arc<Inner>, outbox: Arc<dyn Outbox>) -> Self {
        Self {
            subscriptions: Subscriptions::new(gateway.clone()),
            gateway,
            outbox,
            revision: None,
            session: None,
            level: None,
            caller: None,
            listening: None,
        }
    }

    fn listen(&mut self) {
        if self.listening.is_none() {
            self.listening = Some(self.gateway.listen(&self.outbox));
        }
    }

    /// A subscription of a session, at a server that has none.
    fn subscribe(&mut self, call: &Call, begins: bool) -> Dispatch {
        let Some(uri) = call.message.text(Field::Uri).map(Cow::into_owned) else {
            let error = RpcError::invalid_params("params.uri must be a string");
            return Dispatch::Ready(Outcome::Error(error));
        };
        if !begins {
            return Dispatch::Ready(self.subscriptions.unsubscribe(&uri));
        }
        self.subscriptions.subscribe(&self.outbox, call, uri)
    }

    /// The session at the server that belongs to the client's.
    fn session(&mut self, call: &Call) -> Arc<Session> {
        let session = self.session.get_or_insert_with(|| {
            let session = self.gateway.session(&self.outbox, call);
            if let Some(level) = self.level {
                session.set_level(level);
            }
            session
        });
        session.clone()
    }

    /// What a session's client said of itself, as the server is told it.
    fn caller(&mut self, call: &Call) -> Caller {
        let caller = self.caller.get_or_insert_with(|| {
            let capabilities = call.client_capabilities.as_deref().and_then(|text| {
                let bytes = bytes::Bytes::copy_from_slice(text.as_bytes());
                let json = Json::parse(bytes, Limits::default()).ok()?;
                let part = Part::ClientCapabilities;
                let (json, _) = translate(json, part, call.revision, Revision::NEWEST).ok()?;
                Some(String::from_utf8_lossy(json.as_bytes()).into())
            });
            let mut caller = Caller::default();
            caller.info = call.client_info.clone();
            caller.capabilities = capabilities;
            caller
        });
        let mut caller = caller.clone();
        caller.log = call.log.filter(|_| self.gateway.logs());
        caller
    }
}

impl Connection for Front {
    fn opened(&mut self, revision: Revision) {
        self.revision = Some(revision);
        if self.gateway.is_stateless() {
            self.listen();
        }
    }

    fn call(&mut self, call: Call, info: &CallInfo) -> Dispatch {
        let in_session = call.revision.rules().server_requests;
        let stateless = self.gateway.is_stateless();
        match call.message.method() {
            Method::SubscriptionsListen => {
                self.listen();
                return self.subscriptions.listen(&self.outbox, &call);
            }
            method @ (Method::ResourcesSubscribe | Method::ResourcesUnsubscribe) if stateless => {
                return self.subscribe(&call, method == Method::ResourcesSubscribe);
            }
            _ => {}
        }
        if stateless {
            let caller = in_session.then(|| self.caller(&call));
            let route = Route::Shared(self.gateway.main.clone());
            return Passing::start(&self.gateway, &self.outbox, route, call, caller);
        }
        if in_session {
            let route = Route::Session(self.session(&call));
            return Passing::start(&self.gateway, &self.outbox, route, call, None);
        }
        bridge::take(&self.gateway, &self.outbox, call, info.principal())
    }

    fn level_set(&mut self, level: LogLevel) {
        self.level = Some(level);
        if let Some(session) = &self.session {
            session.set_level(level);
        }
    }

    fn cancelled(&mut self, key: CallKey) {
        self.subscriptions.ended(key);
    }

    fn notified(&mut self, message: Message) {
        let known = matches!(
            message.method(),
            Method::RootsListChanged | Method::Progress | Method::Unknown
        );
        // Only what belongs to a session has somebody to be told to.
        let session = self.session.as_ref().zip(self.revision).filter(|_| known);
        match session
            .and_then(|(s, revision)| Some((s.line.now(crate::line::Level::Any)?, revision)))
        {
            Some((client, revision)) => client.notify(message, revision),
            None => {
                let name = message.method_name();
                let brief = &name[..name.floor_char_boundary(200)];
                tracing::debug!(method = brief, "a notification has nobody to be told to");
            }
        }
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        if let Some(number) = self.listening {
            self.gateway.stop_listening(number);
        }
        if let Some(session) = self.session.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn(async move { session.line.close().await });
        }
    }
}
