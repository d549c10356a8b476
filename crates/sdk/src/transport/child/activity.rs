//! Whether a server does anything, as far as can be seen from outside.

use std::time::Duration;

/// What a server and all that it has started have done so far, by
/// [`Process::activity`](super::Process::activity). Two readings tell whether they work: an
/// installer that still fetches its packages, say, which has not answered yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Activity {
    /// The bytes written to stderr.
    pub stderr_bytes: u64,
    /// The processor time, of all cores together. Zero on systems other than Linux.
    pub cpu: Duration,
    /// The bytes read and written, from and to whatever it be. Zero on systems other than Linux.
    pub io_bytes: u64,
}

/// Reading and writing less than this in a second is what programs do that wait.
const IDLE_BYTES_A_SECOND: u128 = 4096;

/// Of a core; less than this is what programs use that wait.
const IDLE_CPU_PERCENT: u32 = 5;

impl Activity {
    /// Whether there was work between an `earlier` reading and this one, `over` being the time
    /// between the two: a byte on stderr, a twentieth of a core, or 4 KiB a second read and
    /// written. Where processes have ended without a trace, which lowers a reading, there was.
    #[must_use]
    pub fn is_work_since(&self, earlier: &Self, over: Duration) -> bool {
        let idle_bytes = IDLE_BYTES_A_SECOND * over.as_millis() / 1000;
        let busy = match self.cpu.checked_sub(earlier.cpu) {
            Some(cpu) => cpu * 100 > over * IDLE_CPU_PERCENT,
            None => true,
        };
        let moved = match self.io_bytes.checked_sub(earlier.io_bytes) {
            Some(bytes) => u128::from(bytes) > idle_bytes,
            None => true,
        };
        self.stderr_bytes != earlier.stderr_bytes || busy || moved
    }
}

/// What `root` and all processes below it have done, apart from stderr.
#[cfg(target_os = "linux")]
pub(super) fn of_tree(root: u32) -> Activity {
    use super::processes::{below, entry_of, list};
    use nix::unistd::Pid;

    let mut activity = Activity::default();
    let Some(root) = i32::try_from(root).ok().map(Pid::from_raw) else { return activity };
    let Some(entry) = entry_of(root) else { return activity };
    let all = list().unwrap_or_default();
    let tree = below(root, &all, &std::collections::BTreeSet::new());
    activity.cpu = entry.cpu;
    activity.io_bytes = io_bytes(root);
    for entry in all.iter().filter(|entry| tree.contains(&entry.pid)) {
        activity.cpu += entry.cpu;
        activity.io_bytes = activity.io_bytes.saturating_add(io_bytes(entry.pid));
    }
    activity
}

/// What a process has read and written; nothing of one whose account may not be seen.
#[cfg(target_os = "linux")]
fn io_bytes(pid: nix::unistd::Pid) -> u64 {
    let account = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let counted = |line: &str| {
        let count = line.strip_prefix("rchar: ").or_else(|| line.strip_prefix("wchar: "))?;
        count.parse::<u64>().ok()
    };
    account.lines().filter_map(counted).fold(0, u64::saturating_add)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn of_tree(_root: u32) -> Activity {
    Activity::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f11_work_is_told_from_waiting() {
        let second = Duration::from_secs(1);
        let before = Activity { stderr_bytes: 10, cpu: Duration::from_secs(3), io_bytes: 1 << 20 };
        let idle =
            Activity { cpu: Duration::from_millis(3050), io_bytes: (1 << 20) + 4096, ..before };
        assert!(!before.is_work_since(&before, second));
        assert!(!idle.is_work_since(&before, second));
        assert!(idle.is_work_since(&before, second / 2));
        for work in [
            Activity { stderr_bytes: 11, ..before },
            Activity { cpu: Duration::from_millis(3060), ..before },
            Activity { cpu: Duration::from_secs(2), ..before },
            Activity { io_bytes: (1 << 20) + 4097, ..before },
            Activity { io_bytes: 1, ..before },
        ] {
            assert!(work.is_work_since(&before, second), "{work:?}");
        }
    }
}
