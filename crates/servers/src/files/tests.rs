//! Tests on real folders.

mod containment;
mod listing;
mod reading;
mod resources;
mod searching;
mod writing;

use super::*;
use std::{fs, sync::atomic::AtomicBool};
use tempfile::TempDir;

/// A folder `root` in a folder of its own, and what is outside beside it.
struct Fixture {
    base: TempDir,
}

impl Fixture {
    fn new() -> Self {
        let base = TempDir::new().unwrap();
        fs::create_dir(base.path().join("root")).unwrap();
        Self { base }
    }

    /// A fixture with these files, given by their paths from the base.
    fn with(files: &[(&str, &str)]) -> Self {
        let fixture = Self::new();
        for (path, text) in files {
            fixture.file(path, text.as_bytes());
        }
        fixture
    }

    fn at(&self, path: &str) -> PathBuf {
        self.base.path().join(path)
    }

    fn text(&self, path: &str) -> String {
        self.at(path).to_str().unwrap().to_owned()
    }

    fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn options(&self) -> FilesOptions {
        FilesOptions::new([self.at("root")])
    }

    fn files(&self) -> Files {
        self.opened(self.options())
    }

    fn opened(&self, options: FilesOptions) -> Files {
        let files = Files::open(options);
        assert!(files.missing().is_empty(), "{:?}", files.missing());
        files
    }
}

fn search(files: &Files, search: &Search) -> SearchResult {
    files.search(search, &AtomicBool::new(false)).unwrap()
}
