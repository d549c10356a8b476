//! The guard: a small process between this one and a server, which outlives neither.
//!
//! It is this program executed again with a private first argument. It starts the server, whose
//! pipes it hands over and then forgets, so that it is not in the way of any data. As a *child
//! subreaper* it becomes the parent of every process of the server's tree that loses its own
//! parent, daemons in sessions of their own included; so whatever the tree does, all of it can be
//! found by walking down from the guard.
//!
//! Its lifeline is the socket to this process, whose other end nothing else holds (it closes on
//! exec). The system closes it when this process dies, by whatever signal; the guard then lets the
//! tree end by itself, asks it to, kills what is left, each after a short time, and exits when
//! nothing is. A parent-death
//! signal would fire when the *thread* that started the guard ends, so the guard has none. The
//! server has: it dies with the guard, which has one thread only, should that be killed itself.

use std::{
    ffi::{CStr, OsStr},
    io::{self, IoSliceMut, Read as _, Write as _},
    os::{
        fd::{AsFd as _, AsRawFd as _, FromRawFd as _, OwnedFd, RawFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::Command,
    time::{Duration, Instant},
};

use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        prctl,
        signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction},
        signalfd::{SfdFlags, SignalFd},
        socket::{ControlMessageOwned, MsgFlags, recvmsg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::{Pid, getpid},
};

use super::{
    before_exec,
    spec::Spec,
    status::ExitStatus,
    supervise::Order,
    tree::Tree,
    wire::{Report, SPEC_LIMIT},
};

/// The first argument that makes a program a guard.
pub(super) const ARGUMENT: &str = "__mcp-guard";

/// What the guard calls itself. Not by the name of its program, lest whoever kills that by name
/// kills what cleans up after it.
const NAME: &CStr = c"mcp-guard";

/// How long the tree has to end by itself when the other side is gone, and its stdin closed with it.
const CLOSED_GRACE: Duration = Duration::from_millis(500);

/// How long the tree has to end after it was asked to.
const GRACE: Duration = Duration::from_secs(1);

/// How often the tree is looked at again while it is being killed: a process may start another
/// just as it is killed.
const RETRY: Duration = Duration::from_millis(10);

/// The longest time between two looks when killing does not help.
const SLOWEST_RETRY: Duration = Duration::from_secs(1);

/// Whether the first argument is the guard's.
pub(super) fn is_guard(first: Option<&OsStr>) -> bool {
    first == Some(OsStr::new(ARGUMENT))
}

/// Is the guard, from beginning to end. Everything it is told comes over the socket at its stdin.
/// Gives the code to exit with: 2 when nothing of the kind is there.
pub(super) fn run() -> i32 {
    if guard().is_ok() { 0 } else { 2 }
}

fn guard() -> io::Result<()> {
    // Signals meant for the terminal's foreground group are none of the guard's or the server's
    // business. Failing, this is the leader of a group already, which does as well.
    let _ = nix::unistd::setsid();
    prctl::set_name(NAME)?;
    prctl::set_child_subreaper(true)?;
    close_descriptors()?;
    let signals = block_signals()?;
    // Out of the server's reach: a stream at stdin would be inherited.
    let mut control = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let null = std::fs::File::open("/dev/null")?;
    nix::unistd::dup2_stdin(&null)?;

    let (spec, pipes) = receive(&mut control)?;
    let server = match start(&spec, pipes) {
        Ok(server) => server,
        Err(error) => {
            let errno = error.raw_os_error().unwrap_or(Errno::EINVAL as i32);
            return control.write_all(&Report::Failed(errno).encode());
        }
    };
    // From here on nothing but the end of the tree is a reason to stop. Failing to tell means that
    // nobody is there, which the lifeline says too.
    let _ = control.write_all(&Report::Started(server.as_raw()).encode());
    // The server's folder is not the guard's to keep busy.
    let _ = std::env::set_current_dir("/");
    let tree = Tree::new(getpid(), server);
    Guard { control, signals, server, tree, phase: Phase::Running, lifeline: true }.watch();
    Ok(())
}

/// Takes signals by descriptor: the news of ended children, and requests to end.
fn block_signals() -> io::Result<SignalFd> {
    let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
    #[expect(
        unsafe_code,
        reason = "a disposition to ignore may be inherited, and would leave \
                                    no statuses to wait for"
    )]
    // SAFETY: the default action runs no code of ours in signal context.
    unsafe {
        sigaction(Signal::SIGCHLD, &default)?;
    }
    let taken = [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP];
    let taken: SigSet = taken.into_iter().collect();
    taken.thread_block()?;
    Ok(SignalFd::with_flags(&taken, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)?)
}

/// Whatever this process was started with beyond the standard streams is neither the server's nor
/// to be held open by its guard.
fn close_descriptors() -> io::Result<()> {
    let mut numbers = Vec::<RawFd>::new();
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let name = entry?.file_name();
        numbers.extend(name.to_str().and_then(|name| name.parse::<RawFd>().ok()));
    }
    for number in numbers.into_iter().filter(|&number| number > 2) {
        // The one of the listing is closed already.
        let _ = nix::unistd::close(number);
    }
    Ok(())
}

/// The spec, and the server's stdin, stdout and stderr.
fn receive(control: &mut UnixStream) -> io::Result<(Spec, [OwnedFd; 3])> {
    let mut length = [0; 4];
    let mut space = nix::cmsg_space!([RawFd; 3]);
    let mut slices = [IoSliceMut::new(&mut length)];
    let flags = MsgFlags::MSG_CMSG_CLOEXEC;
    let message = recvmsg::<()>(control.as_raw_fd(), &mut slices, Some(&mut space), flags)?;
    let mut pipes = Vec::new();
    for part in message.cmsgs()? {
        if let ControlMessageOwned::ScmRights(received) = part {
            #[expect(unsafe_code, reason = "received descriptors come as numbers")]
            // SAFETY: the system has just made these descriptors for this process alone.
            pipes.extend(received.into_iter().map(|fd| unsafe { OwnedFd::from_raw_fd(fd) }));
        }
    }
    let complete = message.bytes == length.len();
    let length = usize::try_from(u32::from_le_bytes(length)).unwrap_or(usize::MAX);
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    if !complete || length > SPEC_LIMIT {
        return Err(invalid());
    }
    let mut bytes = vec![0; length];
    control.read_exact(&mut bytes)?;
    let spec = Spec::decode(&bytes).ok_or_else(invalid)?;
    Ok((spec, pipes.try_into().map_err(|_| invalid())?))
}

/// Starts the server, in a process group of its own; the guard keeps nothing of its pipes.
fn start(spec: &Spec, [stdin, stdout, stderr]: [OwnedFd; 3]) -> io::Result<Pid> {
    let mut command = Command::new(&spec.program);
    command.arg0(&spec.name).args(&spec.args).env_clear();
    command.envs(spec.env.iter().map(|(name, value)| (name, value)));
    command.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
    if let Some(cwd) = &spec.cwd {
        command.current_dir(cwd);
    }
    before_exec::start_afresh(&mut command, false);
    before_exec::die_with_parent(&mut command, getpid());
    let server = command.spawn()?;
    i32::try_from(server.id()).map(Pid::from_raw).map_err(io::Error::other)
}

/// How far the ending of the tree has come.
#[derive(Clone, Copy)]
enum Phase {
    Running,
    /// Nobody is there any more, which the tree may notice by itself; asked to end at this time.
    Leaving(Instant),
    /// Asked to end; killed at this time.
    Ending(Instant),
    /// Being killed; looked at again after this time.
    Killing(Duration),
}

struct Guard {
    control: UnixStream,
    signals: SignalFd,
    server: Pid,
    tree: Tree,
    phase: Phase,
    /// Whether the other side still holds its end of the socket.
    lifeline: bool,
}

impl Guard {
    /// Watches over the tree until nothing of it is left.
    fn watch(mut self) {
        while self.reap() {
            match self.phase {
                Phase::Leaving(at) if at <= Instant::now() => self.end(),
                Phase::Ending(at) if at <= Instant::now() => self.kill(),
                // Where none may be killed, all that is left belongs to another user. As long as
                // somebody is there to hear that something is left, it is.
                Phase::Killing(_) if !self.tree.kill() && !self.lifeline => return,
                Phase::Killing(retry) => {
                    self.phase = Phase::Killing((retry * 2).min(SLOWEST_RETRY));
                }
                Phase::Running | Phase::Leaving(_) | Phase::Ending(_) => {}
            }
            self.wait();
        }
    }

    /// Waits for every child that has ended; false when there are no others.
    fn reap(&mut self) -> bool {
        loop {
            let exit = match waitpid(None, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == self.server => ExitStatus::Code(code),
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == self.server => {
                    ExitStatus::Signal(signal as i32)
                }
                Ok(WaitStatus::StillAlive) => return true,
                Err(Errno::ECHILD) => return false,
                // Another process of the tree, or a signal that this library has no name for.
                Ok(_) | Err(_) => continue,
            };
            // With nobody left to hear it, the lifeline ends everything.
            let _ = self.control.write_all(&Report::Exited(exit).encode());
        }
    }

    /// Waits for whatever comes first: an order, the end of the lifeline, a signal, the next phase.
    fn wait(&mut self) {
        let timeout = match self.phase {
            Phase::Running => PollTimeout::NONE,
            // Rounded up, lest the last millisecond is spent spinning.
            Phase::Leaving(at) | Phase::Ending(at) => PollTimeout::try_from(
                at.saturating_duration_since(Instant::now()) + Duration::from_millis(1),
            )
            .unwrap_or(PollTimeout::MAX),
            Phase::Killing(retry) => PollTimeout::try_from(retry).unwrap_or(PollTimeout::MAX),
        };
        let mut watched = [
            PollFd::new(self.signals.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.control.as_fd(), PollFlags::POLLIN),
        ];
        // A socket at its end would be ready for ever.
        let count = if self.lifeline { 2 } else { 1 };
        match poll(&mut watched[..count], timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            // Out of memory for a moment.
            Err(_) => std::thread::sleep(RETRY),
        }
        let [signalled, ordered] = watched.map(|fd| fd.any() == Some(true));
        if signalled {
            self.take_signals();
        }
        if ordered {
            self.take_orders();
        }
    }

    fn take_signals(&mut self) {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            if signal.ssi_signo != Signal::SIGCHLD as u32 {
                self.end();
            }
        }
    }

    fn take_orders(&mut self) {
        let mut orders = [0; 16];
        // An error, such as a reset, is an end as well; nothing interrupts, as signals are blocked.
        let count = self.control.read(&mut orders).unwrap_or(0);
        if count == 0 {
            self.lifeline = false;
            self.leave();
        }
        for order in orders[..count].iter().filter_map(|&byte| Order::decode(byte)) {
            match order {
                Order::Terminate => self.tree.terminate(),
                Order::Kill => self.kill(),
            }
        }
    }

    /// Ends the tree without being told how: waits for it to end by itself, asks, then kills.
    fn leave(&mut self) {
        if matches!(self.phase, Phase::Running) {
            self.phase = Phase::Leaving(Instant::now() + CLOSED_GRACE);
        }
    }

    /// Asks, then kills.
    fn end(&mut self) {
        if matches!(self.phase, Phase::Running | Phase::Leaving(_)) {
            self.tree.terminate();
            self.phase = Phase::Ending(Instant::now() + GRACE);
        }
    }

    fn kill(&mut self) {
        if !matches!(self.phase, Phase::Killing(_)) {
            self.phase = Phase::Killing(RETRY);
        }
    }
}
