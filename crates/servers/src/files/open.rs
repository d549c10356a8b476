//! Opening what a path names, without leaving the folders and without waiting for anything.
//!
//! Every access goes through the directory handle of a folder that was given, so that neither
//! `..` nor links can leave it, not even when they change between two calls. Such a handle also
//! refuses absolute links and links to a sibling folder, whose target may well be allowed. Those
//! are read and the path is written anew; the new path goes through a handle again.

use super::{
    error::{FilesError, is_escape, shown},
    place::{Kind, Place},
    roots::Roots,
};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use std::{io, path::Path};

/// As many links are followed as Linux does.
const MOST_LINKS: usize = 40;

/// What opening a file came to.
pub(super) enum Opened {
    /// A regular file, at its start.
    File(File, Metadata),
    /// Something else, which was not opened.
    Other(Kind),
}

impl Roots {
    /// Opens the regular file at `place`. `text` is how the caller called it.
    pub(super) fn open_file(
        &self,
        place: &Place,
        text: &str,
    ) -> Result<(File, Metadata), FilesError> {
        match self.through_links(place, text, open_file)? {
            Opened::File(file, metadata) => Ok((file, metadata)),
            Opened::Other(kind) => Err(FilesError::wrong_kind(text, kind, Kind::File)),
        }
    }

    /// Opens the folder at `place`.
    pub(super) fn open_folder(&self, place: &Place, text: &str) -> Result<Dir, FilesError> {
        let metadata = self.metadata(place, text)?;
        if !metadata.is_dir() {
            let kind = Kind::of(metadata.file_type());
            return Err(FilesError::wrong_kind(text, kind, Kind::Folder));
        }
        self.through_links(place, text, |dir, path| dir.open_dir(path))
    }

    /// What stands at `place`, links followed.
    pub(super) fn metadata(&self, place: &Place, text: &str) -> Result<Metadata, FilesError> {
        self.through_links(place, text, |dir, path| dir.metadata(path))
    }

    /// The place that `place` stands for when all links on the way and at its end are followed.
    /// What does not exist yet is left as it is.
    pub(super) fn follow(&self, place: &Place, text: &str) -> Result<Place, FilesError> {
        let mut place = place.clone();
        for _ in 0..MOST_LINKS {
            match self.without_first_link(&place, text)? {
                None => return Ok(place),
                Some(next) => place = next,
            }
        }
        Err(too_many_links(text))
    }

    /// Runs `access`; if a link gets in its way, again on the path that the link stands for.
    fn through_links<T>(
        &self,
        place: &Place,
        text: &str,
        access: impl Fn(&Dir, &Path) -> io::Result<T>,
    ) -> Result<T, FilesError> {
        let mut place = place.clone();
        for _ in 0..MOST_LINKS {
            let error = match access(self.dir(&place), place.relative()) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            if !is_escape(&error) {
                return Err(FilesError::io(text, error));
            }
            match self.without_first_link(&place, text)? {
                Some(next) => place = next,
                // Links that were there a moment ago are gone: somebody is changing them.
                None => return Err(FilesError::io(text, error)),
            }
        }
        Err(too_many_links(text))
    }

    /// `place` with the first link on its way replaced by what the link says; `None` if there is
    /// no link on it.
    fn without_first_link(&self, place: &Place, text: &str) -> Result<Option<Place>, FilesError> {
        let dir = self.dir(place);
        let mut way = place.path.iter();
        let mut before = Place { root: place.root, path: Default::default() };
        while let Some(name) = way.next() {
            let here = before.path.join(name);
            let is_link = match dir.symlink_metadata(&here) {
                Ok(metadata) => metadata.is_symlink(),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(FilesError::io(text, error)),
            };
            if !is_link {
                before.path = here;
                continue;
            }
            let target =
                dir.read_link_contents(&here).map_err(|error| FilesError::io(text, error))?;
            let outside = || FilesError::LinkOutside { path: shown(text) };
            let mut spelling = self.resolved(&before).join(&target).ok_or_else(outside)?;
            spelling.parts.extend(way.map(ToOwned::to_owned));
            return self.place_of(&spelling).map(Some).ok_or_else(outside);
        }
        Ok(None)
    }
}

/// Opens a regular file for reading. Pipes, sockets and devices are recognised before they are
/// opened, since opening one can wait for ever or have effects; and should one be put in the
/// file's place at that very moment, opening it does not wait and it is not read.
pub(super) fn open_file(dir: &Dir, path: &Path) -> io::Result<Opened> {
    let metadata = dir.metadata(path)?;
    if !metadata.is_file() {
        return Ok(Opened::Other(Kind::of(metadata.file_type())));
    }
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        use nix::fcntl::OFlag;
        options.custom_flags((OFlag::O_NONBLOCK | OFlag::O_NOCTTY).bits());
    }
    let file = dir.open_with(path, &options)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Ok(Opened::Other(Kind::of(metadata.file_type())));
    }
    Ok(Opened::File(file, metadata))
}

fn too_many_links(text: &str) -> FilesError {
    FilesError::Io {
        path: shown(text),
        source: io::Error::other("too many links, probably going round in a circle"),
    }
}
