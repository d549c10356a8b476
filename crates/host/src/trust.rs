//! Which project configurations a person has approved, by content.
//!
//! A project's config came with the project, from anybody. Nothing in it runs
//! until a person has seen what it would run and said yes; any change to the
//! file asks again, and says what is different. What was approved is kept in
//! one file of the person's state folder, readable by them only. Values of
//! variables and headers, which may be secret, are kept as salted digests.

mod record;
mod review;

use std::path::{Path, PathBuf};

use crate::config::{ConfigFile, ContentHash, StoreError, path_key, read_private, today, update};
use carrick_policy::visible;
use record::{Record, TrustFile};

pub use review::{Review, ReviewLine};

/// A use is written down when the last one is that old, in days: only which
/// approval was not used for longest is to be known.
const USE_DAYS: u32 = 7;

/// The approvals of one person.
#[derive(Debug)]
pub struct TrustStore {
    path: PathBuf,
    known: TrustFile,
    preapproved: Vec<ContentHash>,
}

/// Whether a file may take part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TrustStatus {
    /// A person approved exactly this content at this place, or it needs no
    /// approval.
    Trusted,
    /// Nobody approved any content at this place.
    Unknown,
    /// Something was approved at this place, and this is not it.
    Changed(TrustChange),
}

/// How a file differs from what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrustChange {
    /// The hash that was approved.
    pub approved: ContentHash,
    /// What would no longer run, as it was shown then.
    pub gone: Vec<String>,
    /// What would run now and would not have then. Where only a hidden value
    /// differs, the line is in both lists and this one says so.
    pub come: Vec<String>,
}

/// One approval.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Approval {
    /// Where the file stands.
    pub place: String,
    /// The content that was approved.
    pub hash: ContentHash,
    /// What the person was shown.
    pub lines: Vec<String>,
}

/// The approvals could not be read or changed. Nothing is trusted then.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrustError {
    /// The file could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file holds something else. It is not overwritten.
    #[error("{}: no file of approvals that this version understands: {message}", visible(&.path.to_string_lossy()))]
    Content {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        message: String,
    },
    /// There was no salt to be had.
    #[error("the system gives no random numbers: {0}")]
    Random(getrandom::Error),
}

impl TrustStore {
    /// Reads the approvals in the file at `path`; no file means none.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, holds something else, or can be written
    /// by others.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, TrustError> {
        let path = path.into();
        let known = TrustFile::read(&path, read_private(&path)?.as_deref())?;
        Ok(Self { path, known, preapproved: Vec::new() })
    }

    /// Also trusts any file with one of these hashes, wherever it stands. For
    /// runs without a person, where the caller names what it has checked.
    #[must_use]
    pub fn with_preapproved(self, preapproved: Vec<ContentHash>) -> Self {
        Self { preapproved, ..self }
    }

    /// Whether a file may take part.
    pub fn status(&self, file: &ConfigFile) -> TrustStatus {
        if !file.needs_approval() || self.preapproved.contains(&file.hash()) {
            return TrustStatus::Trusted;
        }
        let Some(record) = self.known.files.get(&path_key(file.canonical_path())) else {
            return TrustStatus::Unknown;
        };
        let review = Review::of(file);
        if record.hash == file.hash() && record.digest == review.digest() {
            return TrustStatus::Trusted;
        }
        TrustStatus::Changed(record.change(&review))
    }

    /// Whether a file may take part: the question that
    /// [`Config::resolve`](crate::config::Config::resolve) asks.
    pub fn is_trusted(&self, file: &ConfigFile) -> bool {
        self.status(file) == TrustStatus::Trusted
    }

    /// Remembers that a person has seen [`Review::of`] this file and said yes.
    ///
    /// # Errors
    ///
    /// When the approvals cannot be changed; nothing is approved then.
    pub fn approve(&mut self, file: &ConfigFile) -> Result<(), TrustError> {
        let record = Record::new(file, &Review::of(file))?;
        let key = path_key(file.canonical_path());
        self.change(|known| {
            known.files.insert(key.clone(), record);
            known.bound(&key);
        })
    }

    /// Remembers that an approval is in use. Writes only what is news, which is
    /// one that was last used weeks ago.
    ///
    /// # Errors
    ///
    /// When the approvals cannot be changed.
    pub fn used(&mut self, file: &ConfigFile) -> Result<(), TrustError> {
        let (key, today) = (path_key(file.canonical_path()), today());
        let is_news = |record: &Record| today.saturating_sub(record.used) >= USE_DAYS;
        if !self.known.files.get(&key).is_some_and(is_news) {
            return Ok(());
        }
        self.change(|known| {
            // Another process may have taken it back.
            if let Some(record) = known.files.get_mut(&key) {
                record.used = today;
            }
        })
    }

    /// Takes an approval back. `place` is the file's canonical path or what
    /// [`TrustStore::list`] gives. Says whether there was one.
    ///
    /// # Errors
    ///
    /// When the approvals cannot be changed.
    pub fn revoke(&mut self, place: &Path) -> Result<bool, TrustError> {
        let key = path_key(place);
        self.change(|known| known.files.remove(&key).is_some())
    }

    /// All approvals, by place.
    pub fn list(&self) -> Vec<Approval> {
        let files = self.known.files.iter();
        files.map(|(place, record)| record.approval(place)).collect()
    }

    fn change<T>(&mut self, change: impl FnOnce(&mut TrustFile) -> T) -> Result<T, TrustError> {
        let path = &self.path;
        let (known, value) = update(path, |old| -> Result<_, TrustError> {
            let mut known = TrustFile::read(path, old)?;
            let value = change(&mut known);
            Ok((known.write(path)?, (known, value)))
        })?;
        self.known = known;
        Ok(value)
    }
}

#[cfg(test)]
mod tests;
