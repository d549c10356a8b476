//! Absolute paths as names, to be compared and to be written as URIs.

use super::Style;
use std::{
    ffi::{OsStr, OsString},
    path::{Component, Path, PathBuf, Prefix},
};

/// A place on the machine, by its names from the top.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in super::super) struct Spelling {
    /// The drive in upper case, where the operating system has drives.
    pub(in super::super) drive: Option<char>,
    /// The names on the way.
    pub(in super::super) parts: Vec<OsString>,
}

impl Spelling {
    /// The names of an absolute path of this machine; `None` for a path without a drive where
    /// there are drives, or on another machine.
    pub(in super::super) fn of(path: &Path) -> Option<Self> {
        let mut spelling = Self { drive: None, parts: Vec::new() };
        for component in path.components() {
            match component {
                Component::Prefix(prefix) => match prefix.kind() {
                    Prefix::Disk(letter) | Prefix::VerbatimDisk(letter) => {
                        spelling.drive = Some(char::from(letter.to_ascii_uppercase()));
                    }
                    _ => return None,
                },
                Component::RootDir | Component::CurDir => {}
                Component::ParentDir => {
                    spelling.parts.pop();
                }
                Component::Normal(name) => spelling.parts.push(name.to_owned()),
            }
        }
        (path.is_absolute()).then_some(spelling)
    }

    /// What remains of `self` below `root`, compared name by name; `None` if it is not below.
    pub(in super::super) fn below(&self, root: &Self, style: Style) -> Option<PathBuf> {
        if self.drive != root.drive || self.parts.len() < root.parts.len() {
            return None;
        }
        let (head, tail) = self.parts.split_at(root.parts.len());
        let same = head.iter().zip(&root.parts).all(|(a, b)| same_name(a, b, style));
        same.then(|| tail.iter().collect())
    }

    /// Where a link with the contents `target` points that stands in the folder `self`.
    pub(in super::super) fn join(&self, target: &Path) -> Option<Self> {
        if target.is_absolute() {
            return Self::of(target);
        }
        let mut joined = self.clone();
        for component in target.components() {
            match component {
                Component::Prefix(_) | Component::RootDir => return None,
                Component::CurDir => {}
                Component::ParentDir => {
                    joined.parts.pop();
                }
                Component::Normal(name) => joined.parts.push(name.to_owned()),
            }
        }
        Some(joined)
    }

    /// The `file:` URI of this place. `None` if no URI can name it: a name has a backslash, or is
    /// not Unicode where names have to be.
    pub(in super::super) fn to_uri(&self) -> Option<String> {
        let mut uri = "file://".to_owned();
        if let Some(drive) = self.drive {
            uri.extend(['/', drive, ':']);
        }
        for name in &self.parts {
            let bytes = name_bytes(name)?;
            if bytes.contains(&b'\\') {
                return None;
            }
            uri.push('/');
            uri.extend(percent_encoding::percent_encode(bytes, ESCAPED));
        }
        if self.parts.is_empty() {
            uri.push('/');
        }
        Some(uri)
    }
}

/// What is escaped in a segment of a path: all but the unreserved and the harmless (RFC 3986).
const ESCAPED: &percent_encoding::AsciiSet = &percent_encoding::NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b';')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere not all names are Unicode")]
fn name_bytes(name: &OsStr) -> Option<&[u8]> {
    use std::os::unix::ffi::OsStrExt;
    Some(name.as_bytes())
}

#[cfg(not(unix))]
fn name_bytes(name: &OsStr) -> Option<&[u8]> {
    name.to_str().map(str::as_bytes)
}

fn same_name(a: &OsStr, b: &OsStr, style: Style) -> bool {
    match style {
        Style::Unix => a == b,
        // A wrong "same" only leads into the folder that was given; the file system decides there.
        Style::Windows => a.to_string_lossy().to_lowercase() == b.to_string_lossy().to_lowercase(),
    }
}
