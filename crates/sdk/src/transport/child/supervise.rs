//! The one task per server: it drains stderr, carries orders and tells what became of the server.

use std::io;

use tokio::{
    io::AsyncReadExt as _,
    sync::{mpsc, watch},
};

use super::{
    pipes::ErrorEnd,
    said::Said,
    status::{ExitStatus, State},
    stderr::Tail,
};

/// An order to whatever holds the server's processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Ask every process of the server to end.
    Terminate,
    /// Kill every process of the server.
    Kill,
}

/// What became of a server.
#[derive(Debug)]
pub(super) enum News {
    /// The server itself has ended.
    Exited(ExitStatus),
    /// No process of it is left.
    Gone,
}

/// A running server, by whatever means it is held.
pub(super) trait Supervised: Send + 'static {
    /// Waits for the next news; nothing is lost when this is dropped and called again. The exit
    /// comes once, and not at all if it cannot be known; then that it is gone.
    fn news(&mut self) -> impl Future<Output = News> + Send;

    /// Does as ordered, without waiting for the effect.
    fn order(&mut self, order: Order) -> impl Future<Output = ()> + Send;

    /// Ends the server without further orders, as nobody holds it any more.
    fn abandon(&mut self) -> impl Future<Output = ()> + Send;
}

/// Supervises until no process of the server is left. The closing of `orders` abandons it.
pub(super) async fn supervise(
    mut server: impl Supervised,
    mut stderr: Stderr,
    mut orders: mpsc::Receiver<Order>,
    state: watch::Sender<State>,
) {
    let mut held = true;
    loop {
        tokio::select! {
            news = server.news() => {
                // All that was written before the exit is there before the exit is known.
                stderr.drain().await;
                match news {
                    News::Exited(status) => state.send_modify(|state| state.exit = Some(status)),
                    News::Gone => break,
                }
            }
            order = orders.recv(), if held => match order {
                Some(order) => server.order(order).await,
                None => {
                    held = false;
                    server.abandon().await;
                }
            },
            () = stderr.read(), if stderr.pipe.is_some() => {}
        }
    }
    state.send_modify(|state| {
        state.exit.get_or_insert(ExitStatus::Unknown);
        state.gone = true;
    });
}

/// The reading side of a server's stderr.
#[derive(Debug)]
pub(super) struct Stderr {
    /// None once the server has closed it.
    pipe: Option<ErrorEnd>,
    tail: Tail,
    said: Said,
    buffer: Vec<u8>,
}

impl Stderr {
    pub(super) fn new(pipe: ErrorEnd, tail: Tail) -> Self {
        Self { pipe: Some(pipe), tail, said: Said::default(), buffer: vec![0; 8 * 1024] }
    }

    /// Waits for output and keeps it.
    async fn read(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let result = pipe.read(&mut self.buffer).await;
        self.keep(result);
    }

    fn keep(&mut self, result: io::Result<usize>) {
        match result {
            Ok(count) if count > 0 => {
                self.tail.push(&self.buffer[..count]);
                self.said.push(&self.buffer[..count]);
            }
            // Neither an end nor an error is followed by more.
            _ => {
                self.said.end();
                self.pipe = None;
            }
        }
    }

    /// Keeps what is there already, up to what a pipe holds, so that a process left behind that
    /// never stops writing is not listened to for ever.
    #[cfg(unix)]
    #[expect(clippy::unused_async, reason = "reading without waiting takes a wait elsewhere")]
    async fn drain(&mut self) {
        // Past the runtime's idea of readiness, which may not have heard of the last bytes yet.
        for _ in 0..16 {
            let Some(pipe) = &self.pipe else { return };
            match nix::unistd::read(pipe, &mut self.buffer) {
                Err(nix::errno::Errno::EAGAIN) => return,
                result => self.keep(result.map_err(io::Error::from)),
            }
        }
    }

    /// Keeps what comes within a moment.
    #[cfg(windows)]
    async fn drain(&mut self) {
        let moment = std::time::Duration::from_millis(50);
        for _ in 0..16 {
            if self.pipe.is_none() || tokio::time::timeout(moment, self.read()).await.is_err() {
                return;
            }
        }
    }
}
