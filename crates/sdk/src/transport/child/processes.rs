//! The processes of this machine, as `/proc` lists them.

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    time::Duration,
};

use nix::unistd::Pid;

/// In how many parts of a second processor time is told (`USER_HZ`).
const TICKS: u64 = 100;

/// What is known of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) pid: Pid,
    pub(super) parent: Pid,
    pub(super) session: Pid,
    /// As `/proc` has it: `T` is stopped, `Z` an end that nobody has taken notice of.
    pub(super) state: u8,
    /// The processor time that it used, with that of its children that have ended.
    pub(super) cpu: Duration,
}

/// All processes. One that ends meanwhile is left out.
pub(super) fn list() -> io::Result<Vec<Entry>> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        all.extend(entry_of(Pid::from_raw(pid)));
    }
    Ok(all)
}

/// One process; none when it is gone.
pub(super) fn entry_of(pid: Pid) -> Option<Entry> {
    parse(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// Those of `all` that are below `root`, at whatever depth, and not below a process that `leave`
/// names.
pub(super) fn below(root: Pid, all: &[Entry], leave: &BTreeSet<Pid>) -> BTreeSet<Pid> {
    let mut children = BTreeMap::<Pid, Vec<Pid>>::new();
    for entry in all.iter().filter(|entry| !leave.contains(&entry.pid)) {
        children.entry(entry.parent).or_default().push(entry.pid);
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
    found
}

/// Reads `/proc/…/stat`: `pid (name) state parent group session …`. The name is the process's own
/// choice and may hold anything, so the last parenthesis ends it.
/// One that has ended is not left out, since its first thread may have ended alone.
fn parse(pid: Pid, stat: &[u8]) -> Option<Entry> {
    let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
    let fields: Vec<&str> =
        std::str::from_utf8(&stat[after_name..]).ok()?.split_ascii_whitespace().collect();
    let id = |at: usize| fields.get(at)?.parse().ok().map(Pid::from_raw);
    let ticks = fields.get(11..15).unwrap_or_default().iter();
    let ticks: u64 = ticks.filter_map(|ticks| ticks.parse::<u64>().ok()).sum();
    Some(Entry {
        pid,
        parent: id(1)?,
        session: id(3)?,
        state: *fields.first()?.as_bytes().first()?,
        cpu: Duration::from_millis(ticks.saturating_mul(1000 / TICKS)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_hold_anything() {
        let pid = Pid::from_raw(12);
        let stat = b"12 (a) S 9 (b) T 7 12 13 0 -1 4194560 1 2 3 4 10 20 30 40 20 0";
        let entry = parse(pid, stat).unwrap();
        assert_eq!((entry.parent, entry.session), (Pid::from_raw(7), Pid::from_raw(13)));
        assert_eq!((entry.state, entry.cpu), (b'T', Duration::from_secs(1)));
        let short = parse(pid, b"12 (\xFF\n) R 1 12 12").unwrap();
        assert_eq!((short.parent, short.cpu), (Pid::from_raw(1), Duration::ZERO));
        assert_eq!(parse(pid, b"12 (a"), None);
        assert_eq!(parse(pid, b"12 (a) R 1"), None);
    }

    #[test]
    fn what_is_below_is_found_at_any_depth_and_without_what_is_left() {
        let entry = |pid, parent| Entry {
            pid: Pid::from_raw(pid),
            parent: Pid::from_raw(parent),
            session: Pid::from_raw(1),
            state: b'S',
            cpu: Duration::ZERO,
        };
        let all = [entry(2, 1), entry(3, 2), entry(4, 3), entry(5, 2), entry(9, 8)];
        let pids = |numbers: &[i32]| numbers.iter().map(|&n| Pid::from_raw(n)).collect();
        let found = |leave: &[i32]| below(Pid::from_raw(2), &all, &pids(leave));
        assert_eq!(found(&[]), pids(&[3, 4, 5]));
        assert_eq!(found(&[3]), pids(&[5]));
    }
}
