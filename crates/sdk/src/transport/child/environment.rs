//! The environment a server is given: names on an allow list, and what the config says.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::PathBuf,
};

/// Names that a server inherits unless told otherwise: what programs need to find themselves,
/// their user, their temporary files and their language, and nothing that is likely a secret.
/// A trailing `*` stands for any ending.
#[cfg(not(windows))]
pub const DEFAULT_INHERITED: &[&str] = &[
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LANGUAGE", "LC_*", "TZ", "TMPDIR",
];

/// Names that a server inherits unless told otherwise: what programs need to find themselves,
/// their user, their temporary files and their language, and nothing that is likely a secret.
/// A trailing `*` stands for any ending. Compared without regard to case.
#[cfg(windows)]
pub const DEFAULT_INHERITED: &[&str] = &[
    "PATH",
    "PATHEXT",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "WINDIR",
    "COMSPEC",
    "TEMP",
    "TMP",
    "HOMEDRIVE",
    "HOMEPATH",
    "USERNAME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMDATA",
    "PROGRAMFILES*",
    "COMMONPROGRAMFILES*",
    "PROCESSOR_ARCHITECTURE",
    "NUMBER_OF_PROCESSORS",
    "LANG",
    "LC_*",
    "TZ",
];

/// Environment variables by name, as a value that callers pass around: only [`capture`] reads the
/// process's own.
///
/// Its `Debug` form shows names without values, since values are often secrets.
///
/// [`capture`]: Environment::capture
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    variables: BTreeMap<Name, OsString>,
}

impl Environment {
    /// No variables at all.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The variables of the running process, as they are now.
    #[must_use]
    pub fn capture() -> Self {
        std::env::vars_os().collect()
    }

    /// Sets `name` to `value`, in the place of what it was.
    pub fn insert(&mut self, name: impl Into<OsString>, value: impl Into<OsString>) {
        self.variables.insert(Name(name.into()), value.into());
    }

    /// The value of `name` (on Windows whatever the case of its letters).
    #[must_use]
    pub fn value(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.variables.get(&Name(name.as_ref().to_owned())).map(OsString::as_os_str)
    }

    /// All variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.0.as_os_str(), value.as_os_str()))
    }

    /// The variables whose names are in `allowed`; a trailing `*` there stands for any ending.
    #[must_use]
    pub fn inherited(&self, allowed: &[String]) -> Self {
        let variables = self
            .variables
            .iter()
            .filter(|(name, _)| allowed.iter().any(|pattern| name.matches(pattern)))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        Self { variables }
    }

    /// Leaves in the list of folders `name` only what does not depend on the folder one is in; an
    /// empty list would, so it goes altogether.
    pub(super) fn keep_absolute_entries(&mut self, name: &str) {
        let Some(list) = self.value(name) else { return };
        let kept: Vec<_> = absolute_entries(list).collect();
        if !list.is_empty() && kept.len() == std::env::split_paths(list).count() {
            return;
        }
        // Joining again fails only for what splitting cannot have given.
        let joined = std::env::join_paths(&kept).ok().filter(|_| !kept.is_empty());
        match joined {
            Some(list) => self.insert(name, list),
            None => drop(self.variables.remove(&Name(name.into()))),
        }
    }

    /// Adds all of `other`, which wins where both have a name.
    pub(super) fn overlay(&mut self, other: &Self) {
        self.variables.extend(other.variables.iter().map(|(n, v)| (n.clone(), v.clone())));
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys().map(|name| &name.0)).finish()
    }
}

impl<N: Into<OsString>, V: Into<OsString>> FromIterator<(N, V)> for Environment {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(variables: I) -> Self {
        let variables = variables.into_iter().map(|(n, v)| (Name(n.into()), v.into())).collect();
        Self { variables }
    }
}

/// The folders of a `PATH` by which programs are found. An empty or relative entry means whatever
/// folder one happens to be in, often a project that came from anybody, so it counts for nothing.
pub(super) fn absolute_entries(path: &OsStr) -> impl Iterator<Item = PathBuf> + '_ {
    std::env::split_paths(path).filter(|folder| folder.is_absolute())
}

/// A variable's name, compared as the platform compares it.
#[derive(Clone)]
struct Name(OsString);

impl Name {
    fn matches(&self, pattern: &str) -> bool {
        let name = self.key();
        let pattern = if cfg!(windows) { pattern.to_ascii_uppercase() } else { pattern.to_owned() };
        match pattern.strip_suffix('*') {
            Some(start) => name.as_encoded_bytes().starts_with(start.as_bytes()),
            None => name.as_encoded_bytes() == pattern.as_bytes(),
        }
    }

    /// What is compared: on Windows the case of letters makes no difference.
    fn key(&self) -> Cow<'_, OsStr> {
        if cfg!(windows) { self.0.to_ascii_uppercase().into() } else { self.0.as_os_str().into() }
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Name {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_on_the_list_are_inherited() {
        let base: Environment = [
            ("PATH", "/bin"),
            ("LC_CTYPE", "C.UTF-8"),
            ("LC", "no"),
            ("AWS_SECRET_ACCESS_KEY", "hidden"),
        ]
        .into_iter()
        .collect();
        let allowed: Vec<String> = DEFAULT_INHERITED.iter().map(|&name| name.to_owned()).collect();
        let inherited = base.inherited(&allowed);
        let names: Vec<_> = inherited.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["LC_CTYPE", "PATH"]);
    }

    #[test]
    fn the_debug_form_shows_no_values() {
        let env: Environment = [("TOKEN", "hidden")].into_iter().collect();
        assert_eq!(format!("{env:?}"), r#"{"TOKEN"}"#);
    }
}
