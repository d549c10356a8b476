//! A command made definite: which file, which arguments, which environment.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::{command::Command, error::SpawnError, lookup};

/// What the system is to execute.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub(super) program: PathBuf,
    /// The name the program sees itself called by.
    pub(super) name: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) env: Vec<(OsString, OsString)>,
    pub(super) cwd: Option<PathBuf>,
}

impl Spec {
    /// Finds the program, and refuses what the system could only refuse less clearly.
    pub(super) fn resolve(command: &Command) -> Result<Self, SpawnError> {
        check(command)?;
        let cwd = command.cwd.as_deref().map(folder).transpose()?;
        // An error shows the `PATH` that the person knows.
        let program = lookup::find(&command.program, &command.as_told(), cwd.as_deref())?;
        let env = command.environment();
        let env = env.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        Ok(Self { program, name: command.program.clone(), args: command.args.clone(), env, cwd })
    }
}

/// The absolute path of a folder that is there.
fn folder(path: &Path) -> Result<PathBuf, SpawnError> {
    let failed = |source| SpawnError::WorkingDirectory { path: path.to_owned(), source };
    let absolute = std::path::absolute(path).map_err(failed)?;
    if std::fs::metadata(&absolute).map_err(failed)?.is_dir() {
        return Ok(absolute);
    }
    Err(failed(std::io::ErrorKind::NotADirectory.into()))
}

fn check(command: &Command) -> Result<(), SpawnError> {
    let invalid = |what: String| Err(SpawnError::Invalid { what });
    let nul = |text: &OsStr| text.as_encoded_bytes().contains(&0);
    if nul(&command.program) {
        return invalid("the program's name holds a NUL character".to_owned());
    }
    if let Some(at) = command.args.iter().position(|arg| nul(arg)) {
        return invalid(format!("argument {} holds a NUL character", at + 1));
    }
    for (name, value) in command.env.iter() {
        let shown = name.display();
        if name.is_empty() || nul(name) || name.as_encoded_bytes().contains(&b'=') {
            return invalid(format!("`{shown}` cannot be the name of a variable"));
        }
        if nul(value) {
            return invalid(format!("the value of `{shown}` holds a NUL character"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(command: &Command) -> String {
        Spec::resolve(command).unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_expressed_is_refused_by_name() {
        let mut command = Command::new("server");
        command.args = vec!["a".into(), "b\0".into()];
        assert_eq!(refused(&command), "invalid command: argument 2 holds a NUL character");
        command.args.clear();
        command.env.insert("A=B", "1");
        assert_eq!(refused(&command), "invalid command: `A=B` cannot be the name of a variable");
        command.env = [("KEY", "a\0b")].into_iter().collect();
        assert_eq!(refused(&command), "invalid command: the value of `KEY` holds a NUL character");
        assert_eq!(refused(&Command::new("")), "invalid command: the program's name is empty");
    }

    #[test]
    fn a_folder_that_is_not_there_is_told_from_a_missing_program() {
        let mut command = Command::new("server");
        command.cwd = Some("/no/such/folder".into());
        let error = Spec::resolve(&command).unwrap_err();
        assert!(matches!(error, SpawnError::WorkingDirectory { .. }), "{error}");
    }
}
