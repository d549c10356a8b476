//! `search_files`: the files whose name or text has what is looked for.

mod answer;
mod scan;

pub use answer::{FileMatch, LineMatch, Search, SearchResult};

use self::scan::{Budget, Matches, scan};
use super::{
    Files,
    error::FilesError,
    name::path_to_text,
    open::Opened,
    place::{Kind, Place},
    walk::{Found, Omitted, Walk},
};
use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use std::{
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

/// The longest query and the longest pattern, in bytes.
const LONGEST: usize = 1000;

impl Files {
    /// Searches the names and texts of files for a text, not a pattern. Binary files are searched
    /// by name only. Stops with [`FilesError::Cancelled`] soon after `cancelled` is set.
    ///
    /// # Errors
    ///
    /// A path that is outside, of a bad form, missing, or not permitted; a query or pattern that
    /// cannot be used. Files that cannot be read are counted in the result instead.
    pub fn search(
        &self,
        search: &Search,
        cancelled: &AtomicBool,
    ) -> Result<SearchResult, FilesError> {
        let text = search.path.as_deref().unwrap_or_default();
        let place = self.roots.locate(text)?;
        let text = if text.is_empty() { "." } else { text };
        let wanted = Wanted::new(search)?;
        let mut run = Run {
            files: self,
            start: place.clone(),
            wanted,
            cancelled,
            found: Vec::new(),
            budget: Budget { bytes: self.limits.search_bytes, lines: self.limits.search_lines },
            searched: 0,
            binary: 0,
            unreadable: 0,
            full: false,
        };
        let omitted = match Kind::of(self.roots.metadata(&place, text)?.file_type()) {
            Kind::File => {
                let (file, metadata) = self.roots.open_file(&place, text)?;
                let name = place.path.file_name().unwrap_or_default().to_owned();
                run.file(&place, Path::new(&name), || Ok(Opened::File(file, metadata)))?;
                Omitted::default()
            }
            Kind::Folder => {
                let folder = self.roots.open_folder(&place, text)?;
                let mut walk = Walk::new(folder, None, search.include_skipped, &self.limits)
                    .map_err(|error| FilesError::io(text, error))?;
                run.folder(&mut walk)?;
                walk.omitted
            }
            kind => return Err(FilesError::wrong_kind(text, kind, Kind::Folder)),
        };
        Ok(run.finish(search, omitted))
    }
}

/// The arguments of a search, ready for use.
struct Wanted {
    text: Option<Regex>,
    glob: Option<GlobMatcher>,
    /// Whether the glob is about paths, not names.
    by_path: bool,
}

impl Wanted {
    fn new(search: &Search) -> Result<Self, FilesError> {
        let Search { query, case_sensitive, .. } = search;
        let glob = search.glob.as_deref().filter(|glob| !glob.is_empty());
        if query.len() > LONGEST {
            let reason = format!("longer than {LONGEST} bytes");
            return Err(FilesError::argument("query", reason));
        }
        if query.contains(['\n', '\r']) {
            return Err(FilesError::argument("query", "text is looked for in single lines"));
        }
        if query.is_empty() && glob.is_none() {
            return Err(FilesError::argument("query", "empty; say what to look for"));
        }
        let text = (!query.is_empty()).then(|| {
            RegexBuilder::new(&regex::escape(query)).case_insensitive(!case_sensitive).build()
        });
        let text = text.transpose().map_err(|e| FilesError::argument("query", e.to_string()))?;
        let by_path = glob.is_some_and(|glob| glob.contains('/'));
        let glob = glob.map(|glob| compiled(glob, *case_sensitive)).transpose()?;
        Ok(Self { text, glob, by_path })
    }
}

fn compiled(glob: &str, case_sensitive: bool) -> Result<GlobMatcher, FilesError> {
    if glob.len() > LONGEST {
        return Err(FilesError::argument("glob", format!("longer than {LONGEST} bytes")));
    }
    // A leading slash or dot says where the search begins, as it does anyway.
    let glob = glob.trim_start_matches("./").trim_start_matches('/');
    GlobBuilder::new(glob)
        .literal_separator(true)
        .case_insensitive(!case_sensitive)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| FilesError::argument("glob", error.kind().to_string()))
}

/// A search under way.
struct Run<'a> {
    files: &'a Files,
    start: Place,
    wanted: Wanted,
    cancelled: &'a AtomicBool,
    found: Vec<FileMatch>,
    budget: Budget,
    searched: u64,
    binary: u64,
    unreadable: u64,
    /// Whether there are more files than may be returned.
    full: bool,
}

impl Run<'_> {
    fn folder(&mut self, walk: &mut Walk<'_>) -> Result<(), FilesError> {
        for found in walk.by_ref() {
            if !self.matches_glob(&found) {
                continue;
            }
            let place = Place { root: self.start.root, path: self.start.path.join(&found.path) };
            self.file(&place, Path::new(found.name()), || found.open())?;
            if self.full {
                break;
            }
        }
        Ok(())
    }

    fn matches_glob(&self, found: &Found) -> bool {
        match &self.wanted.glob {
            None => true,
            Some(glob) if self.wanted.by_path => glob.is_match(&found.path),
            Some(glob) => glob.is_match(found.name()),
        }
    }

    fn file(
        &mut self,
        place: &Place,
        name: &Path,
        open: impl FnOnce() -> std::io::Result<Opened>,
    ) -> Result<(), FilesError> {
        if self.cancelled.load(Ordering::Relaxed) {
            return Err(FilesError::Cancelled);
        }
        let (name_matches, matches) = match &self.wanted.text {
            None => (true, Matches::default()),
            Some(text) => {
                let shown = path_to_text(name);
                let opened = (self.budget.bytes > 0).then(open).transpose();
                let matches = opened.and_then(|opened| match opened {
                    Some(Opened::File(file, _)) => {
                        self.searched += 1;
                        let most = self.files.limits.search_lines_per_file;
                        scan(file, text, most, &mut self.budget, self.cancelled)
                    }
                    _ => Ok(Matches::default()),
                });
                self.unreadable += u64::from(matches.is_err());
                (text.is_match(shown.as_bytes()), matches.unwrap_or_default())
            }
        };
        self.binary += u64::from(matches.binary);
        if !name_matches && matches.lines.is_empty() && matches.more == 0 {
            return Ok(());
        }
        if self.found.len() == self.files.limits.search_files {
            self.full = true;
            return Ok(());
        }
        self.found.push(FileMatch {
            path: self.files.roots.name(place),
            name_matches,
            lines: matches.lines,
            more_lines: matches.more,
        });
        Ok(())
    }

    fn finish(self, search: &Search, omitted: Omitted) -> SearchResult {
        let limits = &self.files.limits;
        let mut notes = Vec::new();
        let mut note = |count: usize, text: &str| {
            if count > 0 {
                notes.push(format!("{count} {text}"));
            }
        };
        note(self.binary as usize, "binary files were searched by name only");
        note(self.unreadable as usize, "files could not be read");
        note(omitted.unreadable, "folders could not be read");
        note(omitted.links, "links were not followed");
        note(omitted.deep, "folders lie too deep and were not searched (depth)");
        note(omitted.more_skipped, "more folders were skipped");
        let all_read = self.budget.bytes > 0;
        for (met, text) in [
            (
                self.full,
                format!("only the first {} files are listed (search_files)", self.found.len()),
            ),
            (
                self.budget.lines == 0,
                format!("only {} lines are shown (search_lines)", limits.search_lines),
            ),
            (
                !all_read,
                format!(
                    "only the first {} bytes were searched (search_bytes)",
                    limits.search_bytes
                ),
            ),
            (
                omitted.ended,
                format!("only {} entries were looked at (visited_entries)", limits.visited_entries),
            ),
        ] {
            if met {
                notes.push(text);
            }
        }
        let skipped = omitted.skipped.into_iter().map(|path| {
            let place = Place { root: self.start.root, path: self.start.path.join(path) };
            self.files.roots.name(&place)
        });
        SearchResult {
            query: search.query.clone(),
            path: self.files.roots.name(&self.start),
            truncated: self.full || !all_read || omitted.ended || omitted.deep > 0,
            files_searched: self.searched,
            skipped_folders: skipped.collect(),
            files: self.found,
            notes,
        }
    }
}
