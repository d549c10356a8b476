//! SIGINT (Ctrl-C) and SIGTERM.
//!
//! They are heard by a thread of their own from the start, so that none is lost
//! between two steps of a command. The first lets the command end its servers in
//! order; a second ends `carrick` at once, and its guard ends the servers.

use crate::exit::{Code, Failure};
use std::sync::OnceLock;
use std::{io, process, thread};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// What has told this process to end, once something has.
static TOLD: OnceLock<watch::Sender<Option<SignalKind>>> = OnceLock::new();

/// Hears signals from now on.
pub(crate) fn listen() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    let told = TOLD.get_or_init(|| watch::Sender::new(None));
    let hear = async move {
        let mut next = async || {
            tokio::select! {
                _ = interrupt.recv() => SignalKind::interrupt(),
                _ = terminate.recv() => SignalKind::terminate(),
            }
        };
        told.send_replace(Some(next().await));
        // Whoever says it twice does not want to wait for what is still running.
        let again = next().await;
        process::exit(128 + again.as_raw_value());
    };
    thread::Builder::new().name("signals".into()).spawn(move || runtime.block_on(hear))?;
    Ok(())
}

/// Ready once the process has been told to end; gives the signal.
pub(crate) async fn told() -> SignalKind {
    let Some(told) = TOLD.get() else { return std::future::pending().await };
    let mut told = told.subscribe();
    // The sender is never dropped.
    match told.wait_for(Option::is_some).await.map(|signal| *signal) {
        Ok(Some(signal)) => signal,
        _ => std::future::pending().await,
    }
}

/// Does the work, unless the process is told to end before it is done.
pub(crate) async fn unless_told<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = work => done,
        signal = told() => Err(match signal {
            signal if signal == SignalKind::terminate() => Failure::new(Code::Terminated, "told to end (SIGTERM)"),
            _ => Failure::new(Code::Interrupted, "interrupted"),
        }),
    }
}
