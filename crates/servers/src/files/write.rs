//! `write_file`: a file is there whole or not at all.

use super::{
    Files,
    error::{FilesError, shown},
    place::{Kind, Place},
    sweep,
};
use cap_std::fs::{Dir, OpenOptions, Permissions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{
    ffi::OsStr,
    fmt,
    fs::File,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// The answer of `write_file`.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Written {
    /// The file that was written
    pub path: String,
    /// Its size now, in bytes
    pub bytes: u64,
    /// Whether it is new
    pub created: bool,
}

impl Files {
    /// Writes `content` to the file `path`, which is made, with the folders that it needs, or
    /// replaced. Readers see the old text or the new one, never a part. A file that is replaced
    /// keeps its permissions; if the path is a link, the file that it leads to is replaced.
    ///
    /// # Errors
    ///
    /// [`FilesError::ReadOnly`]; a path that is outside, of a bad form, no file, or not permitted;
    /// a content above [`Limits::write_bytes`](super::Limits::write_bytes).
    pub fn write(&self, path: &str, content: &str) -> Result<Written, FilesError> {
        if self.read_only {
            return Err(FilesError::ReadOnly);
        }
        if content.len() > self.limits.write_bytes {
            return Err(FilesError::TooLarge {
                path: shown(path),
                size: content.len() as u64,
                limit: self.limits.write_bytes as u64,
                what: "write_bytes",
                hint: "",
            });
        }
        let place = self.roots.follow(&self.roots.locate(path)?, path)?;
        let io = |error| FilesError::io(path, error);
        let Some(name) = place.path.file_name() else {
            return Err(FilesError::wrong_kind(path, Kind::Folder, Kind::File));
        };
        let (folder, made) = self.folder_of(&place).map_err(io)?;
        let written = self.write_in(&folder, name, content.as_bytes(), path);
        if written.is_err() {
            made.remove(self.roots.dir(&place));
        }
        let created = written?;
        Ok(Written { path: self.roots.name(&place), bytes: content.len() as u64, created })
    }

    /// Writes the file `name` in `folder`; whether it is new. `path` is how the caller called it.
    fn write_in(
        &self,
        folder: &Dir,
        name: &OsStr,
        content: &[u8],
        path: &str,
    ) -> Result<bool, FilesError> {
        let io = |error| FilesError::io(path, error);
        let before = match folder.symlink_metadata(name) {
            Ok(metadata) if metadata.is_file() => Some(metadata.permissions()),
            Ok(metadata) => {
                let kind = Kind::of(metadata.file_type());
                return Err(FilesError::wrong_kind(path, kind, Kind::File));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(io(error)),
        };
        // Replacing needs no permission on the file itself, but who took it away meant it.
        if before.as_ref().is_some_and(Permissions::readonly) {
            return Err(FilesError::Permission { path: shown(path) });
        }
        let created = before.is_none();
        replace(folder, name, content, before.map(kept)).map_err(io)?;
        Ok(created)
    }

    /// Opens the folder that `place` is in, after making what is missing of it.
    /// None is left where that fails.
    fn folder_of(&self, place: &Place) -> io::Result<(Dir, Made)> {
        let dir = self.roots.dir(place);
        let mut made = Made::default();
        let parent = match place.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => return Ok((dir.open_dir(".")?, made)),
        };
        match made.make(dir, parent).and_then(|()| dir.open_dir(parent)) {
            Ok(folder) => Ok((folder, made)),
            Err(error) => {
                made.remove(dir);
                Err(error)
            }
        }
    }
}

/// The folders that were made for a file, the outermost first.
#[derive(Default)]
struct Made(Vec<PathBuf>);

impl Made {
    /// Makes what is missing of `folder`.
    fn make(&mut self, dir: &Dir, folder: &Path) -> io::Result<()> {
        let mut ways: Vec<&Path> = folder.ancestors().collect();
        ways.retain(|way| !way.as_os_str().is_empty());
        for way in ways.into_iter().rev() {
            match dir.create_dir(way) {
                Ok(()) => self.0.push(way.to_owned()),
                Err(_) if dir.is_dir(way) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes them again. One in which somebody else has put something stays.
    fn remove(self, dir: &Dir) {
        for made in self.0.iter().rev() {
            if dir.remove_dir(made).is_err() {
                return;
            }
        }
    }
}

/// What a file that is replaced keeps. The new one belongs to who writes: to run as its owner or
/// group was never granted for that one.
#[cfg(unix)]
fn kept(permissions: Permissions) -> Permissions {
    use cap_std::fs::PermissionsExt;
    Permissions::from_mode(permissions.mode() & 0o777)
}

#[cfg(not(unix))]
fn kept(permissions: Permissions) -> Permissions {
    permissions
}

/// Puts `content` where `name` is, by way of a new file beside it.
fn replace(
    folder: &Dir,
    name: &OsStr,
    content: &[u8],
    permissions: Option<Permissions>,
) -> io::Result<()> {
    let (aside, mut file) = new_beside(folder)?;
    let written = (|| {
        if let Some(permissions) = permissions {
            let std = permissions.into_std(&file)?;
            file.set_permissions(std)?;
        }
        file.write_all(content)?;
        // Else a crash soon after could leave the new name with none of the text.
        file.sync_all()?;
        folder.rename(&aside, folder, Path::new(name))
    })();
    if written.is_err() {
        // The first error is the one to tell.
        let _ = folder.remove_file(&aside);
    }
    written
}

/// A new file under a name that nobody uses.
fn new_beside(folder: &Dir) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    const TRIES: usize = 100;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    for _ in 0..TRIES {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = sweep::name(count);
        match folder.open_with(&name, &options).map(cap_std::fs::File::into_std) {
            Ok(file) if sweep::hold(folder, &name, &file) => return Ok((name, file)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("no unused name for a temporary file was found"))
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let done = if self.created { "Created" } else { "Replaced" };
        write!(f, "{done} {} ({} bytes).", crate::text::visible(&self.path), self.bytes)
    }
}
