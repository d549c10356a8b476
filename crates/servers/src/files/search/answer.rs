//! What a search takes and what it answers.

use super::super::walk::SKIPPED;
use crate::text::visible;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What to look for.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Search {
    /// The text to look for in the lines of files and in their names. Left out or empty: with a
    /// glob, all files that the glob matches are found
    #[serde(default)]
    pub query: String,
    /// Only files whose name matches this pattern, such as *.rs, or whose path does if the
    /// pattern has a slash, such as src/**/*.rs
    #[serde(default)]
    pub glob: Option<String>,
    /// The folder or file to search. Default: the whole default folder
    #[serde(default)]
    pub path: Option<String>,
    /// Whether upper and lower case differ. Default: no
    #[serde(default)]
    pub case_sensitive: bool,
    /// Whether to search .git, node_modules and target too. Default: no
    #[serde(default)]
    pub include_skipped: bool,
}

impl Search {
    /// A search for `query` in the names and texts of all files.
    pub fn new(query: impl Into<String>) -> Self {
        Self { query: query.into(), ..Self::default() }
    }
}

/// The answer of `search_files`.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SearchResult {
    /// What was looked for
    pub query: String,
    /// Where: a folder or a file
    pub path: String,
    /// The files that were found, sorted by path
    pub files: Vec<FileMatch>,
    /// How many files were read
    pub files_searched: u64,
    /// Whether there may be more than was found, since a limit was met
    pub truncated: bool,
    /// Folders that were not searched because of their names
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped_folders: Vec<String>,
    /// What else was left out, and why
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A file in which something was found.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct FileMatch {
    /// The file
    pub path: String,
    /// Whether its name has what was looked for
    pub name_matches: bool,
    /// Lines that have it
    pub lines: Vec<LineMatch>,
    /// How many more lines have it
    pub more_lines: u64,
}

/// A line in which something was found.
#[derive(Clone, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[non_exhaustive]
pub struct LineMatch {
    /// Its number, from 1
    pub line: u64,
    /// Its text, cut around what was found if it is long
    pub text: String,
}

impl fmt::Display for SearchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.files.is_empty() {
            match self.path.as_str() {
                "." => f.write_str("Nothing was found in the default folder.")?,
                path => write!(f, "Nothing was found in {}.", visible(path))?,
            }
        }
        for (i, file) in self.files.iter().enumerate() {
            write!(f, "{}{}", if i == 0 { "" } else { "\n" }, visible(&file.path))?;
            for LineMatch { line, text } in &file.lines {
                write!(f, "\n  {line}: {}", visible(text))?;
            }
            if file.more_lines > 0 {
                write!(f, "\n  and {} more lines", file.more_lines)?;
            }
        }
        if !self.skipped_folders.is_empty() {
            let folders = visible(&self.skipped_folders.join(", "));
            write!(
                f,
                "\n[not searched: {folders}; folders named {} are skipped unless include_skipped \
                 is true]",
                SKIPPED.join(", ")
            )?;
        }
        self.notes.iter().try_for_each(|note| write!(f, "\n[{note}]"))
    }
}
