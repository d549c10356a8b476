//! The engines alone, without transports and drivers: what a gateway cannot save.

use std::hint::black_box;
use std::time::Duration;

use bytes::Bytes;
use carrick_proto::peer::{
    Caller, ClientConfig, ClientOutput, ClientPeer, Era, Forward, Identity, Lane, Outcome,
    ServerOutput, ServerPeer,
};
use carrick_proto::revision::Revision;
use carrick_proto::rpc::{self, Limits};
use carrick_proto::types::{Implementation, ServerCapabilities};

use crate::Result;
use crate::programs::Work;
use micro::messages::{MODERN, answer, echo, has_session, opening};

const NOW: Duration = Duration::ZERO;

/// Reads the envelope of a call.
pub(crate) fn scan(work: Work<'_>) -> Result<()> {
    let call = received(echo(MODERN, work.text).into());
    for _ in 0..work.calls {
        black_box(rpc::scan(call.clone(), Limits::default()).map_err(|error| error.to_string())?);
    }
    Ok(())
}

/// Passes calls on from a client of one revision to a server of another, and the answers back.
pub(crate) fn pass(from: Revision, to: Revision, work: Work<'_>) -> Result<()> {
    let mut between = Between::open(from, to)?;
    let call = received(echo(from, work.text).into());
    (0..work.calls).try_for_each(|_| between.call(call.clone()))
}

/// As a transport hands it on: a slice of a buffer that others may share.
fn received(bytes: Vec<u8>) -> Bytes {
    let bytes = Bytes::from(bytes);
    drop(bytes.clone());
    bytes
}

/// A gateway's two engines.
struct Between {
    front: ServerPeer,
    back: ClientPeer,
    /// What the server behind them speaks.
    to: Revision,
}

impl Between {
    fn open(from: Revision, to: Revision) -> Result<Self> {
        let info = Implementation::new("gateway", "1");
        let identity = Identity::new(&info, &ServerCapabilities::default(), None)?;
        let front = ServerPeer::new(identity.into(), Limits::default());
        let mut config = ClientConfig::new(info);
        config.forwarding = true;
        let mut between = Self { front, back: ClientPeer::new(config), to };
        for message in opening(from) {
            between.front.handle_input(Lane::Connection, Bytes::from(message));
        }
        while between.front.poll_output().is_some() {}
        let era = if has_session(to) { Era::Legacy } else { Era::Modern };
        between.back.connect(NOW, Some(era));
        while let Some(output) = between.back.poll_output() {
            if let ClientOutput::Send { bytes, .. } = output {
                between.answer(&bytes);
            }
        }
        Ok(between)
    }

    fn call(&mut self, call: Bytes) -> Result<()> {
        self.front.handle_input(Lane::Connection, call);
        let Some(ServerOutput::Call(call)) = self.front.poll_output() else {
            return Err("the call was not handed out".into());
        };
        let key = call.key;
        let mut forward = Forward::new(call.message, call.revision);
        forward.caller = Caller::default();
        forward.caller.info = call.client_info;
        forward.caller.capabilities = call.client_capabilities;
        self.back.forward(NOW, forward);
        let Some(ClientOutput::Send { bytes, .. }) = self.back.poll_output() else {
            return Err("the call was not passed on".into());
        };
        self.answer(&bytes);
        // As from a transport that has written it.
        self.back.reuse(bytes);
        let Some(ClientOutput::Forwarded(_, reply)) = self.back.poll_output() else {
            return Err("the answer was not handed out".into());
        };
        self.front.respond(key, Outcome::Forwarded(reply));
        match self.front.poll_output() {
            Some(ServerOutput::Send { bytes, error: None, .. }) => {
                self.front.reuse(black_box(bytes));
            }
            other => return Err(format!("the answer was not passed on: {other:?}").into()),
        }
        Ok(())
    }

    /// Answers for the server, which allocates at nobody's expense.
    fn answer(&mut self, message: &[u8]) {
        let mut answered = Bytes::new();
        allocation_counter::opt_out(|| {
            let mut out = Vec::new();
            answer(self.to, message, &mut out);
            answered = received(out);
        });
        if !answered.is_empty() {
            self.back.handle_input(NOW, Lane::Connection, answered);
        }
    }
}
