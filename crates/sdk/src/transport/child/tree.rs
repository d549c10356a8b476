//! All processes below one.

use std::{collections::BTreeSet, io};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};

use super::processes::{below, list};

/// The processes below a guard.
#[derive(Debug)]
pub(super) struct Tree {
    root: Pid,
    /// The server, which leads a process group: what can be reached when `/proc` cannot be read.
    server: Pid,
}

impl Tree {
    pub(super) fn new(root: Pid, server: Pid) -> Self {
        Self { root, server }
    }

    /// Asks all of them to end. One that is gone, or belongs to another user, cannot be asked.
    pub(super) fn terminate(&self) {
        // A stopped process hears of it only when it is continued.
        for signal in [Signal::SIGTERM, Signal::SIGCONT] {
            self.send(signal);
        }
    }

    fn send(&self, signal: Signal) {
        let Ok(all) = self.all() else {
            let _ = killpg(self.server, signal);
            return;
        };
        for pid in all {
            let _ = kill(pid, signal);
        }
    }

    /// Kills all of them. False when there are some and none of them may be killed.
    pub(super) fn kill(&self) -> bool {
        let Ok(all) = self.all() else {
            // Whatever is in the way, such as too many open files, is tried again.
            let _ = killpg(self.server, Signal::SIGKILL);
            return true;
        };
        let refused = |&&pid: &&Pid| kill(pid, Signal::SIGKILL) == Err(Errno::EPERM);
        all.is_empty() || all.iter().filter(refused).count() < all.len()
    }

    fn all(&self) -> io::Result<BTreeSet<Pid>> {
        Ok(below(self.root, &list()?, &BTreeSet::new()))
    }
}
