//! What processes have used: time on the processor and memory, from Linux's own books.

use std::fs;

/// A process with all its descendants, itself first.
pub(crate) fn tree(root: i32) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let parents: Vec<(i32, i32)> =
        entries.filter_map(|entry| parent(entry.file_name().to_str()?.parse().ok()?)).collect();
    let mut found = vec![root];
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        found.extend(parents.iter().filter(|(_, of)| *of == parent).map(|(process, _)| *process));
        next += 1;
    }
    found
}

fn parent(process: i32) -> Option<(i32, i32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name comes in parentheses and may hold anything, also parentheses.
    let (_, rest) = stat.rsplit_once(')')?;
    Some((process, rest.split_whitespace().nth(1)?.parse().ok()?))
}

/// User and system time of all these processes in nanoseconds, ended threads included.
pub(crate) fn processor_ns(processes: &[i32]) -> u64 {
    processes.iter().map(|process| processor_ns_of(*process).unwrap_or(0)).sum()
}

/// The same for this process.
pub(crate) fn own_processor_ns() -> u64 {
    i32::try_from(std::process::id()).ok().and_then(processor_ns_of).unwrap_or(0)
}

fn processor_ns_of(process: i32) -> Option<u64> {
    let mut clock: libc::clockid_t = 0;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: both calls get a pointer to a live local of the type that they fill in.
    let failed = unsafe {
        libc::clock_getcpuclockid(process, &raw mut clock) != 0
            || libc::clock_gettime(clock, &raw mut time) != 0
    };
    if failed {
        return None;
    }
    Some(u64::try_from(time.tv_sec).ok()? * 1_000_000_000 + u64::try_from(time.tv_nsec).ok()?)
}

/// The sum of a field of `/proc/*/status`, such as `VmRSS`, in MiB.
pub(crate) fn memory_mib(processes: &[i32], field: &str) -> f64 {
    let kib = |process: &i32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let line = status.lines().find(|line| line.starts_with(field))?;
        line.split_whitespace().nth(1)?.parse::<f64>().ok()
    };
    processes.iter().filter_map(kib).sum::<f64>() / 1024.0
}

/// Lets this process, and all that it starts, open as many files as the system allows.
pub(crate) fn allow_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls get a pointer to a live local of the type that they expect.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            // Where it fails, the limit stays, and whoever meets it will say so.
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Ends processes by their ids.
pub(crate) fn end(processes: &[i32]) {
    for process in processes {
        // SAFETY: a plain system call on numbers; a process that is gone gives an error.
        unsafe { libc::kill(*process, libc::SIGKILL) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_is_in_the_tree_and_has_memory() {
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let processes = tree(own);
        assert_eq!(processes[0], own);
        assert!(processes.contains(&i32::try_from(child.id()).unwrap()));
        assert!(memory_mib(&processes, "VmRSS") > 0.0);
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn time_on_the_processor_only_grows() {
        let before = own_processor_ns();
        assert!(before > 0);
        assert!(own_processor_ns() >= before);
    }
}
