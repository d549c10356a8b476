//! The built-in server `files`: files under given folders, and nothing outside of them.
//!
//! Containment is decided twice. First by name alone: a path is taken apart, its `.` and `..` are
//! worked out, and it must lie below a folder that was given, compared name by name. Then by the
//! operating system: everything is opened through a capability, the handle of that folder, which
//! neither links nor changes made at the same time can lead out of. See [`Files`].

mod error;
mod limits;
mod list;
mod mime;
mod name;
mod open;
mod path;
mod place;
mod read;
mod resource;
mod roots;
mod search;
mod server;
mod sweep;
mod walk;
mod write;

#[cfg(test)]
mod tests;

pub use error::FilesError;
pub use limits::Limits;
pub use list::{Entry, Listing};
pub use path::PathFault;
pub use place::Kind;
pub use read::FileText;
pub use resource::{Data, FileResource, ResourceData, ResourcePage};
pub use roots::MissingRoot;
pub use search::{FileMatch, LineMatch, Search, SearchResult};
pub use server::server;
pub use write::Written;

use roots::Roots;
use std::path::{Path, PathBuf};

/// What the server `files` may use.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct FilesOptions {
    /// The folders, the default one first.
    pub roots: Vec<PathBuf>,
    /// Whether files may only be read. Default: true.
    pub read_only: bool,
    /// How much one request may cost.
    pub limits: Limits,
}

impl FilesOptions {
    /// `roots` for reading.
    pub fn new(roots: impl IntoIterator<Item = impl Into<PathBuf>>) -> Self {
        let roots = roots.into_iter().map(Into::into).collect();
        Self { roots, read_only: true, limits: Limits::default() }
    }

    /// Lets files be written, too.
    #[must_use]
    pub fn writable(mut self) -> Self {
        self.read_only = false;
        self
    }
}

/// The core of the server `files`: every tool and resource as a function that blocks.
///
/// Paths are relative to the first folder, or absolute within any of them, also in the spelling
/// that a folder has after its links are followed, or `file:` URIs of such paths. Links are
/// followed as long as they lead to a place within a folder. Devices, pipes and sockets are never
/// opened.
#[derive(Debug)]
pub struct Files {
    roots: Roots,
    missing: Vec<MissingRoot>,
    read_only: bool,
    limits: Limits,
}

impl Files {
    /// Opens the folders. One that cannot be opened is left out and told by [`Files::missing`].
    /// Where files may be written, what a server that was killed has left of its writing is
    /// removed.
    pub fn open(options: FilesOptions) -> Self {
        let (roots, missing) = Roots::open(&options.roots);
        if !options.read_only {
            roots.dirs().for_each(sweep::sweep);
        }
        Self { roots, missing, read_only: options.read_only, limits: options.limits }
    }

    /// The folders that were left out, to be told to who started the server.
    pub fn missing(&self) -> &[MissingRoot] {
        &self.missing
    }

    /// The folders in use, absolute, the default one first.
    pub fn roots(&self) -> impl Iterator<Item = &Path> {
        self.roots.paths()
    }

    /// Whether [`Files::write`] is refused.
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }
}
