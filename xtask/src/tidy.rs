//! What neither the compiler nor clippy checks: sizes, layers, words and files.
//!
//! Works on text with a small scanner that tells code, comments and literals apart
//! ([`scan`]), so that it needs no parser and reads the whole tree in well under a second.

use std::fmt;

use crate::Result;

mod circles;
mod files;
mod layers;
mod pages;
mod paths;
mod scan;
mod sizes;
mod source;
mod tree;
mod words;

use source::Source;
use tree::Tree;

/// One broken rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    message: String,
}

impl Finding {
    /// A finding at a line, counted from 1; 0 stands for the file as a whole.
    pub(crate) fn new(path: &str, line: usize, message: impl Into<String>) -> Finding {
        Finding { path: path.to_owned(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}

/// `cargo xtask tidy [--notes]`.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let notes = match arguments {
        [] => false,
        [only] if only == "--notes" => true,
        _ => return Err("usage: cargo xtask tidy [--notes]".into()),
    };
    let tree = Tree::read()?;
    let mut findings = tree.unreachable();
    findings.extend(files::check(&tree));
    findings.extend(circles::check(&tree.sources));
    findings.extend(layers::check()?);
    findings.extend(pages::check()?);
    findings.extend(tree.sources.iter().flat_map(sizes::check));
    findings.extend(tree.sources.iter().flat_map(words::check));
    findings.sort();
    if notes {
        let mut notes: Vec<Finding> = tree.sources.iter().flat_map(sizes::notes).collect();
        notes.sort();
        notes.iter().for_each(|note| println!("note: {note}"));
    }
    if findings.is_empty() {
        println!("tidy: {} Rust files are in order", tree.sources.len());
        return Ok(());
    }
    findings.iter().for_each(|finding| println!("{finding}"));
    Err(format!("tidy found {} places to mend", findings.len()))
}
