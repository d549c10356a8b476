//! A server under a guard, seen from this process.

use std::{
    io::{self, IoSlice},
    os::{
        fd::{AsRawFd as _, OwnedFd, RawFd},
        unix::net::UnixStream as StdStream,
    },
    path::Path,
    process::{ExitStatus, Stdio},
    time::Duration,
};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, kill, killpg},
        socket::{ControlMessage, MsgFlags, sendmsg},
        wait::{Id, WaitPidFlag, WaitStatus, waitid},
    },
    unistd::Pid,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    process::{Child, Command},
    signal::unix::{Signal as Signals, SignalKind, signal},
};

use super::{
    before_exec,
    error::SpawnError,
    guard, orphans,
    processes::entry_of,
    spec::Spec,
    supervise::{News, Order, Supervised},
    tree::Tree,
    wire::Report,
};

/// How many times a guard that was stopped is continued. Somebody may stop all processes for a
/// moment; a server that does it to its guard does it again.
const CONTINUED: usize = 2;

/// A guard and the server that it has started.
#[derive(Debug)]
pub(super) struct Guarded {
    control: UnixStream,
    guard: Child,
    guard_id: Pid,
    /// Tells that something has become of some child of this process, such as a guard's being
    /// stopped. None where this process cannot hear of it.
    changes: Option<Signals>,
    /// How many times the guard was found to be stopped.
    stopped: usize,
    /// The guard itself until the server runs.
    server: Pid,
    /// The part of the next report that has arrived.
    report: Vec<u8>,
    /// Whether the server's exit was reported.
    exited: bool,
}

impl Guarded {
    /// Starts a guard and waits until it has started the server, with `pipes` as its stdin, stdout
    /// and stderr.
    pub(super) async fn start(spec: &Spec, pipes: [OwnedFd; 3]) -> Result<Self, SpawnError> {
        let path = &spec.program;
        let failed = |source| SpawnError::Supervisor { path: path.clone(), source };
        let Some(bytes) = spec.encode() else {
            return Err(SpawnError::Invalid { what: "arguments too long".to_owned() });
        };
        let (control, theirs) = StdStream::pair().map_err(SpawnError::Pipes)?;
        send_pipes(&control, bytes.len(), pipes).map_err(failed)?;
        control.set_nonblocking(true).map_err(failed)?;
        let control = UnixStream::from_std(control).map_err(failed)?;
        // Before the guard is there, so that nothing of it is missed.
        let changes = signal(SignalKind::child()).ok();
        let (guard, guard_id) = start_guard(theirs, path).map_err(failed)?;
        let (server, report, stopped, exited) = (guard_id, Vec::new(), 0, false);
        let mut this = Self { control, guard, guard_id, changes, stopped, server, report, exited };

        let sent = this.control.write_all(&bytes).await;
        let first = if sent.is_ok() { this.next().await } else { None };
        if let Some(Report::Started(pid)) = first {
            this.server = Pid::from_raw(pid);
            return Ok(this);
        }
        // It is ending; waiting for it leaves no entry in the process table.
        let status = this.take_end().await.map_err(failed)?;
        if let Some(Report::Failed(errno)) = first {
            let error = io::Error::from_raw_os_error(errno);
            return Err(SpawnError::from_exec(path.clone(), error));
        }
        let what = format!("it ended before it had started the program: {status}");
        Err(failed(io::Error::other(what)))
    }

    pub(super) fn id(&self) -> u32 {
        self.server.as_raw().unsigned_abs()
    }

    /// The process that everything of the server is below.
    pub(super) fn guard_id(&self) -> u32 {
        self.guard_id.as_raw().unsigned_abs()
    }

    /// The next report; none when the guard has closed its end, which only its own end does.
    async fn report(&mut self) -> io::Result<Option<Report>> {
        while self.report.len() < Report::LEN {
            let missing = Report::LEN - self.report.len();
            if (&mut self.control).take(missing as u64).read_buf(&mut self.report).await? == 0 {
                return Ok(None);
            }
        }
        let report = self.report.first_chunk().and_then(|&report| Report::decode(report));
        self.report.clear();
        report.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

impl Guarded {
    /// The next report; none once there are no more. Meanwhile sees to it that the guard runs.
    async fn next(&mut self) -> Option<Report> {
        loop {
            self.see_to_guard();
            let Some(mut changes) = self.changes.take() else {
                return self.report().await.ok().flatten();
            };
            let report = tokio::select! {
                report = self.report() => Some(report),
                _ = changes.recv() => None,
            };
            self.changes = Some(changes);
            if let Some(report) = report {
                return report.ok().flatten();
            }
        }
    }

    /// Continues a guard that was stopped. One that is stopped again and again guards nothing, so
    /// its tree is ended from here.
    fn see_to_guard(&mut self) {
        let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WNOHANG;
        let Ok(WaitStatus::Stopped(..)) = waitid(Id::Pid(self.guard_id), flags) else { return };
        self.stopped += 1;
        if self.stopped <= CONTINUED {
            let _ = kill(self.guard_id, Signal::SIGCONT);
        } else {
            tracing::error!(pid = self.id(), "a server keeps stopping its guard, and is ended");
            self.end_from_here();
        }
    }

    /// Ends the tree and then the guard, without its help.
    fn end_from_here(&self) {
        Tree::new(self.guard_id, self.server).kill();
        // Those that were started meanwhile lose their guard, and are found as others are that do.
        let _ = kill(self.guard_id, Signal::SIGKILL);
    }

    /// Takes notice of the guard's end, and ends what it has not.
    async fn take_end(&mut self) -> io::Result<ExitStatus> {
        if !self.has_done_its_work().await {
            // The guard was killed. The server has died with it; what it had started might not.
            if !self.exited {
                let _ = killpg(self.server, Signal::SIGKILL);
            }
            orphans::end_those_of(self.guard_id).await;
        }
        let status = self.guard.wait().await;
        orphans::guards().remove(&self.guard_id);
        status
    }

    /// Whether the guard ended by itself, which it does when nothing of the server is left. Its end
    /// is not taken notice of.
    async fn has_done_its_work(&self) -> bool {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
        loop {
            match waitid(Id::Pid(self.guard_id), flags) {
                // It has closed its end of the socket, and is about to be gone.
                Ok(WaitStatus::StillAlive) => tokio::time::sleep(MOMENT).await,
                Ok(WaitStatus::Exited(..)) => return true,
                Ok(_) | Err(_) => return false,
            }
        }
    }
}

impl Supervised for Guarded {
    async fn news(&mut self) -> News {
        while let Some(report) = self.next().await {
            if let Report::Exited(status) = report {
                self.exited = true;
                return News::Exited(status);
            }
        }
        let _ = self.take_end().await;
        News::Gone
    }

    async fn order(&mut self, order: Order) {
        // A guard that is gone has ended everything already.
        let _ = self.control.write_all(&[order.encode()]).await;
    }

    async fn abandon(&mut self) {
        let _ = self.control.shutdown().await;
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Dropped before its end only when the runtime shuts down. A guard ends its tree when the
        // socket closes, unless it is kept from it. While it is on the list its id is its own.
        let stopped = || entry_of(self.guard_id).is_some_and(|entry| entry.state == b'T');
        if orphans::guards().contains(&self.guard_id) && stopped() {
            self.end_from_here();
        }
    }
}

/// How long to wait before it is looked again whether a guard is gone.
const MOMENT: Duration = Duration::from_millis(1);

/// Executes this program as a guard with `control` as its stdin.
fn start_guard(control: StdStream, program: &Path) -> io::Result<(Child, Pid)> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("mcp-guard").arg(guard::ARGUMENT);
    // For whoever lists processes.
    command.args(program.file_name());
    command.stdin(OwnedFd::from(control)).stdout(Stdio::null()).stderr(Stdio::null());
    // The server inherits it from its guard, which knows no other.
    before_exec::limit_files_of(command.as_std_mut());
    let mut guards = orphans::guards();
    let guard = command.spawn()?;
    let id = guard.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw);
    let id = id.ok_or_else(|| io::Error::other("the guard has no process id"))?;
    guards.insert(id);
    Ok((guard, id))
}

/// Sends the length of the spec, and with it the descriptors.
fn send_pipes(control: &StdStream, length: usize, pipes: [OwnedFd; 3]) -> io::Result<()> {
    let length = u32::try_from(length).map_err(io::Error::other)?.to_le_bytes();
    let numbers: [RawFd; 3] = pipes.each_ref().map(|pipe| pipe.as_raw_fd());
    let attached = [ControlMessage::ScmRights(&numbers)];
    let slices = [IoSlice::new(&length)];
    let sent = sendmsg::<()>(control.as_raw_fd(), &slices, &attached, MsgFlags::empty(), None)?;
    if sent == length.len() { Ok(()) } else { Err(Errno::EMSGSIZE.into()) }
}
