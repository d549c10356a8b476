//! A process group: the child and what it starts, except what leaves the group.

use std::io;

use nix::{
    errno::Errno,
    sys::signal::{Signal, killpg},
    unistd::Pid,
};
use tokio::process::{Child, Command};

use super::super::before_exec;

/// The process group that a child leads.
#[derive(Debug)]
pub(super) struct Tree {
    leader: Pid,
}

impl Tree {
    /// Makes the child begin afresh, lead a group and, on Linux, die with this process.
    pub(super) fn prepare(command: &mut Command) {
        before_exec::start_afresh(command.as_std_mut(), true);
        #[cfg(target_os = "linux")]
        before_exec::die_with_parent(command.as_std_mut(), nix::unistd::getpid());
    }

    pub(super) fn new(child: &Child) -> io::Result<Self> {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        let leader = id.ok_or_else(|| io::Error::other("the child has no process id"))?;
        Ok(Self { leader: Pid::from_raw(leader) })
    }

    pub(super) fn id(&self) -> u32 {
        self.leader.as_raw().unsigned_abs()
    }

    pub(super) fn is_empty(&self) -> bool {
        killpg(self.leader, None) == Err(Errno::ESRCH)
    }

    pub(super) fn terminate(&self) {
        let _ = killpg(self.leader, Signal::SIGTERM);
        // A stopped process hears of it only when it is continued.
        let _ = killpg(self.leader, Signal::SIGCONT);
    }

    pub(super) fn kill(&self) {
        let _ = killpg(self.leader, Signal::SIGKILL);
    }
}
