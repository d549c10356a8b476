//! The folders that may be used, and how paths are found in them.

use super::{
    error::{FilesError, shown},
    name,
    path::{self, Spelling, Style, Target},
    place::Place,
};
use cap_std::{ambient_authority, fs::Dir};
use std::{
    fmt, io,
    path::{Path, PathBuf},
};

/// A folder that was given but cannot be used.
#[derive(Debug)]
#[non_exhaustive]
pub struct MissingRoot {
    /// The folder as it was given.
    pub path: PathBuf,
    /// What the operating system said.
    pub error: io::Error,
}

impl fmt::Display for MissingRoot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the folder {} is left out: {}", self.path.display(), self.error)
    }
}

/// One folder that may be used. Everything below it goes through its handle.
#[derive(Debug)]
struct Root {
    dir: Dir,
    /// The absolute path that was given, for people.
    path: PathBuf,
    /// The same as names.
    given: Spelling,
    /// Where that leads when all links are followed.
    resolved: Spelling,
}

/// The folders that may be used, the default first.
#[derive(Debug)]
pub(super) struct Roots {
    roots: Vec<Root>,
}

impl Roots {
    /// Opens `paths`. Those that cannot be opened are reported and left out.
    pub(super) fn open(paths: &[PathBuf]) -> (Self, Vec<MissingRoot>) {
        let (mut roots, mut missing) = (Vec::new(), Vec::new());
        for path in paths {
            match Root::open(path) {
                Ok(root) => roots.push(root),
                Err(error) => missing.push(MissingRoot { path: path.clone(), error }),
            }
        }
        (Self { roots }, missing)
    }

    /// The folders as they were given, made absolute.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path.as_path())
    }

    /// The folders as text.
    pub(super) fn shown(&self) -> Vec<String> {
        self.paths().map(name::path_to_text).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.roots.len()
    }

    /// The handles of the folders.
    pub(super) fn dirs(&self) -> impl Iterator<Item = &Dir> {
        self.roots.iter().map(|root| &root.dir)
    }

    /// The handle through which everything below `place.root` goes.
    pub(super) fn dir(&self, place: &Place) -> &Dir {
        &self.roots[place.root].dir
    }

    /// Finds a path or `file:` URI that a caller wrote. Nothing is opened for that.
    pub(super) fn locate(&self, text: &str) -> Result<Place, FilesError> {
        if is_uri(text) {
            return self.locate_uri(text);
        }
        let target = path::parse(text, Style::NATIVE);
        match target.map_err(|fault| FilesError::path(text, fault))? {
            Target::Relative(_) if self.roots.is_empty() => Err(FilesError::NoRoots),
            Target::Relative(parts) => Ok(Place { root: 0, path: parts.iter().collect() }),
            Target::Absolute(spelling) => self.inside(&spelling, text),
        }
    }

    /// Finds a `file:` URI that a caller wrote. Nothing is opened for that.
    pub(super) fn locate_uri(&self, uri: &str) -> Result<Place, FilesError> {
        let spelling = path::parse_uri(uri, Style::NATIVE);
        self.inside(&spelling.map_err(|fault| FilesError::path(uri, fault))?, uri)
    }

    fn inside(&self, spelling: &Spelling, text: &str) -> Result<Place, FilesError> {
        if self.roots.is_empty() {
            return Err(FilesError::NoRoots);
        }
        let outside = || FilesError::Outside { path: shown(text), roots: self.shown() };
        self.place_of(spelling).ok_or_else(outside)
    }

    /// The way from the folder `root` to what `uri` names, if that is below it.
    pub(super) fn below(&self, root: usize, uri: &str) -> Option<PathBuf> {
        let spelling = path::parse_uri(uri, Style::NATIVE).ok()?;
        spelling.below(&self.roots.get(root)?.given, Style::NATIVE)
    }

    /// Whether another folder is the one in which `place` is found by its path.
    pub(super) fn is_shadowed(&self, place: &Place) -> bool {
        self.place_of(&self.given(place)).is_some_and(|found| found.root != place.root)
    }

    /// The place with this spelling, in either spelling of a folder. The deepest folder wins where
    /// one lies within another.
    pub(super) fn place_of(&self, spelling: &Spelling) -> Option<Place> {
        let below = |root: &Root| {
            spelling
                .below(&root.given, Style::NATIVE)
                .or_else(|| spelling.below(&root.resolved, Style::NATIVE))
        };
        let found = self.roots.iter().enumerate().filter_map(|(i, root)| Some((i, below(root)?)));
        let best = found.min_by_key(|(_, path)| path.components().count())?;
        Some(Place { root: best.0, path: best.1 })
    }

    /// The place, with all links on the way to its folder followed, from the top of the machine.
    pub(super) fn resolved(&self, place: &Place) -> Spelling {
        let mut spelling = self.roots[place.root].resolved.clone();
        spelling.parts.extend(place.path.iter().map(ToOwned::to_owned));
        spelling
    }

    /// How `place` is called in results: relative to the default folder, else absolute. What is
    /// returned here is understood by [`Roots::locate`].
    pub(super) fn name(&self, place: &Place) -> String {
        let path = match place.root {
            0 => place.relative().to_path_buf(),
            root => self.roots[root].path.join(&place.path),
        };
        name::path_to_text(&path)
    }

    /// The URI of `place`, if it can be named by one.
    pub(super) fn uri(&self, place: &Place) -> Option<String> {
        self.given(place).to_uri()
    }

    fn given(&self, place: &Place) -> Spelling {
        let mut spelling = self.roots[place.root].given.clone();
        spelling.parts.extend(place.path.iter().map(ToOwned::to_owned));
        spelling
    }
}

impl Root {
    fn open(path: &Path) -> io::Result<Self> {
        let unusable = || io::Error::new(io::ErrorKind::InvalidInput, "not a path of a local disk");
        let dir = Dir::open_ambient_dir(path, ambient_authority())?;
        let absolute = std::path::absolute(path)?;
        let given = Spelling::of(&absolute).ok_or_else(unusable)?;
        // Only for comparing: what is opened later is opened through the handle.
        let resolved = std::fs::canonicalize(path)?;
        let resolved = Spelling::of(&resolved).unwrap_or_else(|| given.clone());
        Ok(Self { dir, path: absolute, given, resolved })
    }
}

fn is_uri(text: &str) -> bool {
    text.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("file://"))
}
