//! Files as resources with `file:` URIs.

use super::{Files, error::FilesError, mime, place::Place, walk::Walk};
use std::{
    io::Read,
    path::{Path, PathBuf},
};

/// A file that can be read as a resource.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct FileResource {
    /// Its URI.
    pub uri: String,
    /// Its path as the tools call it.
    pub name: String,
    /// What it probably holds, by its name. `None` where only its contents could tell.
    pub mime: Option<&'static str>,
    /// Its size in bytes, if it could be told.
    pub size: Option<u64>,
}

/// One page of resources.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct ResourcePage {
    /// The files, folder by folder, sorted by path.
    pub resources: Vec<FileResource>,
    /// Where the next page begins; `None` on the last page.
    pub next: Option<String>,
    /// Whether files are missing, since folders could not be read, lay too deep, or had too many
    /// entries.
    pub incomplete: bool,
}

/// Where a page begins.
#[derive(Default)]
struct Start {
    /// How many files the pages before had.
    listed: usize,
    root: usize,
    /// The last file of the page before, below `root`.
    after: Option<PathBuf>,
}

/// What a resource holds.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct ResourceData {
    /// What it probably holds, as a MIME type.
    pub mime: &'static str,
    /// The text or bytes.
    pub data: Data,
}

/// The contents of a file.
#[derive(Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub enum Data {
    /// UTF-8 text.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl Files {
    /// One page of the files in all folders. `cursor` is the `next` of the page before; what is in
    /// `.git`, `node_modules` and `target` is not listed, nor what comes after the first
    /// [`Limits::resources`](super::Limits::resources) files, but all of it can be read.
    ///
    /// # Errors
    ///
    /// A cursor that no page has given.
    pub fn resources(&self, cursor: Option<&str>) -> Result<ResourcePage, FilesError> {
        let wrong = || FilesError::argument("cursor", "not a cursor of this server");
        let mut start = match cursor {
            None => Start::default(),
            Some(cursor) => self.start(cursor).ok_or_else(wrong)?,
        };
        let most = self.limits.resources.saturating_sub(start.listed);
        let size = self.limits.resource_page.min(most);
        let mut page = ResourcePage::default();
        let mut last_root = start.root;
        for root in start.root..self.roots.len() {
            let before = page.resources.len();
            let more = self.fill(&mut page, size, root, start.after.take())?;
            if page.resources.len() > before {
                last_root = root;
            }
            if more {
                match page.resources.last() {
                    Some(last) if size < most => {
                        let listed = start.listed + size;
                        page.next = Some(format!("{listed}:{last_root}:{}", last.uri));
                    }
                    _ => page.incomplete = true,
                }
                break;
            }
        }
        Ok(page)
    }

    /// Reads a cursor: how many files came before, and the last of them by folder and URI.
    fn start(&self, cursor: &str) -> Option<Start> {
        let (listed, rest) = cursor.split_once(':')?;
        let (root, uri) = rest.split_once(':')?;
        let root = root.parse().ok()?;
        let after = Some(self.roots.below(root, uri)?);
        Some(Start { listed: listed.parse().ok()?, root, after })
    }

    /// Adds the files of one folder after `after`, up to `size` in all. Whether there is one more.
    fn fill(
        &self,
        page: &mut ResourcePage,
        size: usize,
        root: usize,
        after: Option<PathBuf>,
    ) -> Result<bool, FilesError> {
        let top = Place { root, path: PathBuf::new() };
        let folder = self.roots.open_folder(&top, ".")?;
        let mut walk = Walk::new(folder, after.as_deref(), false, &self.limits)
            .map_err(|error| FilesError::io(".", error))?;
        while let Some(found) = walk.next() {
            let place = Place { root, path: found.path.clone() };
            // Found again in another folder that lies in this one or is the same.
            if self.roots.is_shadowed(&place) {
                continue;
            }
            // What no URI can name cannot be read as a resource.
            let Some(uri) = self.roots.uri(&place) else { continue };
            if page.resources.len() >= size {
                page.incomplete |= walk.omitted.ended;
                return Ok(true);
            }
            page.resources.push(FileResource {
                name: self.roots.name(&place),
                mime: mime::by_name(&found.path),
                size: found.size(),
                uri,
            });
        }
        let omitted = walk.omitted;
        page.incomplete |= omitted.ended || omitted.unreadable > 0 || omitted.deep > 0;
        Ok(false)
    }

    /// The URIs of the folders, as far as URIs can name them.
    pub fn root_uris(&self) -> impl Iterator<Item = String> {
        let top = |root| Place { root, path: PathBuf::new() };
        (0..self.roots.len()).filter_map(move |root| self.roots.uri(&top(root)))
    }

    /// Reads the whole file that `uri` names.
    ///
    /// # Errors
    ///
    /// [`FilesError::is_no_resource`] tells those after which a server answers that there is no
    /// such resource: they do not differ for what is outside of the folders. Further a file above
    /// [`Limits::resource_bytes`](super::Limits::resource_bytes), and failures of the machine.
    pub fn read_resource(&self, uri: &str) -> Result<ResourceData, FilesError> {
        let limit = self.limits.resource_bytes;
        let place = self.roots.locate_uri(uri)?;
        let (file, metadata) = self.roots.open_file(&place, uri)?;
        let too_large = |size| FilesError::TooLarge {
            path: super::error::shown(uri),
            size,
            limit,
            what: "resource_bytes",
            hint: "; read it in parts with read_file",
        };
        if metadata.len() > limit {
            return Err(too_large(metadata.len()));
        }
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes).map_err(|error| FilesError::io(uri, error))?;
        if bytes.len() as u64 > limit {
            return Err(too_large(bytes.len() as u64));
        }
        let path = Path::new(&place.path);
        let data = match mime::is_binary(&bytes) {
            true => Data::Bytes(bytes),
            false => match String::from_utf8(bytes) {
                Ok(text) => Data::Text(text),
                Err(error) => Data::Bytes(error.into_bytes()),
            },
        };
        Ok(ResourceData { mime: mime::guess(path, matches!(data, Data::Text(_))), data })
    }
}

impl FilesError {
    /// Whether this is answered as "no such resource". What is outside, of a bad form, missing or
    /// not a file is one and the same, so that the answer tells nothing about the machine.
    pub fn is_no_resource(&self) -> bool {
        matches!(
            self,
            Self::Outside { .. }
                | Self::LinkOutside { .. }
                | Self::Path { .. }
                | Self::NotFound { .. }
                | Self::WrongKind { .. }
                | Self::NoRoots
        )
    }
}
