//! Changing a small file so that it is always whole.
//!
//! Settings, approvals and pins are changed by several processes at once and
//! must survive a crash and a full disk. A change takes a lock, reads the file
//! anew, writes the result to a temporary file in the same folder, makes sure
//! that it is on the disk, and renames it into place.

mod private;

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub use private::Unsafe;
use private::check_private;

use carrick_policy::visible;

/// The largest file that is changed: 64 MiB.
const MAX_BYTES: u64 = 64 << 20;

/// How long to wait for another process that is changing the same file.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// A file could not be changed. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The operating system refused something.
    #[error("{}: {action}: {source}", visible(&.path.to_string_lossy()))]
    Io {
        /// The file that was to be changed.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the system answered.
        source: io::Error,
    },
    /// Another process holds the lock and does not let go of it.
    #[error("{}: still locked by another process after {} s", visible(&.path.to_string_lossy()), LOCK_WAIT.as_secs())]
    Locked {
        /// The file that was to be changed.
        path: PathBuf,
    },
    /// Others could put into the file what only its owner may.
    #[error(transparent)]
    Unsafe(#[from] Unsafe),
    /// The file is larger than any file of its kind.
    #[error("{}: larger than {MAX_BYTES} bytes", visible(&.path.to_string_lossy()))]
    TooLarge {
        /// The file that was to be changed.
        path: PathBuf,
    },
}

/// Changes the file at `path`: `change` is given its content (`None` if there
/// is no such file) and returns the new one, and a value to hand back.
///
/// A link is followed and stays a link. The file keeps its mode (a new file
/// can be read by its owner only), and what it held is kept beside it as
/// `<name>.bak`. Missing folders are made, for the owner only. A lock file
/// `.<name>.lock` stays beside it. Blocks for at most ten seconds when another
/// process is changing the file.
///
/// # Errors
///
/// What `change` returns, and then nothing was written: a file that cannot be
/// understood is not overwritten. Otherwise what went wrong with the file,
/// which then is as it was.
pub fn update<T, E: From<StoreError>>(
    path: &Path,
    change: impl FnOnce(Option<&[u8]>) -> Result<(Vec<u8>, T), E>,
) -> Result<T, E> {
    let fail = |action| move |source| StoreError::Io { path: path.to_owned(), action, source };
    let target = target(path).map_err(fail("following the link"))?;
    let folder = target.parent().unwrap_or(Path::new("."));
    make_folders(folder).map_err(fail("making its folder"))?;
    let _lock = lock(&target)?;
    let old = read(&target)?;
    let (new, value) = change(old.as_deref())?;
    if old.as_deref() == Some(new.as_slice()) {
        return Ok(value);
    }
    if let Some(old) = &old {
        let backup = sibling(&target, "", ".bak");
        replace(&backup, &target, |file| file.write_all(old)).map_err(fail("keeping a backup"))?;
    }
    replace(&target, &target, |file| file.write_all(&new)).map_err(fail("writing"))?;
    Ok(value)
}

/// The content of a file that decides what may run, or `None` if there is none.
/// One that others could have written is refused.
pub(crate) fn read_private(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    check_private(path)?;
    read(path)
}

/// The days since 1970: how old records of such files are counted.
pub(crate) fn today() -> u32 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u32::try_from(since.as_secs() / (24 * 60 * 60)).unwrap_or(u32::MAX)
}

/// The content of the file at `path`, or `None` if there is none.
fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    let fail = |source| StoreError::Io { path: path.to_owned(), action: "reading", source };
    match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(fail(error)),
        Ok(metadata) if !metadata.is_file() => {
            return Err(fail(io::Error::other("not a regular file")));
        }
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(fail)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(StoreError::TooLarge { path: path.to_owned() });
    }
    Ok(Some(bytes))
}

/// The file that `path` leads to, by way of links, even if it does not exist.
fn target(path: &Path) -> io::Result<PathBuf> {
    let mut path = std::path::absolute(path)?;
    for _ in 0..40 {
        match fs::read_link(&path) {
            Ok(next) => path = path.parent().unwrap_or(Path::new("/")).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links"))
}

#[cfg(unix)]
fn make_folders(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folders(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Waits for the lock that all who change `target` take. It ends with the
/// returned file, also when the process is killed.
///
/// The lock stands on a file of its own that is never removed: the target
/// itself is replaced by every change, and removing a lock file lets two
/// processes lock two different ones.
fn lock(target: &Path) -> Result<File, StoreError> {
    let fail = |source| StoreError::Io { path: target.to_owned(), action: "locking", source };
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(sibling(target, ".", ".lock")).map_err(fail)?;
    let begin = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(fail(error)),
            Err(TryLockError::WouldBlock) if begin.elapsed() < LOCK_WAIT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::Locked { path: target.to_owned() });
            }
        }
    }
}

/// Puts what `write` writes in the place of `path`, whole or not at all, with
/// the mode and the owner of the file `like`, if there is one.
fn replace(
    path: &Path,
    like: &Path,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let prefix = sibling(path, ".", ".");
    let prefix = prefix.file_name().unwrap_or_default();
    // Made for the owner only, and removed again unless it is renamed.
    let mut new = tempfile::Builder::new().prefix(prefix).tempfile_in(folder)?;
    write(new.as_file_mut())?;
    match fs::metadata(like) {
        Ok(metadata) => dress(new.as_file(), &metadata)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    new.as_file().sync_all()?;
    new.persist(path).map_err(|error| error.error)?;
    sync_folder(folder)
}

#[cfg(unix)]
fn dress(file: &File, like: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (like.uid(), like.gid()) {
        // Only root may give files away; a file in somebody else's folder then
        // becomes one's own, as with any editor.
        let _ = fchown(file, Some(like.uid()), Some(like.gid()));
    }
    file.set_permissions(like.permissions())
}

#[cfg(not(unix))]
fn dress(file: &File, like: &fs::Metadata) -> io::Result<()> {
    file.set_permissions(like.permissions())
}

/// Makes sure that the rename itself is on the disk.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// A file name made of another, in the same folder.
fn sibling(path: &Path, before: &str, after: &str) -> PathBuf {
    let mut name = OsString::from(before);
    name.push(path.file_name().unwrap_or_default());
    name.push(after);
    path.with_file_name(name)
}

#[cfg(test)]
mod tests;
