//! One config file, read once: what it says, and the bytes that said it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use carrick_policy::{ContentHash, json};

use super::error::{ConfigError, Fault, Located, Warning, WarningKind};
use super::jsonc;
use super::shape::{self, Entry};
use super::template::{ServerTemplate, SettingsTemplate};
use super::text::{self, MAX_FILE_BYTES, Position, Positions};

/// Who put a config file in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Source {
    /// The person's own file, in the config folder of their account.
    User,
    /// The project's file. It came with the project, from anybody: nothing in
    /// it counts until a person has approved it.
    Project,
    /// A file that the caller named, by flag or environment.
    Explicit,
    /// No file: what serves when there is no config at all.
    Builtin,
}

impl Source {
    /// The word for messages: `user`, `project`, `flag` or `built-in`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Explicit => "flag",
            Self::Builtin => "built-in",
        }
    }
}

/// A config file that was read and understood.
///
/// All that is known of it comes from a single read, so what a person approves
/// is what runs, whatever happens to the file meanwhile.
#[derive(Debug)]
pub struct ConfigFile {
    pub(super) path: PathBuf,
    pub(super) canonical: PathBuf,
    pub(super) source: Source,
    pub(super) servers: Vec<ServerEntry>,
    pub(super) settings: SettingsTemplate,
    pub(super) warnings: Vec<Warning>,
    hash: ContentHash,
    positions: Positions,
}

/// One server of a file: understood, or with what is wrong with it.
#[derive(Debug)]
pub(crate) struct ServerEntry {
    pub(crate) name: String,
    pub(crate) position: Position,
    pub(crate) template: Result<ServerTemplate, ConfigError>,
}

impl ConfigFile {
    /// Reads and understands the file at `path`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, is no regular file, is larger than
    /// [`MAX_FILE_BYTES`], or is wrong as a whole. What is wrong with one
    /// server is no error here: it disables that server.
    pub fn read(path: &Path, source: Source) -> Result<Self, ConfigError> {
        let fail = |fault| ConfigError::new(path, None, fault);
        let bytes = read_bounded(path).map_err(fail)?;
        let canonical = whereabouts(path).map_err(|error| fail(Fault::Read(error.into())))?;
        Self::parse(path, &canonical, source, &bytes)
    }

    /// Understands `bytes` as the content of the file at `path`, which is
    /// `canonical` once the links in its folder are followed. Touches no file.
    ///
    /// # Errors
    ///
    /// When the content is wrong as a whole, see [`ConfigFile::read`].
    pub fn parse(
        path: &Path,
        canonical: &Path,
        source: Source,
        bytes: &[u8],
    ) -> Result<Self, ConfigError> {
        let text = text::decode(bytes)
            .map_err(|(position, fault)| ConfigError::new(path, position, fault))?;
        let positions = Positions::new(text);
        let place = |located: Located| {
            ConfigError::new(path, Some(positions.of(located.at)), located.fault)
        };
        let plain = jsonc::blank(text).map_err(place)?;
        if plain.trim_ascii().is_empty() {
            let message = "the file is empty; the least that counts is {}".to_owned();
            return Err(place(Located { at: 0, fault: Fault::Syntax { message } }));
        }
        let (root, duplicates) = json::parse(&plain).map_err(|error| place(error.into()))?;
        let shaped = shape::mcp_servers(&root).map_err(place)?;
        let mut file = Self {
            path: path.to_owned(),
            canonical: canonical.to_owned(),
            source,
            servers: Vec::new(),
            settings: shaped.settings,
            warnings: Vec::new(),
            hash: ContentHash::of(bytes),
            positions,
        };
        for duplicate in duplicates {
            let first = file.position(duplicate.first);
            file.warn(duplicate.at, WarningKind::DuplicateKey { key: duplicate.key, first });
        }
        file.take_entries(shaped.entries);
        file.warnings.sort_by_key(|warning| warning.position);
        Ok(file)
    }

    /// The path as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path with the links in its folder followed, but not a link that the
    /// file itself may be: where a file stands is part of what it means, since
    /// relative commands start from there.
    pub fn canonical_path(&self) -> &Path {
        &self.canonical
    }

    /// Who put the file in its place.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Whether a person must approve the file before anything in it counts.
    pub fn needs_approval(&self) -> bool {
        self.source == Source::Project
    }

    /// The SHA-256 of the file's bytes, as they were read.
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// Whether it has a server of this name.
    pub(crate) fn defines(&self, server: &str) -> bool {
        self.servers.iter().any(|entry| entry.name == server)
    }

    /// What was noticed in the file, in its order.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    pub(crate) fn servers(&self) -> &[ServerEntry] {
        &self.servers
    }

    pub(crate) fn settings(&self) -> &SettingsTemplate {
        &self.settings
    }

    /// The error for something found at a byte offset.
    pub(super) fn error(&self, located: Located) -> ConfigError {
        ConfigError::new(&self.path, Some(self.position(located.at)), located.fault)
    }

    pub(super) fn position(&self, at: usize) -> Position {
        self.positions.of(at)
    }

    fn take_entries(&mut self, entries: Vec<Entry>) {
        for entry in entries {
            if let Ok(template) = &entry.server {
                self.warn_about(template, entry.at);
            }
            let template =
                entry.server.map_err(|located| self.error(located).in_server(&entry.name));
            let position = self.position(entry.at);
            self.servers.push(ServerEntry { name: entry.name, position, template });
        }
    }

    fn warn_about(&mut self, template: &ServerTemplate, at: usize) {
        if let Some(time) = template.timeout.filter(|time| time.as_secs() == 0) {
            let millis = u64::from(time.subsec_millis());
            self.warn(at, WarningKind::ShortTime { field: "timeout".to_owned(), millis });
        }
        for text in template.launch.texts() {
            if let Some(form) = text.foreign_form() {
                let (field, form) = (text.field.clone(), form.to_owned());
                self.warn(text.at, WarningKind::LiteralForm { field, form });
            }
        }
    }

    fn warn(&mut self, at: usize, kind: WarningKind) {
        let (file, position) = (self.path.clone(), self.position(at));
        self.warnings.push(Warning { file, position, kind });
    }
}

/// The bytes of a regular file of at most [`MAX_FILE_BYTES`].
///
/// The kind is checked before opening: opening a pipe would wait for a writer.
fn read_bounded(path: &Path) -> Result<Vec<u8>, Fault> {
    if !fs::metadata(path).map_err(read_fault)?.is_file() {
        return Err(Fault::NotAFile);
    }
    let mut bytes = Vec::new();
    let read = |bytes: &mut Vec<u8>| -> io::Result<usize> {
        fs::File::open(path)?.take(MAX_FILE_BYTES + 1).read_to_end(bytes)
    };
    read(&mut bytes).map_err(read_fault)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Fault::TooLarge { limit: MAX_FILE_BYTES });
    }
    Ok(bytes)
}

fn read_fault(error: io::Error) -> Fault {
    Fault::Read(error.into())
}

fn whereabouts(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(fs::canonicalize(folder)?.join(name)),
        _ => fs::canonicalize(path),
    }
}
