//! `list_files`: what a folder holds.

use super::{Files, error::FilesError, name, place::Kind};
use crate::text::visible;
use cap_std::fs::{Dir, Metadata};
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::{collections::BinaryHeap, ffi::OsString, fmt};

/// The answer of `list_files`.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Listing {
    /// The folder that was listed
    pub path: String,
    /// What it holds, sorted by name
    pub entries: Vec<Entry>,
    /// Where to go on, as `after`, when there is more than fits in one answer
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// All folders that may be used, when there are several and none was named
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// What is missing from the answer, and why
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// One entry of a folder.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Entry {
    // Bytes that are no UTF-8 are escaped: see `super::name`. Schemas need not say it.
    /// The name within the folder
    pub name: String,
    /// What it is
    pub kind: Kind,
    /// The size of a file in bytes
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// When it was last changed, in RFC 3339 form
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
}

impl Entry {
    fn new(name: &OsString, metadata: &Metadata) -> Self {
        let kind = Kind::of(metadata.file_type());
        let modified = metadata.modified().ok().map(cap_std::time::SystemTime::into_std);
        Self {
            name: name::to_text(name),
            kind,
            size: (kind == Kind::File).then(|| metadata.len()),
            modified: modified
                .and_then(|at| Timestamp::try_from(at).ok())
                .and_then(|at| Timestamp::from_second(at.as_second()).ok())
                .map(|at| at.to_string()),
        }
    }
}

impl Files {
    /// Lists the folder `path`, or the default one, sorted by name and without what is deeper.
    /// Given the `next` of an earlier answer as `after`, goes on from there.
    ///
    /// # Errors
    ///
    /// A path that is outside, of a bad form, missing, no folder, or not permitted.
    pub fn list(&self, path: Option<&str>, after: Option<&str>) -> Result<Listing, FilesError> {
        let text = path.unwrap_or_default();
        let place = self.roots.locate(text)?;
        let text = if text.is_empty() { "." } else { text };
        let folder = self.roots.open_folder(&place, text)?;
        let mut notes = Vec::new();
        let (names, more) = self
            .smallest_names(&folder, after, &mut notes)
            .map_err(|error| FilesError::io(text, error))?;
        let entries: Vec<Entry> = names
            .iter()
            // What vanishes in between is not there any more.
            .filter_map(|name| Some(Entry::new(name, &folder.symlink_metadata(name).ok()?)))
            .collect();
        let next = if more { names.last().map(|last| name::to_text(last)) } else { None };
        let several = path.is_none_or(str::is_empty) && self.roots.len() > 1;
        Ok(Listing {
            path: self.roots.name(&place),
            entries,
            next,
            folders: if several { self.roots.shown() } else { Vec::new() },
            notes,
        })
    }

    /// The first names of a folder in order, and whether there are more. Never holds more names
    /// than are returned, however many there are.
    fn smallest_names(
        &self,
        folder: &Dir,
        after: Option<&str>,
        notes: &mut Vec<String>,
    ) -> std::io::Result<(Vec<OsString>, bool)> {
        let limit = self.limits.list_entries;
        let mut kept: BinaryHeap<OsString> = BinaryHeap::new();
        let mut more = false;
        for (count, entry) in folder.entries()?.enumerate() {
            if count == self.limits.visited_entries {
                notes.push(format!(
                    "only the first {count} entries that the system returned were looked at \
                     (visited_entries)"
                ));
                break;
            }
            let name = entry?.file_name();
            if after.is_some_and(|after| !name::is_after(&name, after)) {
                continue;
            }
            kept.push(name);
            if kept.len() > limit {
                kept.pop();
                more = true;
            }
        }
        Ok((kept.into_sorted_vec(), more))
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", visible(&self.path))?;
        for entry in &self.entries {
            write!(f, "\n{}", visible(&entry.name))?;
            match (entry.kind, entry.size) {
                (Kind::Folder, _) => f.write_str("/")?,
                (Kind::Link, _) => f.write_str(" (link)")?,
                (Kind::Special, _) => f.write_str(" (device, pipe or socket)")?,
                (Kind::File, Some(size)) => write!(f, " ({size} bytes)")?,
                (Kind::File, None) => {}
            }
        }
        if self.entries.is_empty() {
            f.write_str("\n(empty)")?;
        }
        if let Some(next) = &self.next {
            write!(f, "\n[There is more: list again with after=\"{}\".]", visible(next))?;
        }
        if !self.folders.is_empty() {
            write!(f, "\n[Folders that may be used: {}]", visible(&self.folders.join(", ")))?;
        }
        self.notes.iter().try_for_each(|note| write!(f, "\n[{note}]"))
    }
}
