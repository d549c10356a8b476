//! A server as a supervised child process.
//!
//! [`spawn`] starts a [`Command`] and gives a [`Child`]: its stdin and stdout, and the [`Process`],
//! which knows how it ended, holds the last of its stderr and ends it, with every process that it
//! has started.
//!
//! # No process outlives this one
//!
//! On Linux a server runs under a *guard*: this program executed again, as the server's parent and
//! out of the way of its data. The guard ends the server and everything below it, daemons included,
//! when the [`Process`] is dropped and when this process is gone, `kill -9` included. An
//! application opts in with a call of [`guard_main`] at the very top of its `main`:
//!
//! ```no_run
//! // fn main() {
//! carrick::transport::child::guard_main();
//! // … everything else
//! // }
//! ```
//!
//! A server can kill or stop its guard, being of the same user. A stopped one is continued, and its
//! server ended if that happens again; where it was killed, what is still in its session is ended,
//! and after [`adopt_orphans`] all that the server has left.
//!
//! Without a call of [`guard_main`], and on systems other than Linux, the server is a plain child process:
//!
//! - On Linux and macOS it leads a process group, which is ended as a whole. A process that leaves
//!   the group (a daemon in a session of its own) is not found.
//! - On Linux the server itself is killed when this process dies. What it has started is not, nor
//!   is anything on macOS; those processes only see their stdin close.
//! - On Windows the server and what it starts form a job, which the system ends with this process.
//!   There is no signal that asks a process to end, so a server that does not end when its stdin
//!   closes is killed. (macOS and Windows are not tested.)
//!
//! A process that runs as another user (`sudo`) cannot be signalled, and only sees its stdin close.

mod activity;
#[cfg(unix)]
mod before_exec;
mod cause;
mod command;
mod direct;
mod environment;
mod error;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod guarded;
mod lookup;
#[cfg(target_os = "linux")]
mod orphans;
mod pipes;
#[cfg(target_os = "linux")]
mod processes;
mod said;
mod spec;
mod status;
mod stderr;
mod supervise;
mod transport;
#[cfg(target_os = "linux")]
mod tree;
#[cfg(target_os = "linux")]
mod wire;

#[cfg(test)]
mod tests;

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use tokio::{
    sync::{mpsc, watch},
    time::timeout,
};
use tracing::Instrument;

pub use self::{
    activity::Activity,
    cause::last_lines,
    command::Command,
    environment::{DEFAULT_INHERITED, Environment},
    error::{SpawnError, StillRunning},
    pipes::{Stdin, Stdout},
    status::{ExitStatus, ExitWatch},
    transport::ChildTransport,
};
use self::{
    direct::Direct,
    pipes::{DRAIN, Ends},
    spec::Spec,
    status::State,
    stderr::Tail,
    supervise::{Order, Stderr, Supervised, supervise},
};

/// How long killed processes have to disappear.
const KILL_BOUND: Duration = Duration::from_secs(5);

/// Whether the program called [`guard_main`], so that executing it again gives a guard.
static OPTED_IN: AtomicBool = AtomicBool::new(false);

/// Lets servers run under a guard (see the [module](self)); to be called at the very top of `main`,
/// before anything is printed and any thread started.
///
/// In the guard itself this does not return: it exits when no process of its server is left.
/// Otherwise it returns at once. On systems other than Linux it does nothing.
pub fn guard_main() {
    #[cfg(target_os = "linux")]
    if guard::is_guard(std::env::args_os().nth(1).as_deref()) {
        std::process::exit(guard::run());
    }
    OPTED_IN.store(true, Ordering::Relaxed);
}

/// Lets this process take on whatever a server leaves behind that has killed its guard, so that it
/// can be ended too; to be called after [`guard_main`]. On systems other than Linux it does nothing.
///
/// The process becomes a *child subreaper* (`prctl`): orphans below it become its own children. It
/// is for programs that start no child processes but through this module: where a guard has been
/// killed, every child of this process that is not a guard is killed, with all below it.
///
/// # Errors
///
/// Those of the system, which has none for a call of this kind.
pub fn adopt_orphans() -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    orphans::adopt()?;
    Ok(())
}

/// A running server: three parts, to be taken apart. Each of them ends something when dropped, so
/// none is to be left out by accident.
#[derive(Debug)]
pub struct Child {
    /// Its stdin. Dropping it asks the server to end.
    pub stdin: Stdin,
    /// Its stdout.
    pub stdout: Stdout,
    /// Its processes. Dropping this ends all of them.
    pub process: Process,
}

/// Starts a server.
///
/// Runs in a Tokio runtime with IO and time enabled. Dropping the future ends what was started.
///
/// # Errors
///
/// When the program is not found, may not be executed or cannot be started: see [`SpawnError`].
/// That the server exits a moment later is no error here; [`Process::wait`] tells.
pub async fn spawn(command: &Command) -> Result<Child, SpawnError> {
    let spec = Spec::resolve(command)?;
    #[cfg(unix)]
    {
        let (ours, theirs) = Ends::create().map_err(SpawnError::Pipes)?;
        #[cfg(target_os = "linux")]
        if OPTED_IN.load(Ordering::Relaxed) {
            let server = guarded::Guarded::start(&spec, theirs).await?;
            let ids = (server.id(), server.guard_id());
            return Ok(Child::new(ids, server, ours, command.stderr_limit));
        }
        let server = Direct::start(&spec, theirs.map(Into::into)).await?;
        Ok(Child::new((server.id(), server.id()), server, ours, command.stderr_limit))
    }
    #[cfg(windows)]
    {
        let mut server =
            Direct::start(&spec, std::array::from_fn(|_| std::process::Stdio::piped())).await?;
        let missing = || SpawnError::Pipes(std::io::ErrorKind::NotFound.into());
        let (stdin, stdout, stderr) = server.take_streams().ok_or_else(missing)?;
        let ours = Ends { stdin, stdout, stderr };
        Ok(Child::new((server.id(), server.id()), server, ours, command.stderr_limit))
    }
}

impl Child {
    /// The ids are those of the server and of the process that everything it starts is below.
    fn new(
        (id, root): (u32, u32),
        server: impl Supervised,
        ends: Ends,
        stderr_limit: usize,
    ) -> Self {
        let (state, watched) = watch::channel(State::default());
        // One order waits while another is carried out; there are only two.
        let (orders, taken) = mpsc::channel(2);
        let tail = Tail::new(stderr_limit);
        let stderr = Stderr::new(ends.stderr, tail.clone());
        tokio::spawn(supervise(server, stderr, taken, state).in_current_span());
        let exit = ExitWatch::new(watched);
        Self {
            stdin: Stdin::new(ends.stdin),
            stdout: Stdout::new(ends.stdout, exit.clone()),
            process: Process { id, root, exit, tail, orders },
        }
    }
}

/// The processes of a server. Dropping this asks all of them to end, and kills after a second what
/// is left; [`shutdown`](Self::shutdown) does it with more patience and waits for it.
#[derive(Debug)]
pub struct Process {
    id: u32,
    root: u32,
    exit: ExitWatch,
    tail: Tail,
    orders: mpsc::Sender<Order>,
}

impl Process {
    /// The process id of the server itself.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.id
    }

    /// Waits until the server itself has ended; what it started may still run. By then
    /// [`stderr_tail`](Self::stderr_tail) has all that it wrote. May be called any number of times,
    /// side by side.
    pub async fn wait(&self) -> ExitStatus {
        self.exit.wait().await
    }

    /// Tells of the exit to somebody who does not hold the server.
    #[must_use]
    pub fn exit_watch(&self) -> ExitWatch {
        self.exit.clone()
    }

    /// The latest output to stderr, at most [`Command::stderr_limit`] bytes of it: as UTF-8 with
    /// U+FFFD for what is not, control and direction characters other than line ends and tabs
    /// escaped (`\u{1b}`), and `…` at the start when earlier output was dropped. If that had the
    /// first line that named an error, this line (1,000 bytes of it at most) stands before all.
    #[must_use]
    pub fn stderr_tail(&self) -> String {
        self.tail.text()
    }

    /// What the server and all that it has started have done so far.
    ///
    /// Looks through the processes of the machine, which takes a few milliseconds: to be asked
    /// every second or so while one waits, not all the time.
    #[must_use]
    pub fn activity(&self) -> Activity {
        let mut activity =
            if self.exit.is_gone() { Activity::default() } else { activity::of_tree(self.root) };
        activity.stderr_bytes = self.tail.written();
        activity
    }

    /// Waits until no process of the server is left while somebody else ends them by
    /// [`shutdown`](Self::shutdown) with this `grace`; no longer than that may take.
    pub(crate) async fn ended(&self, grace: Duration) {
        // Once for the last messages, and what `shutdown` says.
        let _ = timeout(grace.saturating_mul(3) + KILL_BOUND, self.exit.gone()).await;
    }

    /// Ends the server as the [specification] says, and with it everything it has started.
    ///
    /// The caller drops [`Child::stdin`] first, which is how a server is asked to end. Then the
    /// processes have `grace` to end by themselves; those left are sent SIGTERM and have `grace`
    /// again; those left are killed. When the server itself ends, the ones it leaves behind are
    /// waited for no longer than a quarter of a second before they are asked.
    ///
    /// Takes `grace` twice and five seconds at most. May be dropped and called again.
    ///
    /// # Errors
    ///
    /// When a process remains that cannot be killed.
    ///
    /// [specification]: https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio#shutdown
    pub async fn shutdown(&self, grace: Duration) -> Result<ExitStatus, StillRunning> {
        let ended = async {
            self.exit.wait().await;
            let _ = timeout(DRAIN, self.exit.gone()).await;
        };
        let _ = timeout(grace, ended).await;
        for (order, patience) in [(Order::Terminate, grace), (Order::Kill, KILL_BOUND)] {
            if self.exit.is_gone() {
                break;
            }
            // Refused only by a supervisor that has nothing left to supervise.
            let _ = self.orders.send(order).await;
            let _ = timeout(patience, self.exit.gone()).await;
        }
        if self.exit.is_gone() { Ok(self.exit.wait().await) } else { Err(StillRunning) }
    }
}
