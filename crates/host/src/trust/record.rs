//! How approvals are kept in their file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::review::Review;
use super::{Approval, TrustChange, TrustError};
use crate::config::{ConfigFile, ContentHash, hex};

const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrustFile {
    version: u32,
    pub(super) files: BTreeMap<String, Record>,
}

/// What was approved at one place.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    pub(super) hash: ContentHash,
    pub(super) digest: ContentHash,
    salt: String,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
}

impl TrustFile {
    pub(super) fn read(path: &Path, bytes: Option<&[u8]>) -> Result<Self, TrustError> {
        let Some(bytes) = bytes else {
            return Ok(Self { version: VERSION, files: BTreeMap::new() });
        };
        let file: Self = serde_json::from_slice(bytes).map_err(|error| content(path, &error))?;
        if file.version != VERSION {
            let message = format!("version {} and not {VERSION}", file.version);
            return Err(TrustError::Content { path: path.to_owned(), message });
        }
        Ok(file)
    }

    pub(super) fn write(&self, path: &Path) -> Result<Vec<u8>, TrustError> {
        serde_json::to_vec_pretty(self).map_err(|error| content(path, &error))
    }
}

impl Record {
    pub(super) fn new(file: &ConfigFile, review: &Review) -> Result<Self, TrustError> {
        let mut salt = [0; 16];
        getrandom::fill(&mut salt).map_err(TrustError::Random)?;
        let salt = hex(&salt);
        let lines = lines(review, &salt);
        Ok(Self { hash: file.hash(), digest: review.digest(), salt, lines })
    }

    pub(super) fn approval(&self, place: &str) -> Approval {
        let lines = self.lines.iter().map(|line| line.text.clone()).collect();
        Approval { place: place.to_owned(), hash: self.hash, lines }
    }

    /// What differs between what was approved and what would run now.
    pub(super) fn change(&self, review: &Review) -> TrustChange {
        let now = lines(review, &self.salt);
        let gone = without(&self.lines, &now);
        let come = without(&now, &self.lines);
        let text = |line: &Line| line.text.clone();
        let old: BTreeSet<&str> = gone.iter().map(|line| &*line.text).collect();
        let told = |line: &Line| match old.contains(&*line.text) {
            true => format!("{} (another value)", line.text),
            false => text(line),
        };
        TrustChange {
            approved: self.hash,
            gone: gone.iter().map(text).collect(),
            come: come.iter().map(told).collect(),
        }
    }
}

fn lines(review: &Review, salt: &str) -> Vec<Line> {
    let lines = review.lines().iter();
    lines
        .map(|line| Line { text: line.text().to_owned(), value: line.fingerprint(salt.as_bytes()) })
        .collect()
}

/// The lines that `others` lacks; a line that stands twice must do so there.
fn without(lines: &[Line], others: &[Line]) -> Vec<Line> {
    let mut counts: BTreeMap<&Line, usize> = BTreeMap::new();
    for other in others {
        *counts.entry(other).or_default() += 1;
    }
    let mut left = Vec::new();
    for line in lines {
        match counts.get_mut(line) {
            Some(count) if *count > 0 => *count -= 1,
            _ => left.push(line.clone()),
        }
    }
    left
}

fn content(path: &Path, error: &serde_json::Error) -> TrustError {
    TrustError::Content { path: path.to_owned(), message: error.to_string() }
}
