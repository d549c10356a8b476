//! What the engine asks its driver to do.

use super::{CallError, ServerDescription};
use crate::method::Method;
use crate::peer::{Changed, Lane, Reply};
use crate::revision::Revision;
use crate::rpc::{Field, Id, Json, Message};
use crate::types::{Progress, SubscriptionFilter};
use alloc::borrow::{Cow, ToOwned as _};
use alloc::string::String;
use alloc::vec::Vec;
use bytes::Bytes;
use core::fmt;
use core::ops::Deref;

/// What a transport needs to know of a message to send, besides its bytes.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Head {
    /// The method; [`Method::Unknown`] for responses.
    pub method: Method,
    /// The method's name on the wire; empty for responses.
    pub method_name: Cow<'static, str>,
    /// Whether an answer is expected on the lane.
    pub is_request: bool,
    /// The id of a request; none of any other message.
    pub id: Option<Id>,
    /// The revision of the message; none for `initialize`, which negotiates it.
    pub revision: Option<Revision>,
    /// The tool, prompt or URI that `Mcp-Name` mirrors.
    pub name: Option<Name>,
}

/// What a request is about. Where that stood in a message which is passed on, it
/// is a slice of that message's bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Name(Bytes);

impl Name {
    /// Such a member of a message when it is a string, escapes resolved.
    pub(in crate::peer) fn of(message: &Message, field: Field) -> Option<Self> {
        let name = match message.text(field)? {
            Cow::Borrowed(text) => message.bytes().slice_ref(text.as_bytes()),
            Cow::Owned(text) => text.into(),
        };
        Some(Self(name))
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Self(Bytes::copy_from_slice(name.as_bytes()))
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        // All that a name is made of was text before.
        core::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

/// The name of a method, which only those that the protocol does not know have to be kept.
pub(super) fn lasting(method: Method, name: &str) -> Cow<'static, str> {
    match method {
        Method::Unknown => name.to_owned().into(),
        known => known.name().into(),
    }
}

/// What the driver has to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum ClientOutput {
    /// Send this message.
    Send {
        /// Which exchange to open; the connection itself over stdio.
        lane: Lane,
        /// The message, without a line end.
        bytes: Vec<u8>,
        /// What it is.
        head: Head,
    },
    /// An exchange is no longer wanted: over HTTP, close its stream.
    Abandon(Lane),
    /// The connection is open.
    Ready(ServerDescription),
    /// It cannot be opened.
    Failed(CallError),
    /// A call has ended. The result is in the newest revision's shape.
    Resolved(u64, Result<Json, CallError>),
    /// A request that was passed on is answered, in the server's own words.
    Forwarded(u64, Reply),
    /// With [`super::ClientConfig::forwarding`]: a notification as it came.
    Notified {
        /// The call that it is about, where that is known.
        call: Option<u64>,
        /// The notification.
        message: Message,
    },
    /// With [`super::ClientConfig::forwarding`]: a request of the server's own
    /// as it came; answer it by [`super::ClientPeer::pass_answer`].
    Asked {
        /// The call that it is about, where that is known.
        call: Option<u64>,
        /// The request.
        message: Message,
    },
    /// A call has come further.
    Progress(u64, Progress),
    /// The server asks something of its own; answer it by
    /// [`super::ClientPeer::respond`]. Only what the capabilities offer.
    Request {
        /// What to answer it by.
        id: Id,
        /// What is asked.
        method: Method,
        /// With what, in the newest revision's shape.
        params: Json,
    },
    /// The server no longer wants an answer.
    RequestCancelled(Id),
    /// The server logs something: `params` of `notifications/message`.
    Log(Json),
    /// The server will tell of these changes from now on.
    Listening {
        /// What it has agreed to tell of.
        agreed: SubscriptionFilter,
        /// Whether nothing was listened to until now, so that any of it may have
        /// changed unheard.
        unheard: bool,
    },
    /// The session was lost, and there is a new one with a server that says this
    /// of itself.
    Reopened(ServerDescription),
    /// The connection is over, as the engine has found out; the text says how.
    /// Told before the calls that end by it.
    Gone(String),
    /// A list, or a resource, has changed.
    Changed(Changed),
    /// Something came that is no message, or one with no effect.
    Ignored {
        /// What it was, bounded.
        what: String,
        /// Whether it was not a message at all, as a print on stdout is.
        noise: bool,
    },
    /// A part of an answer cannot be used and was left out: what, and why.
    Warning(String),
}
