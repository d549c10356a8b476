//! What a path comes down to: a folder that was given, and a way below it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A place below one of the folders that were given.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Place {
    /// Which folder, by its position.
    pub(super) root: usize,
    /// The way below it; empty for the folder itself.
    pub(super) path: PathBuf,
}

impl Place {
    /// The way below the folder in the form that directory handles take.
    pub(super) fn relative(&self) -> &Path {
        if self.path.as_os_str().is_empty() { Path::new(".") } else { &self.path }
    }
}

/// What stands at a place.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// A regular file
    File,
    /// A folder
    Folder,
    /// A symbolic link
    Link,
    /// A device, pipe or socket, which is never opened
    Special,
}

impl Kind {
    pub(super) fn of(file_type: cap_std::fs::FileType) -> Self {
        if file_type.is_file() {
            Self::File
        } else if file_type.is_dir() {
            Self::Folder
        } else if file_type.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }

    pub(super) fn article(self) -> &'static str {
        match self {
            Self::File => "a file",
            Self::Folder => "a folder",
            Self::Link => "a link",
            Self::Special => "a device, pipe or socket",
        }
    }
}
