//! A server under a guard, seen from this process.

use std::{
    io::{self, IoSlice},
    os::{
        fd::{AsRawFd as _, OwnedFd, RawFd},
        unix::net::UnixStream as StdStream,
    },
    path::Path,
    process::Stdio,
};

use nix::{
    errno::Errno,
    sys::{
        signal::{Signal, killpg},
        socket::{ControlMessage, MsgFlags, sendmsg},
    },
    unistd::Pid,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::UnixStream,
    process::{Child, Command},
};

use super::{
    error::SpawnError,
    guard,
    spec::Spec,
    supervise::{News, Order, Supervised},
    wire::Report,
};

/// A guard and the server that it has started.
#[derive(Debug)]
pub(super) struct Guarded {
    control: UnixStream,
    guard: Child,
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
        let mut control = UnixStream::from_std(control).map_err(failed)?;
        let mut guard = start_guard(theirs, path).map_err(failed)?;

        match exchange(&mut control, &bytes).await {
            Some(Report::Started(pid)) => {
                let server = Pid::from_raw(pid);
                Ok(Self { control, guard, server, report: Vec::new(), exited: false })
            }
            Some(Report::Failed(errno)) => {
                // It is ending; waiting for it leaves no entry in the process table.
                let _ = guard.wait().await;
                Err(SpawnError::from_exec(path.clone(), io::Error::from_raw_os_error(errno)))
            }
            Some(Report::Exited(_)) | None => {
                let status = guard.wait().await.map_err(failed)?;
                let what = format!("it ended before it had started the program: {status}");
                Err(failed(io::Error::other(what)))
            }
        }
    }

    pub(super) fn id(&self) -> u32 {
        self.server.as_raw().unsigned_abs()
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

impl Supervised for Guarded {
    async fn news(&mut self) -> News {
        while let Ok(Some(report)) = self.report().await {
            if let Report::Exited(status) = report {
                self.exited = true;
                return News::Exited(status);
            }
        }
        if !self.exited {
            // The guard was killed. The server has died with it; what it had started might not.
            let _ = killpg(self.server, Signal::SIGKILL);
        }
        let _ = self.guard.wait().await;
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

/// Sends the spec and takes the first report. None when the guard has ended before.
async fn exchange(control: &mut UnixStream, spec: &[u8]) -> Option<Report> {
    control.write_all(spec).await.ok()?;
    let mut report = [0; Report::LEN];
    control.read_exact(&mut report).await.ok()?;
    Report::decode(report)
}

/// Executes this program as a guard with `control` as its stdin.
fn start_guard(control: StdStream, program: &Path) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0("mcp-guard").arg(guard::ARGUMENT);
    // For whoever lists processes.
    command.args(program.file_name());
    command.stdin(OwnedFd::from(control)).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn()
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
