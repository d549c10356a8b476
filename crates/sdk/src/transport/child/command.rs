//! What to start: a program, its arguments, its environment and its folder.

use std::{ffi::OsString, path::PathBuf};

use super::environment::{DEFAULT_INHERITED, Environment};
use crate::transport::stdio::DEFAULT_LINE_LIMIT;

/// A server to start as a child process.
///
/// No shell is involved: arguments reach the program as they are.
///
/// ```
/// use carrick::transport::child::{Command, Environment};
///
/// let mut command = Command::new("npx");
/// command.args = vec!["-y".into(), "some-server".into()];
/// command.base = Environment::capture();
/// command.env.insert("API_KEY", "…");
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Command {
    /// The program: a bare name, which is looked up in the `PATH` that the server will have (of
    /// which empty and relative entries are no part), or a path, which if relative is taken from
    /// [`cwd`](Self::cwd).
    pub program: OsString,
    /// The arguments after the program's own name. None by default.
    pub args: Vec<OsString>,
    /// The environment that names on [`inherit`](Self::inherit) are taken from, usually
    /// [`Environment::capture`]. Empty by default: then there is no `PATH` either.
    pub base: Environment,
    /// Which names the server inherits from [`base`](Self::base); a trailing `*` stands for any
    /// ending. [`DEFAULT_INHERITED`] by default.
    pub inherit: Vec<String>,
    /// Variables for this server, which win over inherited ones. None by default.
    pub env: Environment,
    /// The folder the server starts in; by default the one this process is in.
    pub cwd: Option<PathBuf>,
    /// How many bytes of the server's latest stderr output are kept, 64 KiB by default. All of it
    /// is read, so that a server never waits for its stderr.
    pub stderr_limit: usize,
    /// The largest message that is taken from the server's stdout, in bytes; a larger one
    /// ends the connection, since the call that it answers cannot be known. [`DEFAULT_LINE_LIMIT`]
    /// by default.
    pub message_limit: usize,
}

impl Command {
    /// A command without arguments, with an empty [`base`](Self::base) and the defaults.
    #[must_use]
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            base: Environment::new(),
            inherit: DEFAULT_INHERITED.iter().map(|&name| name.to_owned()).collect(),
            env: Environment::new(),
            cwd: None,
            stderr_limit: 64 * 1024,
            message_limit: DEFAULT_LINE_LIMIT,
        }
    }

    /// The whole environment of the server: what it inherits, then what it is given, without the
    /// empty and relative entries of `PATH`. A server such as `npx` finds its interpreter by that
    /// variable, and would take one from the folder it starts in.
    #[must_use]
    pub fn environment(&self) -> Environment {
        let mut environment = self.as_told();
        environment.keep_absolute_entries("PATH");
        environment
    }

    /// The environment before anything is left out of it.
    pub(super) fn as_told(&self) -> Environment {
        let mut environment = self.base.inherited(&self.inherit);
        environment.overlay(&self.env);
        environment
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_variables_win_over_inherited_ones() {
        let mut command = Command::new("server");
        command.base = [("PATH", "/bin"), ("SECRET", "s")].into_iter().collect();
        command.env = [("PATH", "/opt/bin"), ("MODE", "fast")].into_iter().collect();
        let expected = [("PATH", "/opt/bin"), ("MODE", "fast")].into_iter().collect();
        assert_eq!(command.environment(), expected);
    }

    #[cfg(unix)]
    #[test]
    fn f16_empty_and_relative_entries_of_path_are_not_handed_on() {
        let path = |base: &str, given: Option<&str>| {
            let mut command = Command::new("server");
            command.base = [("PATH", base)].into_iter().collect();
            command.env = given.map(|path| ("PATH", path)).into_iter().collect();
            command.environment().value("PATH").map(std::ffi::OsStr::to_owned)
        };
        assert_eq!(path("/bin:/usr/bin", None).unwrap(), "/bin:/usr/bin");
        assert_eq!(path(":/bin:./x::y:/opt/a b:.", None).unwrap(), "/bin:/opt/a b");
        assert_eq!(path("/bin", Some("node_modules/.bin:/usr/bin:")).unwrap(), "/usr/bin");
        // An empty one would mean the server's folder.
        assert_eq!(path("", None), None);
        assert_eq!(path(".", None), None);
    }
}
