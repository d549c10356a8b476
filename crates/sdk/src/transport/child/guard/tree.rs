//! All processes below one, found through `/proc`.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
};

use nix::{
    errno::Errno,
    sys::signal::{Signal, kill, killpg},
    unistd::Pid,
};

/// The processes below the guard.
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
        let Ok(all) = below(self.root) else {
            let _ = killpg(self.server, signal);
            return;
        };
        for pid in all {
            let _ = kill(pid, signal);
        }
    }

    /// Kills all of them. False when there are some and none of them may be killed.
    pub(super) fn kill(&self) -> bool {
        let Ok(all) = below(self.root) else {
            // Whatever is in the way, such as too many open files, is tried again.
            let _ = killpg(self.server, Signal::SIGKILL);
            return true;
        };
        let refused = |&&pid: &&Pid| kill(pid, Signal::SIGKILL) == Err(Errno::EPERM);
        all.is_empty() || all.iter().filter(refused).count() < all.len()
    }
}

/// The processes below `root`, at whatever depth.
fn below(root: Pid) -> io::Result<BTreeSet<Pid>> {
    let mut children = BTreeMap::<Pid, Vec<Pid>>::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        // One that has ended since it was listed has no file any more.
        let Ok(stat) = std::fs::read(format!("/proc/{pid}/stat")) else { continue };
        if let Some(parent) = parent(&stat) {
            children.entry(parent).or_default().push(Pid::from_raw(pid));
        }
    }
    let mut found = BTreeSet::new();
    let mut unseen = vec![root];
    while let Some(pid) = unseen.pop() {
        // Processes move while they are listed; nothing is walked twice.
        unseen.extend(children.remove(&pid).unwrap_or_default().into_iter().inspect(|&child| {
            found.insert(child);
        }));
    }
    found.remove(&root);
    Ok(found)
}

/// The parent in a line of `/proc/…/stat`: `pid (name) state parent …`. The name is the process's
/// own choice and may hold anything, so the last parenthesis ends it.
/// One that has ended is not left out, since its first thread may have ended alone.
fn parent(stat: &[u8]) -> Option<Pid> {
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let mut fields = std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace();
    fields.nth(1)?.parse().ok().map(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let stat = b"12 (a) S 9 (b) S 7 12 12 0 -1 4194560";
        assert_eq!(parent(stat), Some(Pid::from_raw(7)));
        assert_eq!(parent(b"12 (\xFF\n) R 1 12"), Some(Pid::from_raw(1)));
        assert_eq!(parent(b"12 (a"), None);
    }
}
