//! Connections: taking them, serving them, and ending them in good order.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use crate::open_files;

use super::endpoint::Endpoint;
use super::origin::Socket;
use super::patience::Patience;
use super::watched::Watched;

/// The smallest buffer for a request's head that hyper takes.
const MIN_HEAD: usize = 8 * 1024;

/// Files that are kept for others than connections, at most: otherwise a quarter of all.
const MOST_RESERVED: usize = 1024;

/// The pause after the system ran out of something.
const EXHAUSTED: Duration = Duration::from_millis(200);

/// Serves until the shutdown has begun and the last call has ended.
pub(super) async fn run(
    listener: TcpListener,
    endpoint: Arc<Endpoint>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    let drain = watch::Sender::new(false);
    let served = take_all(&listener, &endpoint, shutdown, &mut connections, &drain).await;
    drop(listener);
    drain.send_replace(true);
    endpoint.sessions.end_streams();
    endpoint.listeners.close();
    endpoint.old.end();
    let ended = async { while connections.join_next().await.is_some() {} };
    if timeout(endpoint.options.grace, ended).await.is_err() {
        tracing::warn!(open = connections.len(), "connections are cut: their calls did not end");
    }
    connections.shutdown().await;
    endpoint.sessions.end_all();
    served
}

async fn take_all(
    listener: &TcpListener,
    endpoint: &Arc<Endpoint>,
    shutdown: impl Future<Output = ()>,
    connections: &mut JoinSet<()>,
    drain: &watch::Sender<bool>,
) -> io::Result<()> {
    let mut shutdown = pin!(shutdown);
    let admitted = admitted(endpoint.options.max_connections, open_files::limit());
    let slots = Arc::new(Semaphore::new(admitted));
    let mut full_was_told = false;
    let mut sweep = interval(endpoint.sessions.sweep_period());
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        if slots.available_permits() == 0 && !std::mem::replace(&mut full_was_told, true) {
            tracing::warn!(admitted, "no more connections are taken until others end");
        }
        let next = async {
            // The semaphore is never closed.
            let slot = Arc::clone(&slots).acquire_owned().await.ok();
            (listener.accept().await, slot)
        };
        tokio::select! {
            () = &mut shutdown => return Ok(()),
            (accepted, slot) = next => match accepted {
                Ok((stream, remote)) => {
                    let socket = Socket::new(remote, stream.local_addr().ok());
                    let serving = connection(stream, socket, Arc::clone(endpoint), drain.subscribe());
                    connections.spawn(async move {
                        serving.await;
                        drop(slot);
                    });
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) if is_exhaustion(&error) => {
                    tracing::warn!(%error, "no connection can be taken for now");
                    sleep(EXHAUSTED).await;
                }
                Err(error) => return Err(error),
            },
            _ = sweep.tick() => endpoint.sessions.sweep(),
            Some(_) = connections.join_next() => {}
        }
    }
}

/// How many connections may be open: each needs a file, and so do children and what is read.
fn admitted(most: usize, open_files: Option<u64>) -> usize {
    let Some(files) = open_files else { return most };
    let files = usize::try_from(files).unwrap_or(usize::MAX);
    let allowed = files - (files / 4).min(MOST_RESERVED);
    if allowed >= most {
        return most;
    }
    let text = "fewer connections than max_connections: this process may not open more files";
    tracing::warn!(connections = allowed, files, "{text} (ulimit -n)");
    allowed
}

async fn connection(
    stream: TcpStream,
    socket: Socket,
    endpoint: Arc<Endpoint>,
    mut drain: watch::Receiver<bool>,
) {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "a connection ended before it began");
        return;
    }
    let options = &endpoint.options;
    let mut patience = Patience::new(options.read_timeout);
    let mut http = http1::Builder::new();
    http.timer(patience.timer())
        .header_read_timeout(options.read_timeout)
        .max_header_size(options.max_head_bytes.max(MIN_HEAD))
        .max_buf_size(options.max_head_bytes.max(MIN_HEAD));
    let service = service_fn(|request| endpoint.answer(request, &socket));
    let stream = Watched::new(stream, options.read_timeout, Arc::clone(&endpoint.budget));
    let mut serving = pin!(http.serve_connection(TokioIo::new(stream), service));
    let mut draining = pin!(draining(&mut drain));
    let mut drained = false;
    let ended = poll_fn(|cx| {
        patience.poll(cx);
        if !drained && draining.as_mut().poll(cx).is_ready() {
            drained = true;
            serving.as_mut().graceful_shutdown();
        }
        serving.as_mut().poll(cx)
    })
    .await;
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke");
    }
}

async fn draining(drain: &mut watch::Receiver<bool>) {
    // The sender lives until every connection has ended.
    drop(drain.wait_for(|drain| *drain).await);
}

/// Errors of accepting that only concern the connection that was not taken.
fn is_of_one_connection(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::Interrupted
    )
}

/// The process or the system has no descriptors or no memory left.
fn is_exhaustion(error: &io::Error) -> bool {
    use nix::errno::Errno;
    error.raw_os_error().map(Errno::from_raw).is_some_and(|errno| {
        matches!(errno, Errno::EMFILE | Errno::ENFILE | Errno::ENOBUFS | Errno::ENOMEM)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f24_connections_leave_files_for_others() {
        assert_eq!(admitted(4096, None), 4096);
        assert_eq!(admitted(4096, Some(1024)), 768);
        assert_eq!(admitted(4096, Some(5120)), 4096);
        assert_eq!(admitted(4096, Some(5000)), 3976);
        assert_eq!(admitted(4096, Some(u64::MAX)), 4096);
        assert_eq!(admitted(100, Some(1024)), 100);
    }
}
