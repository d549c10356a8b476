//! What servers leave behind that have killed or stopped their guards.

use std::{
    collections::BTreeSet,
    io,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nix::{
    sys::{
        prctl,
        signal::{Signal, kill},
        wait::{WaitPidFlag, waitpid},
    },
    unistd::{Pid, getpid},
};

use super::processes::{Entry, below, list};

/// Whether orphans become children of this process.
static ADOPTING: AtomicBool = AtomicBool::new(false);

/// The guards that are children of this process. Held while one is started, so that no child is
/// taken for an orphan which is about to be listed here.
static GUARDS: Mutex<BTreeSet<Pid>> = Mutex::new(BTreeSet::new());

/// How often it is looked whether more is left.
const RETRY: Duration = Duration::from_millis(10);

/// How many times, so that one that cannot be killed is not waited for without end.
const LOOKS: usize = 200;

pub(super) fn adopt() -> io::Result<()> {
    prctl::set_child_subreaper(true)?;
    ADOPTING.store(true, Ordering::Relaxed);
    Ok(())
}

/// The list of guards, to be added to or taken from.
pub(super) fn guards() -> MutexGuard<'static, BTreeSet<Pid>> {
    GUARDS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all that can be found of a server whose guard has been killed and not yet been waited for,
/// so that its id is still its own.
pub(super) async fn end_those_of(guard: Pid) {
    for _ in 0..LOOKS {
        if !kill_those_of(guard) {
            return;
        }
        tokio::time::sleep(RETRY).await;
    }
    tracing::error!(%guard, "processes of a server that killed its guard are still running");
}

/// Kills what is left; false when nothing is.
fn kill_those_of(guard: Pid) -> bool {
    let guards = guards();
    let Ok(all) = list() else { return true };
    let adopted = match ADOPTING.load(Ordering::Relaxed) {
        true => below(getpid(), &all, &guards),
        false => BTreeSet::new(),
    };
    let ours = |entry: &&Entry| adopted.contains(&entry.pid) || entry.session == guard;
    let mut left = false;
    for entry in all.iter().filter(ours).filter(|entry| entry.pid != guard) {
        let _ = kill(entry.pid, Signal::SIGKILL);
        if entry.parent == getpid() && adopted.contains(&entry.pid) {
            // Nobody else takes notice of its end.
            let _ = waitpid(entry.pid, Some(WaitPidFlag::WNOHANG | WaitPidFlag::__WALL));
        }
        // The end of another's child is for that other one to take notice of.
        left |= entry.state != b'Z' || adopted.contains(&entry.pid);
    }
    left
}
