//! One request, from the caller's side.

use super::drive::{Command, What};
use super::handlers::{Handlers, with_members};
use super::{CallError, CallOptions, Client, ClientError};
use carrick_proto::method::Method;
use carrick_proto::rpc::Json;
use carrick_proto::types::{Progress, RpcError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::{mpsc, oneshot};

/// Hears how far a call is. It must return at once.
pub type ProgressHandler = Arc<dyn Fn(Progress) + Send + Sync>;

/// Numbers calls within the process, so that one can be cancelled before the
/// loop has given it its id on the wire.
static TICKETS: AtomicU64 = AtomicU64::new(0);

/// A number that no other call of this process has.
pub(super) fn ticket() -> u64 {
    TICKETS.fetch_add(1, Ordering::Relaxed)
}

/// The answer to a request.
pub(super) struct Answer {
    pub(super) result: Json,
    /// Whether the server asked for something before it gave it.
    pub(super) asked: bool,
}

/// A request, and as many more as the server's questions lead to.
pub(super) async fn call(
    client: &Client,
    method: &str,
    params: Vec<u8>,
    name: Option<&str>,
    progress: Option<ProgressHandler>,
) -> Result<Answer, ClientError> {
    let mut members = Vec::new();
    let (mut rounds, mut questions, mut refreshed) = (0, 0, false);
    while rounds < Handlers::rounds() {
        let params = match members.is_empty() {
            true => params.clone(),
            false => with_members(&params, &members),
        };
        let what = What::Request { method: method.into(), params, name: name.map(Into::into) };
        match once(&client.commands, client.options, what, progress.clone()).await {
            Err(ClientError::Call(CallError::InputRequired(asked))) => {
                questions += asked.requests.len();
                if questions > Handlers::questions() {
                    let text =
                        format!("the server asked more than {} questions", Handlers::questions());
                    return Err(CallError::Protocol(text).into());
                }
                members = client.handlers.round(&asked).await?;
                rounds += 1;
            }
            // The tool's schema, which says what to mirror, was missing or is old.
            Err(ClientError::Call(CallError::Rpc(error)))
                if error.code == RpcError::HEADER_MISMATCH
                    && method == Method::ToolsCall.name()
                    && !std::mem::replace(&mut refreshed, true) =>
            {
                if let Err(why) = client.relist_tools().await {
                    tracing::debug!(%why, "the tools cannot be listed anew");
                    return Err(CallError::Rpc(error).into());
                }
            }
            result => return result.map(|result| Answer { result, asked: rounds > 0 }),
        }
    }
    let text = format!("the server asked for input {} times", Handlers::rounds());
    Err(CallError::Protocol(text).into())
}

pub(super) async fn once(
    commands: &mpsc::UnboundedSender<Command>,
    options: CallOptions,
    what: What,
    progress: Option<ProgressHandler>,
) -> Result<Json, ClientError> {
    let (reply, answer) = oneshot::channel();
    let ticket = ticket();
    let command = Command::Call { ticket, what, options, progress, reply };
    let gone = || CallError::Closed("the connection has been closed".into());
    commands.send(command).map_err(|_| gone())?;
    // Dropping this future gives the call up.
    let mut guard = CancelOnDrop { commands, ticket: Some(ticket) };
    let result = answer.await.map_err(|_| gone());
    guard.ticket = None;
    Ok(result??)
}

#[cfg(test)]
impl Client {
    /// One request without answering what it leads to.
    pub(crate) async fn once_for_tests(
        &self,
        method: &str,
        params: Vec<u8>,
    ) -> Result<Json, CallError> {
        let what = What::Request { method: method.into(), params, name: None };
        match once(&self.commands, self.options, what, None).await {
            Err(ClientError::Call(error)) => Err(error),
            other => Ok(other.expect("only the server is at fault")),
        }
    }
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
