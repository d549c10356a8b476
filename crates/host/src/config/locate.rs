//! Where config files live.

use std::path::{Path, PathBuf};

use super::error::ConfigError;
use super::file::{ConfigFile, Source};

/// The name of a project's config file.
pub const PROJECT_FILE: &str = ".mcp.json";

/// What the search for config files starts from. Nothing here is read from the
/// environment: the caller fills it in.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The file named by `--config`, or else by `CARRICK_CONFIG`. It takes the
    /// place of the project's file.
    pub explicit: Option<PathBuf>,
    /// The current folder, as an absolute path.
    pub current: PathBuf,
    /// The person's home folder.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`; without effect unless absolute.
    pub xdg_config_home: Option<PathBuf>,
}

impl Places {
    /// The user's own file: `$XDG_CONFIG_HOME/carrick/config.json`, or
    /// `~/.config/carrick/config.json`. It need not exist.
    pub fn user_file(&self) -> Option<PathBuf> {
        let xdg = self.xdg_config_home.clone().filter(|folder| folder.is_absolute());
        let base = xdg.or_else(|| self.home.as_ref().map(|home| home.join(".config")))?;
        Some(base.join("carrick").join("config.json"))
    }

    /// The project's file: [`PROJECT_FILE`] in the current folder or the
    /// nearest parent that has one.
    ///
    /// The search ends with the home folder, with the first folder that holds
    /// a `.git`, and with the root.
    pub fn project_file(&self) -> Option<PathBuf> {
        for folder in self.current.ancestors() {
            let file = folder.join(PROJECT_FILE);
            if file.symlink_metadata().is_ok() {
                return Some(file);
            }
            let is_home = self.home.as_deref().is_some_and(|home| same(home, folder));
            if is_home || folder.join(".git").symlink_metadata().is_ok() {
                return None;
            }
        }
        None
    }

    /// Reads all files there are, the weakest first: the user's, then the
    /// project's or the explicit one.
    ///
    /// # Errors
    ///
    /// When the explicit file does not exist, or when a file cannot be used.
    /// That no other file exists is no error.
    pub fn read(&self) -> Result<Vec<ConfigFile>, ConfigError> {
        let mut files = Vec::new();
        if let Some(path) = self.user_file().filter(|path| path.symlink_metadata().is_ok()) {
            files.push(ConfigFile::read(&path, Source::User)?);
        }
        let second = match &self.explicit {
            Some(path) => Some(ConfigFile::read(&self.current.join(path), Source::Explicit)?),
            None => match self.project_file() {
                Some(path) => Some(ConfigFile::read(&path, Source::Project)?),
                None => None,
            },
        };
        let repeated = |file: &ConfigFile| {
            files.iter().any(|earlier| earlier.canonical_path() == file.canonical_path())
        };
        let second = second.filter(|file| !repeated(file));
        files.extend(second);
        Ok(files)
    }
}

/// Whether two paths name one folder, links followed where they can be.
fn same(left: &Path, right: &Path) -> bool {
    left == right
        || matches!((left.canonicalize(), right.canonicalize()), (Ok(left), Ok(right)) if left == right)
}
