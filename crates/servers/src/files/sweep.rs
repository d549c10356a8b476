//! What a server that was killed while it wrote has left behind.
//!
//! A text is written to a new file beside the one that it will replace. Whoever writes holds a
//! lock on that file, which the system lets go of when the process ends, however it ends: so a
//! file of that name whose lock is free belongs to nobody.

use super::{
    limits::Limits,
    open::Opened,
    walk::{Found, Walk},
};
use cap_std::fs::Dir;
use std::{
    ffi::OsStr,
    fs::{File, TryLockError},
    path::{Path, PathBuf},
};

/// The name of the file for this piece of writing of this process.
pub(super) fn name(count: u64) -> PathBuf {
    PathBuf::from(format!(".carrick-{}-{count}.tmp", std::process::id()))
}

/// Holds the file for as long as it is open, unless somebody has just taken it for left behind.
pub(super) fn hold(folder: &Dir, name: &Path, file: &File) -> bool {
    match file.try_lock() {
        // Whoever took it for that before now has removed it.
        Ok(()) => folder.symlink_metadata(name).is_ok(),
        Err(TryLockError::WouldBlock) => false,
        // Where there are no locks, none is taken for left behind either.
        Err(TryLockError::Error(_)) => true,
    }
}

/// Removes what was left below this folder, as far as a walk of the usual bounds comes to it.
pub(super) fn sweep(root: &Dir) {
    let limits = Limits::default();
    let walk = root.open_dir(".").and_then(|root| Walk::new(root, None, false, &limits));
    let Ok(walk) = walk else { return };
    for found in walk.filter(|found| is_of_writing(found.name())) {
        if is_left(&found)
            && let Err(error) = found.remove()
        {
            let name = found.path.display();
            tracing::warn!(%name, %error, "a file that was left of a writing stays");
        }
    }
}

fn is_of_writing(name: &OsStr) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = name
        .to_str()
        .and_then(|name| name.strip_prefix(".carrick-")?.strip_suffix(".tmp")?.split_once('-'));
    numbers.is_some_and(|(process, count)| is_number(process) && is_number(count))
}

fn is_left(found: &Found) -> bool {
    match found.open() {
        Ok(Opened::File(file, _)) => file.into_std().try_lock().is_ok(),
        _ => false,
    }
}
