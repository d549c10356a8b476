//! What a driver serves.

use super::subscribe::Direct;
use super::{CallInfo, ConnectionInfo, Dispatch, Outbox, Server};
use carrick_proto::http::ParamHeader;
use carrick_proto::peer::{Call, CallKey, Identity};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::Message;
use carrick_proto::text::excerpt;
use carrick_proto::types::LogLevel;
use std::sync::Arc;

/// Something that answers clients: a [`Server`], or what stands in front of
/// others, as a gateway does.
pub trait Service: Send + Sync + 'static {
    /// What it says of itself to a client that connects now.
    fn identity(&self) -> Arc<Identity>;

    /// A conversation begins: a connection (stdio), a session, or one request
    /// that needs none. What it has to say outside of answers goes to `outbox`.
    ///
    /// Several stateless requests may share one `info`.
    fn connect(&self, info: Arc<ConnectionInfo>, outbox: Arc<dyn Outbox>) -> Box<dyn Connection>;

    /// The arguments of a tool that clients mirror into HTTP headers
    /// (`basic/transports`, custom headers from tool parameters); none of a tool
    /// without such or an unknown one.
    fn mirrored(&self, tool: &str) -> Option<Arc<[ParamHeader]>>;
}

/// One conversation with a client; it ends when this is dropped.
pub trait Connection: Send {
    /// A session has been opened; its client can be told what changes from now
    /// on. A request that needs no session opens none.
    fn opened(&mut self, _revision: Revision) {}

    /// Hands a request to what answers it.
    fn call(&mut self, call: Call, info: &CallInfo) -> Dispatch;

    /// Hears from which level on the client of a session wants log messages. The
    /// engine leaves out those below it.
    fn level_set(&mut self, level: LogLevel) {
        let _ = level;
    }

    /// A call has ended without the answer of its handler, which has been
    /// dropped; so ends every `subscriptions/listen` that was agreed to.
    fn cancelled(&mut self, _key: CallKey) {}

    /// Hears of a notification that the engine has no use for itself.
    fn notified(&mut self, message: Message) {
        let name = message.method_name();
        tracing::debug!(method = &*excerpt(&name, 200), "a notification has no effect");
    }
}

impl Service for Server {
    fn identity(&self) -> Arc<Identity> {
        self.inner.identity.clone()
    }

    fn connect(&self, _info: Arc<ConnectionInfo>, outbox: Arc<dyn Outbox>) -> Box<dyn Connection> {
        Box::new(Direct::new(self.clone(), outbox))
    }

    fn mirrored(&self, tool: &str) -> Option<Arc<[ParamHeader]>> {
        self.inner.tools.now().get(tool)?.mirrored().cloned()
    }
}
