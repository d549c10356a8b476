//! The paths by which a Rust file names what is in other modules of its crate.

use std::collections::BTreeMap;

use super::Source;
use super::scan::{is_word, line_of, words};

/// The names on the way from the root of a crate.
pub(crate) type Path = Vec<String>;

/// What the file of the module `own` names by `crate::`, `super::` and `self::`
/// outside of tests, and the line of each.
pub(crate) fn references(own: &Path, source: &Source) -> Vec<(Path, usize)> {
    let tokens = &source.scan.tokens;
    let mut found = Vec::new();
    for start in ["crate", "super", "self"].iter().flat_map(|word| words(tokens, word)) {
        // The middle of a path has been read with its start.
        let before = tokens[..start].trim_end();
        if source.in_tests(start) || before.ends_with("::") || before.ends_with('$') {
            continue;
        }
        if !tokens[start..].trim_start_matches(is_letter).trim_start().starts_with("::")
            && !before.ends_with('{')
            && !before.ends_with(',')
        {
            continue;
        }
        let line = line_of(&source.text, start);
        for leaf in leaves(tokens, start).into_iter() {
            if let Some(path) = absolute(own, &leaf.path) {
                found.push((path, line));
            }
        }
    }
    found
}

/// What a module gives others under a name of its own: `use` with a visibility.
pub(crate) fn exports(own: &Path, source: &Source) -> BTreeMap<String, Path> {
    let tokens = &source.scan.tokens;
    let mut exports = BTreeMap::new();
    for start in words(tokens, "use") {
        let since = tokens[..start].rfind([';', '{', '}', ']']).map_or(0, |at| at + 1);
        if source.in_tests(start) || words(&tokens[since..start], "pub").next().is_none() {
            continue;
        }
        for leaf in leaves(tokens, start + 3) {
            let first = leaf.path.first().map(String::as_str);
            let path = match first {
                Some("crate" | "super" | "self") => absolute(own, &leaf.path),
                // A child; another crate is none of ours and leads nowhere.
                _ => Some([&own[..], &leaf.path].concat()),
            };
            if let Some(path) = path {
                exports.insert(leaf.name, path);
            }
        }
    }
    exports
}

/// A path without the words that say where it begins.
fn absolute(own: &Path, path: &[String]) -> Option<Path> {
    let mut at = match path.first()?.as_str() {
        "crate" => Path::new(),
        _ => own.clone(),
    };
    for name in path {
        match name.as_str() {
            "crate" | "self" | "*" => {}
            "super" => {
                at.pop()?;
            }
            name => at.push(name.to_owned()),
        }
    }
    Some(at)
}

/// One name that a tree of paths ends with.
struct Leaf {
    path: Path,
    /// What it is called where it stands.
    name: String,
}

/// The ends of the tree of paths that begins at `start`.
fn leaves(tokens: &str, start: usize) -> Vec<Leaf> {
    let mut found = Vec::new();
    tree(tokens, start, &Path::new(), &mut found);
    found
}

/// Reads a tree below `prefix`; the offset behind it.
fn tree(tokens: &str, start: usize, prefix: &Path, found: &mut Vec<Leaf>) -> usize {
    let (mut path, mut at) = (prefix.clone(), start);
    loop {
        at += tokens[at..].len() - tokens[at..].trim_start().len();
        let rest = &tokens[at..];
        if rest.starts_with('{') {
            at += 1;
            loop {
                at = tree(tokens, at, &path, found);
                at += tokens[at..].len() - tokens[at..].trim_start().len();
                match tokens.as_bytes().get(at) {
                    Some(b',') => at += 1,
                    Some(b'}') => return at + 1,
                    // It is no tree after all.
                    _ => return at,
                }
            }
        }
        let length = rest.bytes().take_while(|byte| is_word(*byte)).count();
        let word = if rest.starts_with('*') { "*" } else { &rest[..length] };
        if word.is_empty() {
            return at;
        }
        path.push(word.to_owned());
        at += word.len();
        let after = tokens[at..].trim_start();
        if let Some(next) = after.strip_prefix("::").filter(|next| !next.starts_with('<')) {
            at = tokens.len() - next.len();
            continue;
        }
        let mut name = word.to_owned();
        if let Some(renamed) = after.strip_prefix("as ") {
            let renamed = renamed.trim_start();
            name = renamed.chars().take_while(|c| is_letter(*c)).collect();
            at = tokens.len() - renamed.len() + name.len();
        } else if word == "self" {
            name = path.iter().rev().nth(1).cloned().unwrap_or_default();
        }
        found.push(Leaf { path, name });
        return at;
    }
}

fn is_letter(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}
