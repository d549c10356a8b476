//! Going through a folder and all below it, in order and within bounds.
//!
//! The order is that of the names, level by level, so that a walk can be taken up again after any
//! place. Links are not followed: what they lead to is found where it really is, or is outside.
//! Folders are opened one name at a time through the handle of the folder they are in.

use super::{
    limits::Limits,
    open::{Opened, open_file},
    place::Kind,
};
use cap_std::fs::Dir;
use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    rc::Rc,
};

/// Folders that a walk does not enter unless told to: what tools make and nobody wrote.
pub(super) const SKIPPED: &[&str] = &[".git", "node_modules", "target"];

/// How many folders that were left out are named.
const NAMED: usize = 20;

/// A file that a walk came to.
pub(super) struct Found {
    /// Its path from where the walk began.
    pub(super) path: PathBuf,
    folder: Rc<Dir>,
    name: OsString,
}

impl Found {
    pub(super) fn open(&self) -> io::Result<Opened> {
        open_file(&self.folder, Path::new(&self.name))
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.folder.metadata(&self.name).ok().map(|metadata| metadata.len())
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        self.folder.remove_file(&self.name)
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }
}

/// What a walk left out.
#[derive(Debug, Default)]
pub(super) struct Omitted {
    /// Folders on the list of those not entered, the first of them by name.
    pub(super) skipped: Vec<PathBuf>,
    /// How many more there were.
    pub(super) more_skipped: usize,
    /// How many folders could not be read.
    pub(super) unreadable: usize,
    /// How many links were not followed.
    pub(super) links: usize,
    /// How many folders lay too deep.
    pub(super) deep: usize,
    /// Whether the walk ended early, since too many entries had been looked at.
    pub(super) ended: bool,
}

/// A walk through the files below a folder.
pub(super) struct Walk<'a> {
    limits: &'a Limits,
    enter_all: bool,
    levels: Vec<Level>,
    visited: usize,
    pub(super) omitted: Omitted,
}

/// A folder on the way.
struct Level {
    folder: Rc<Dir>,
    path: PathBuf,
    /// What is left of its entries, the next one last.
    entries: Vec<(OsString, Kind)>,
    /// Where in this folder the walk is taken up again, if that is still to come.
    after: Option<PathBuf>,
}

impl<'a> Walk<'a> {
    /// A walk below `folder`, after the place `after` in it if there is one. `enter_all` also
    /// enters the folders in [`SKIPPED`].
    pub(super) fn new(
        folder: Dir,
        after: Option<&Path>,
        enter_all: bool,
        limits: &'a Limits,
    ) -> io::Result<Self> {
        let mut walk =
            Self { limits, enter_all, levels: Vec::new(), visited: 0, omitted: Omitted::default() };
        walk.enter(folder, PathBuf::new(), after.map(Path::to_owned))?;
        Ok(walk)
    }

    /// How much is left to look at before the walk ends early.
    fn left(&self) -> usize {
        self.limits.visited_entries.saturating_sub(self.visited)
    }

    fn enter(&mut self, folder: Dir, path: PathBuf, after: Option<PathBuf>) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in folder.entries()? {
            if self.left() == 0 {
                self.omitted.ended = true;
                break;
            }
            self.visited += 1;
            let entry = entry?;
            let name = entry.file_name();
            let mut kind = Kind::of(entry.file_type()?);
            if kind == Kind::Special {
                // Some file systems do not say in the listing what an entry is.
                match folder.symlink_metadata(&name) {
                    Ok(metadata) => kind = Kind::of(metadata.file_type()),
                    Err(_) => continue,
                }
            }
            entries.push((name, kind));
        }
        entries.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        self.levels.push(Level { folder: Rc::new(folder), path, entries, after });
        Ok(())
    }

    fn enter_named(&mut self, name: &OsStr, path: PathBuf, after: Option<PathBuf>) {
        let Some(level) = self.levels.last() else { return };
        if !self.enter_all && SKIPPED.iter().any(|skipped| name == OsStr::new(skipped)) {
            match self.omitted.skipped.len() {
                NAMED => self.omitted.more_skipped += 1,
                _ => self.omitted.skipped.push(path),
            }
            return;
        }
        if self.levels.len() >= self.limits.depth {
            self.omitted.deep += 1;
            return;
        }
        let entered = level.folder.open_dir(name).and_then(|dir| self.enter(dir, path, after));
        if entered.is_err() {
            self.omitted.unreadable += 1;
        }
    }
}

impl Iterator for Walk<'_> {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let level = self.levels.last_mut()?;
            let Some((name, kind)) = level.entries.pop() else {
                self.levels.pop();
                continue;
            };
            let mut rest = None;
            if let Some(after) = &level.after {
                let mut way = after.components();
                let first = way.next().map(|first| first.as_os_str().to_owned());
                match first.map(|first| name.cmp(&first)) {
                    Some(std::cmp::Ordering::Less) => continue,
                    Some(std::cmp::Ordering::Equal) => {
                        rest =
                            Some(way.as_path().to_owned()).filter(|w| w.components().count() > 0);
                        if rest.is_none() {
                            continue;
                        }
                    }
                    _ => {}
                }
            }
            let path = level.path.join(&name);
            match kind {
                Kind::File => {
                    return Some(Found { path, folder: Rc::clone(&level.folder), name });
                }
                Kind::Folder => self.enter_named(&name, path, rest),
                Kind::Link => self.omitted.links += 1,
                Kind::Special => {}
            }
        }
    }
}
