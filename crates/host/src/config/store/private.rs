//! Whether a file can have been written by its user only.

use std::path::{Path, PathBuf};

use carrick_policy::visible;

/// Others could have put into a file what decides what may run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Unsafe {
    /// They may write to the file.
    #[error("{}: others may write to this file (mode {mode:o}); make it 600", visible(&.path.to_string_lossy()))]
    Writable {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// They may put another file in its place.
    #[error("{}: others may write to this folder (mode {mode:o}), in which what was approved is kept; make it 700", visible(&.path.to_string_lossy()))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is somebody else's.
    #[error("{}: it belongs to user {owner} and not to you (user {user}); remove it, or make it your own", visible(&.path.to_string_lossy()))]
    Foreign {
        /// The file or folder.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Who runs this.
        user: u32,
    },
}

/// Fails when the file at `path`, or a folder on the way to it, is in the hands
/// of others: neither of this user's nor root's, or open for others to write.
/// Folders above the file's own may be writable for their group, as is usual
/// where each user has a group of their own.
#[cfg(unix)]
pub(super) fn check_private(path: &Path) -> Result<(), Unsafe> {
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    let user = nix::unistd::geteuid().as_raw();
    let owned = |path: &Path, owner: u32| match owner {
        0 => Ok(()),
        _ if owner == user => Ok(()),
        _ => Err(Unsafe::Foreign { path: path.to_owned(), owner, user }),
    };
    // What a link stands in counts as well as what it leads to.
    let Ok(path) = std::path::absolute(path) else { return Ok(()) };
    let real = fs::canonicalize(&path).ok();
    if let (Some(real), Ok(metadata)) = (&real, fs::metadata(&path)) {
        owned(real, metadata.uid())?;
        let mode = metadata.mode() & 0o777;
        if mode & 0o022 != 0 {
            return Err(Unsafe::Writable { path: path.clone(), mode });
        }
    }
    let place = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    let target = real.as_deref().and_then(Path::parent).map(Path::to_owned);
    for folder in [place, target].into_iter().flatten() {
        for (nth, folder) in folder.ancestors().enumerate() {
            let Ok(metadata) = fs::metadata(folder) else { continue };
            owned(folder, metadata.uid())?;
            let (mode, others) = (metadata.mode(), if nth == 0 { 0o022 } else { 0o002 });
            // In a sticky folder nobody can touch what is another's.
            if mode & others != 0 && mode & 0o1000 == 0 {
                return Err(Unsafe::Folder { path: folder.to_owned(), mode: mode & 0o777 });
            }
        }
    }
    Ok(())
}

#[cfg(not(unix))]
pub(super) fn check_private(_path: &Path) -> Result<(), Unsafe> {
    Ok(())
}
