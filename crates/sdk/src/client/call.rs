//! One request, from the caller's side.

use super::drive::Command;
use super::{CallError, CallOptions, ClientError};
use carrick_proto::rpc::Json;
use carrick_proto::types::Progress;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// Hears how far a call is. It must return at once.
pub type ProgressHandler = Arc<dyn Fn(Progress) + Send + Sync>;

/// Numbers calls within the process, so that one can be cancelled before the
/// loop has given it its id on the wire.
static TICKETS: AtomicU64 = AtomicU64::new(0);

pub(super) async fn call(
    commands: &mpsc::UnboundedSender<Command>,
    options: CallOptions,
    method: &str,
    params: Vec<u8>,
    name: Option<&str>,
    progress: Option<ProgressHandler>,
) -> Result<Json, ClientError> {
    let (reply, answer) = oneshot::channel();
    let ticket = TICKETS.fetch_add(1, Ordering::Relaxed);
    let command = Command::Call {
        ticket,
        method: method.into(),
        params,
        name: name.map(Into::into),
        options,
        progress,
        reply,
    };
    let gone = || CallError::Closed("the connection has been closed".into());
    commands.send(command).map_err(|_| gone())?;
    // Dropping this future gives the call up.
    let mut guard = CancelOnDrop { commands, ticket: Some(ticket) };
    let result = answer.await.map_err(|_| gone());
    guard.ticket = None;
    Ok(result??)
}

struct CancelOnDrop<'a> {
    commands: &'a mpsc::UnboundedSender<Command>,
    ticket: Option<u64>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            // Without a loop there is nothing left to cancel.
            let _ = self.commands.send(Command::Cancel(ticket));
        }
    }
}
