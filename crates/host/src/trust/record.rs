//! How approvals are kept in their file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::review::Review;
use super::{Approval, TrustChange, TrustError};
use crate::config::{ConfigFile, ContentHash, hex, today};

const VERSION: u32 = 1;

/// Files whose approvals are kept; beyond them, those that were not used for
/// longest are forgotten, and asked about again.
const MOST_FILES: usize = 1000;

/// Bytes of approvals that are kept, in the same way: 4 MiB.
const MOST_BYTES: usize = 4 << 20;

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
    /// The day of its last use; 0 where that is not known.
    #[serde(default)]
    pub(super) used: u32,
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

    /// Forgets what was not used for longest, until the rest is within bounds.
    pub(super) fn bound(&mut self, keep: &str) {
        let size = |(place, record): (&String, &Record)| place.len() + record.size();
        let mut bytes: usize = self.files.iter().map(size).sum();
        while self.files.len() > MOST_FILES || bytes > MOST_BYTES {
            let others = self.files.iter().filter(|(place, _)| *place != keep);
            let oldest = others.min_by_key(|(_, record)| record.used);
            let Some((place, record)) = oldest else { return };
            bytes -= size((place, record));
            let place = place.clone();
            self.files.remove(&place);
        }
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
        Ok(Self { hash: file.hash(), digest: review.digest(), salt, lines, used: today() })
    }

    /// What it takes in the file, about, in bytes.
    fn size(&self) -> usize {
        let line = |line: &Line| 40 + line.text.len() + line.value.as_ref().map_or(0, String::len);
        250 + self.lines.iter().map(line).sum::<usize>()
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
