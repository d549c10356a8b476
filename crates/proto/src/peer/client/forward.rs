//! Requests that are passed on for somebody else.

use super::output::lasting;
use super::{CallError, CallOptions, ClientOutput, ClientPeer, Head, Phase};
use crate::method::Method;
use crate::peer::pass::{self, Caller, HopMeta, MetaAt, Reply};
use crate::peer::{Lane, brief};
use crate::revision::{Part, Revision, Untranslatable};
use crate::rpc::{self, Field, Id, Kind, Message};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::time::Duration;

/// A request of somebody else's, to be passed on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Forward {
    /// The request as it came.
    pub message: Message,
    /// The revision that it is written in.
    pub revision: Revision,
    /// What its sender said of itself in the session that the request came in.
    pub caller: Caller,
    /// Members to put in front of its parameters, in the shape of the server's
    /// revision: `"name":value` pairs joined by commas. Default: none.
    pub extra: Vec<u8>,
    /// How long it may take. Whether progress is asked for depends on the
    /// request alone.
    pub options: CallOptions,
}

impl Forward {
    /// A request that came in `revision` from somebody of whom nothing more is known.
    pub fn new(message: Message, revision: Revision) -> Self {
        let (caller, options) = (Caller::default(), CallOptions::default());
        Self { message, revision, caller, extra: Vec::new(), options }
    }
}

impl ClientPeer {
    /// Passes on a request: its parameters in the server's revision, the very
    /// bytes where that is the sender's too, but for the progress token, which
    /// becomes the id that is returned.
    ///
    /// The answer comes as [`ClientOutput::Forwarded`], and what the server says
    /// of the call as [`ClientOutput::Notified`]. What cannot be sent ends in
    /// [`ClientOutput::Resolved`], at once.
    pub fn forward(&mut self, now: Duration, forward: Forward) -> u64 {
        let id = self.take_id();
        if let Err(error) = self.send_forward(now, id, &forward) {
            self.out.push_back(ClientOutput::Resolved(id, Err(error)));
        }
        self.spares.done(forward.message);
        id
    }

    fn send_forward(&mut self, now: Duration, id: u64, forward: &Forward) -> Result<(), CallError> {
        match &self.phase {
            Phase::Ready | Phase::Reopening { .. } => {}
            Phase::Closed { how } => return Err(CallError::Closed(how.clone())),
            _ => return Err(CallError::NotConnected),
        }
        let Forward { message, revision: from, .. } = forward;
        let (from, to) = (*from, self.revision);
        let part = Part::Params(message.method());
        let (params, losses) =
            pass::body_in(message, part, from, to).map_err(|error| match error {
                Untranslatable::Method(method) => CallError::NotOffered(method.name()),
                other => CallError::Params(other.to_string()),
            })?;
        let untouched = message.body_span().is_some_and(|span| {
            params.as_bytes().as_ptr() == message.bytes()[span.range()].as_ptr()
        });
        let at = match untouched {
            true => MetaAt::of_message(message),
            false => MetaAt::of_text(params.as_bytes()),
        };
        if !losses.is_empty() {
            let what = pass::describe(&losses, message.method().name());
            self.out.push_back(ClientOutput::Ignored { what, noise: false });
        }
        let wants_progress = message.field(Field::MetaProgressToken).is_some();
        let hop = HopMeta::new(wants_progress.then_some(id), from, to, &forward.caller);
        let name = message.method_name();
        let len = params.as_bytes().len() + hop.len() + forward.extra.len() + name.len() + 80;
        let mut bytes = self.spares.buffer(len);
        rpc::request_start(&mut bytes, &Id::Number(id as i64), &name);
        hop.write(params.as_bytes(), &at, &forward.extra, &mut bytes);
        bytes.push(b'}');
        let options = CallOptions { progress: wants_progress, ..forward.options };
        self.out.push_back(ClientOutput::Send {
            lane: Lane::Exchange(id),
            bytes,
            head: Head {
                method: message.method(),
                method_name: lasting(message.method(), &name),
                is_request: true,
                id: Some(Id::Number(id as i64)),
                revision: Some(self.revision),
                name: pass::target(message),
            },
        });
        self.await_answer(now, id, message.method(), options, true);
        Ok(())
    }

    /// Passes on a notification, if the server's revision has it.
    pub fn notify(&mut self, message: &Message, from: Revision) {
        let part = Part::Params(message.method());
        let params = match pass::body_in(message, part, from, self.revision) {
            Ok((params, _)) if self.phase == Phase::Ready => params,
            Ok(_) => return,
            Err(error) => {
                let what = format!("a notification cannot be passed on: {error}");
                return self.out.push_back(ClientOutput::Ignored { what, noise: false });
            }
        };
        let name = message.method_name();
        let mut bytes = Vec::with_capacity(params.as_bytes().len() + 80);
        rpc::notification(&mut bytes, &name, params.as_bytes());
        self.push_plain(bytes, message.method(), &name);
    }

    /// The answer to a request that was passed on.
    pub(super) fn forwarded(&mut self, id: u64, method: Method, message: Message) {
        let object = message.kind() == Kind::Error || message.body_bytes().first() == Some(&b'{');
        let reply = Reply::new(message, self.revision).filter(|_| object);
        let broken = |what: &str| ClientOutput::Resolved(id, Err(CallError::Protocol(what.into())));
        let output = match reply {
            Some(reply) if reply.is_input_required() && !method.has_rounds() => {
                broken("a request for input in answer to what has no such answer")
            }
            Some(reply) => ClientOutput::Forwarded(id, reply),
            None => broken("the result is not an object"),
        };
        self.out.push_back(output);
    }

    /// The call that a notification is about: by its progress token, or by the
    /// exchange that it came on.
    fn call_of(&self, lane: Lane, message: &Message) -> Option<u64> {
        let id = match (message.method(), lane) {
            (Method::Progress, _) => {
                self.call_on(lane, message.id_at(Field::ProgressToken).as_ref())
            }
            (_, Lane::Exchange(id)) => Some(id),
            _ => None,
        };
        id.filter(|id| self.pending.contains_key(id))
    }

    /// Hands out a notification as it is.
    pub(super) fn hand_out(&mut self, now: Duration, lane: Lane, message: Message) {
        let call = self.call_of(lane, &message);
        if message.method() == Method::Progress {
            let Some(pending) = call.and_then(|id| self.pending.get_mut(&id)) else {
                let what = format!("progress of no call: {}", brief(message.body_bytes()));
                return self.out.push_back(ClientOutput::Ignored { what, noise: false });
            };
            pending.heard(now);
        }
        self.out.push_back(ClientOutput::Notified { call, message });
    }
}
