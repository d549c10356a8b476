//! One conversation with a client.

use super::bridge;
use super::forward::{Forwarding, Route};
use super::subscriptions::Subscriptions;
use crate::backend::{Backend, Level, Owner, Session};
use carrick::client::Caller;
use carrick::proto::method::Method;
use carrick::proto::peer::{Call, CallKey, Outcome};
use carrick::proto::revision::{Part, Revision, translate};
use carrick::proto::rpc::{Field, Json, Limits, Message};
use carrick::server::{CallInfo, Connection, ConnectionInfo, Dispatch, Outbox};
use carrick::types::{LogLevel, RpcError};
use std::borrow::Cow;
use std::sync::Arc;

pub(super) struct Downstream {
    backend: Arc<Backend>,
    outbox: Arc<dyn Outbox>,
    /// Whose its connections to the server are; none of a request that nothing
    /// ties to others.
    owner: Option<Owner>,
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

impl Downstream {
    pub(super) fn new(
        backend: Arc<Backend>,
        info: &ConnectionInfo,
        outbox: Arc<dyn Outbox>,
    ) -> Self {
        let owner = if info.is_stateless_request() {
            info.principal().cloned().map(Owner::Principal)
        } else {
            Some(Owner::downstream())
        };
        Self {
            subscriptions: Subscriptions::new(backend.clone()),
            backend,
            outbox,
            owner,
            revision: None,
            session: None,
            level: None,
            caller: None,
            listening: None,
        }
    }

    fn listen(&mut self) {
        if self.listening.is_none() {
            self.listening = Some(self.backend.listen(&self.outbox, self.owner.as_ref()));
        }
    }

    /// What a client is told while the server has not been there yet: lists are
    /// empty until they change.
    fn while_starting(&mut self, call: &Call) -> Dispatch {
        let list = match call.message.method() {
            Method::ToolsList => "tools",
            Method::PromptsList => "prompts",
            Method::ResourcesList => "resources",
            Method::ResourcesTemplatesList => "resourceTemplates",
            Method::SubscriptionsListen => {
                self.listen();
                return self.subscriptions.listen(&self.outbox, None, call);
            }
            _ => {
                let text =
                    format!("server {:?} is still starting; try again later", self.backend.name());
                return Dispatch::Ready(Outcome::Error(RpcError::overloaded(text)));
            }
        };
        let body = format!("{{\"{list}\":[],\"ttlMs\":0,\"cacheScope\":\"private\"}}");
        Dispatch::Ready(Outcome::Result { body: body.into_bytes(), has_meta: false })
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
    fn session(&mut self, call: &Call) -> Result<Arc<Session>, RpcError> {
        if let Some(session) = &self.session {
            return Ok(session.clone());
        }
        let session = self.backend.session(&self.outbox, call)?;
        if let Some(level) = self.level {
            session.set_level(level);
        }
        self.session = Some(session.clone());
        Ok(session)
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
        caller.log = call.log.filter(|_| self.backend.logs());
        caller
    }
}

impl Connection for Downstream {
    fn opened(&mut self, revision: Revision) {
        self.revision = Some(revision);
        if self.backend.is_stateless() || !self.backend.is_ready() {
            self.listen();
        }
    }

    fn call(&mut self, call: Call, info: &CallInfo) -> Dispatch {
        if !self.backend.is_ready() {
            return self.while_starting(&call);
        }
        let in_session = call.revision.rules().server_requests;
        let stateless = self.backend.is_stateless();
        match call.message.method() {
            Method::SubscriptionsListen => {
                self.listen();
                let own = self.owner.as_ref().filter(|_| !stateless);
                return self.subscriptions.listen(&self.outbox, own, &call);
            }
            method @ (Method::ResourcesSubscribe | Method::ResourcesUnsubscribe) if stateless => {
                return self.subscribe(&call, method == Method::ResourcesSubscribe);
            }
            _ => {}
        }
        if stateless {
            let caller = in_session.then(|| self.caller(&call));
            let route = Route::Shared(self.backend.first().clone());
            return Forwarding::start(&self.backend, &self.outbox, route, call, caller);
        }
        if !in_session {
            let (owner, principal) = (self.owner.as_ref(), info.principal());
            return bridge::take(&self.backend, &self.outbox, owner, call, principal);
        }
        match self.session(&call) {
            Ok(session) => {
                let route = Route::Session(session);
                Forwarding::start(&self.backend, &self.outbox, route, call, None)
            }
            Err(error) => Dispatch::Ready(Outcome::Error(error)),
        }
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
        match session.and_then(|(s, revision)| Some((s.line.now(Level::Any)?, revision))) {
            Some((client, revision)) => client.notify(message, revision),
            None => {
                let name = message.method_name();
                let brief = carrick::proto::text::excerpt(&name, 200);
                tracing::debug!(method = &*brief, "a notification has nobody to be told to");
            }
        }
    }
}

impl Drop for Downstream {
    fn drop(&mut self) {
        if let Some(number) = self.listening {
            self.backend.stop_listening(number);
        }
        if let Some(session) = self.session.take() {
            self.backend.end_session(&session);
        }
        if let Some(owner @ Owner::Downstream(_)) = &self.owner {
            self.backend.end_owner(owner);
        }
    }
}
