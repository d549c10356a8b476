//! What a new process of a server's does before it becomes the server: it lets go of all that it
//! would inherit and that is no business of the server's.
//!
//! A signal mask and ignored signals survive an exec. A server with either would not hear of
//! SIGTERM, or never notice that a process which it started has ended, and so would all that it
//! starts. Rust programs ignore SIGPIPE, a guard blocks what it takes by descriptor, and whatever
//! started this program (`nohup`, a supervisor) may have left more. Descriptors are inherited
//! likewise: a listening socket that a server holds open keeps its port taken. So is the limit of
//! open files, which this program may have raised for itself.
//!
//! Everything here runs between fork and exec, possibly of a process with many threads: system
//! calls only, neither allocation nor locks.

use std::{io, os::unix::process::CommandExt as _, process::Command};

use nix::{
    libc,
    sys::{
        resource::{Resource, getrlimit, setrlimit},
        signal::SigSet,
    },
};

use crate::open_files;

/// The signals that there are, by number.
#[cfg(target_os = "linux")]
const SIGNALS: std::ops::RangeInclusive<libc::c_int> = 1..=64;
#[cfg(not(target_os = "linux"))]
const SIGNALS: std::ops::RangeInclusive<libc::c_int> = 1..=31;

/// The first descriptor after stdin, stdout and stderr.
const FIRST: libc::c_int = 3;

/// Makes what `command` starts begin as if nothing had been started before it. If `alone`, it is
/// also in a session of its own, so that it has no terminal to be stopped by, and leads a process
/// group.
pub(super) fn start_afresh(command: &mut Command, alone: bool) {
    let files = open_files::inherited();
    let prepare = move || {
        if alone {
            nix::unistd::setsid()?;
        }
        SIGNALS.for_each(default_action);
        keep_descriptors();
        files.map_or(Ok(()), limit_files)?;
        // Last, since what was held back so far arrives now.
        SigSet::empty().thread_set_mask().map_err(io::Error::from)
    };
    #[expect(unsafe_code, reason = "only the new process can change these for itself")]
    // SAFETY: between fork and exec: system calls, no allocation, no locks.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Makes what `command` starts, and all that it starts in turn, have the limit of open files that
/// this process was started with.
#[cfg(target_os = "linux")]
pub(super) fn limit_files_of(command: &mut Command) {
    let Some(files) = open_files::inherited() else { return };
    let prepare = move || limit_files(files);
    #[expect(unsafe_code, reason = "only the new process can change its limit before the exec")]
    // SAFETY: between fork and exec: two system calls, no allocation, no locks.
    unsafe {
        command.pre_exec(prepare);
    }
}

/// Sets the soft limit of open files. Those that are open beyond it stay so.
fn limit_files(soft: u64) -> io::Result<()> {
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    Ok(setrlimit(Resource::RLIMIT_NOFILE, soft.min(hard), hard)?)
}

/// Makes the system kill what `command` starts when the starting thread of `parent` ends.
#[cfg(target_os = "linux")]
pub(super) fn die_with_parent(command: &mut Command, parent: nix::unistd::Pid) {
    use nix::{errno::Errno, sys::prctl, sys::signal::Signal, unistd::getppid};

    let ask = move || {
        prctl::set_pdeathsig(Signal::SIGKILL)?;
        // The parent may have died before it was asked.
        if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
    };
    #[expect(unsafe_code, reason = "only the new process can ask for its parent-death signal")]
    // SAFETY: between fork and exec: two system calls, no allocation, no locks.
    unsafe {
        command.pre_exec(ask);
    }
}

/// Gives a signal its default action; the two that cannot have another are refused.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "no library resets the two signals that the C library keeps")]
fn default_action(signal: libc::c_int) {
    // The kernel's structure, whatever the order and size of its members: an action of 0 is the
    // default, and no flags and an empty mask are zero too.
    let action = [0_u64; 8];
    let nothing = std::ptr::null_mut::<u64>();
    // SAFETY: the kernel reads less than the array has, and writes nothing.
    unsafe {
        libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), nothing, size_of::<u64>());
    }
}

#[cfg(not(target_os = "linux"))]
#[expect(unsafe_code, reason = "the system's interface")]
fn default_action(signal: libc::c_int) {
    // SAFETY: the default action runs no code of ours in signal context.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
    }
}

/// Has all descriptors but the standard streams closed by the exec. Not before, since one of them
/// tells the parent whether that succeeds.
fn keep_descriptors() {
    #[cfg(target_os = "linux")]
    {
        let all = libc::c_uint::MAX;
        let flags = libc::CLOSE_RANGE_CLOEXEC;
        #[expect(unsafe_code, reason = "the C library may be older than this call")]
        // SAFETY: the descriptors stay open for as long as this program runs.
        if unsafe { libc::syscall(libc::SYS_close_range, FIRST, all, flags) } == 0 {
            return;
        }
    }
    // Linux before 5.11, and other systems: one by one, as far as any program goes.
    for descriptor in FIRST..=limit().min(1 << 16) {
        #[expect(unsafe_code, reason = "inherited descriptors are known by number only")]
        // SAFETY: sets a flag, which a number without a descriptor refuses.
        unsafe {
            libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// The highest number that a descriptor may have.
fn limit() -> libc::c_int {
    let limit = getrlimit(Resource::RLIMIT_NOFILE);
    limit.ok().and_then(|(soft, _)| libc::c_int::try_from(soft).ok()).unwrap_or(libc::c_int::MAX)
}
