//! Finding a program's file, so that "not found" can say where was looked.

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use super::{
    environment::{Environment, absolute_entries},
    error::SpawnError,
};

/// The file that `program` stands for: a path as it is (relative to `cwd`), a bare name looked up
/// in the `PATH` of `environment`.
pub(super) fn find(
    program: &OsStr,
    environment: &Environment,
    cwd: Option<&Path>,
) -> Result<PathBuf, SpawnError> {
    if program.is_empty() {
        return Err(SpawnError::Invalid { what: "the program's name is empty".to_owned() });
    }
    let endings = endings(environment);
    if is_path(program) {
        let path = cwd.map_or_else(|| PathBuf::from(program), |cwd| cwd.join(program));
        let found = candidates(&path, &endings).find(|path| path.is_file());
        return match found {
            Some(path) if executable(&path) => Ok(path),
            Some(path) => Err(SpawnError::NotExecutable { path }),
            None if path.exists() => Err(SpawnError::NotExecutable { path }),
            None => Err(SpawnError::NoSuchFile { path }),
        };
    }
    let searched = environment.value("PATH");
    let mut refused = None;
    for folder in searched.into_iter().flat_map(absolute_entries) {
        for path in candidates(&folder.join(program), &endings).filter(|path| path.is_file()) {
            if executable(&path) {
                return Ok(path);
            }
            refused.get_or_insert(path);
        }
    }
    Err(refused.map_or_else(
        || SpawnError::NotFound {
            program: program.to_string_lossy().into_owned(),
            searched: searched.map(|path| path.to_string_lossy().into_owned()),
        },
        |path| SpawnError::NotExecutable { path },
    ))
}

fn is_path(program: &OsStr) -> bool {
    let mut components = Path::new(program).components();
    let bare = matches!(components.next(), Some(std::path::Component::Normal(_)));
    !bare || components.next().is_some() || program.as_encoded_bytes().ends_with(b"/")
}

/// The endings a program's name may lack: those of `PATHEXT` on Windows, none elsewhere.
fn endings(environment: &Environment) -> Vec<OsString> {
    if !cfg!(windows) {
        return Vec::new();
    }
    let listed = environment.value("PATHEXT").map(OsStr::to_string_lossy);
    pathext(listed.as_deref().unwrap_or(".COM;.EXE;.BAT;.CMD"))
}

fn pathext(listed: &str) -> Vec<OsString> {
    listed.split(';').filter(|ending| ending.starts_with('.')).map(OsString::from).collect()
}

/// The files that `path` may stand for. Without `endings` it is itself; with them a name that has
/// one is itself, and any other name is tried with each, since a bare file such as the `npx`
/// script beside `npx.cmd` cannot be started there.
fn candidates(path: &Path, endings: &[OsString]) -> impl Iterator<Item = PathBuf> {
    let complete = endings.is_empty()
        || path.extension().is_some_and(|extension| {
            endings.iter().any(|ending| {
                ending.as_encoded_bytes()[1..].eq_ignore_ascii_case(extension.as_encoded_bytes())
            })
        });
    let itself = complete.then(|| path.to_owned());
    let longer = if complete { &[][..] } else { endings };
    itself.into_iter().chain(longer.iter().map(|ending| {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    }))
}

#[cfg(unix)]
fn executable(path: &Path) -> bool {
    nix::unistd::access(path, nix::unistd::AccessFlags::X_OK).is_ok()
}

#[cfg(not(unix))]
fn executable(_path: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn d017_a_name_without_an_ending_is_tried_with_each_of_pathext() {
        let endings = pathext(".COM;.EXE;;.CMD");
        let names: Vec<_> = candidates(Path::new("bin/npx"), &endings).collect();
        assert_eq!(names, ["bin/npx.COM", "bin/npx.EXE", "bin/npx.CMD"].map(PathBuf::from));
        let names: Vec<_> = candidates(Path::new("我的 文件/npx.cmd"), &endings).collect();
        assert_eq!(names, [PathBuf::from("我的 文件/npx.cmd")]);
    }

    #[cfg(unix)]
    #[test]
    fn d010_a_missing_program_names_itself_and_where_was_looked() {
        let environment: Environment = [("PATH", "/nowhere:/neither")].into_iter().collect();
        let error = find(OsStr::new("no-such"), &environment, None).unwrap_err();
        assert_eq!(error.to_string(), "program `no-such` not found in PATH (/nowhere:/neither)");
        let error = find(OsStr::new("no-such"), &Environment::new(), None).unwrap_err();
        assert_eq!(error.to_string(), "program `no-such` not found in PATH (which is not set)");
        let error = find(OsStr::new("./no-such"), &environment, Some(Path::new("/tmp")));
        assert_eq!(error.unwrap_err().to_string(), "program `/tmp/./no-such` not found");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_may_not_be_executed_is_passed_over_and_named() {
        use std::os::unix::fs::PermissionsExt;

        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let path = std::env::join_paths([first.path(), second.path()]).unwrap();
        let environment: Environment = [("PATH", path)].into_iter().collect();
        std::fs::write(first.path().join("server"), "").unwrap();
        let error = find(OsStr::new("server"), &environment, None).unwrap_err();
        assert!(matches!(error, SpawnError::NotExecutable { path } if path.starts_with(&first)));

        let program = second.path().join("server");
        std::fs::write(&program, "").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        assert_eq!(find(OsStr::new("server"), &environment, None).unwrap(), program);
    }

    #[cfg(unix)]
    #[test]
    fn f16_empty_and_relative_entries_of_path_find_nothing() {
        use std::os::unix::fs::PermissionsExt;

        let project = tempfile::tempdir().unwrap();
        std::fs::create_dir(project.path().join("bin")).unwrap();
        for name in ["npx", "bin/npx"] {
            let program = project.path().join(name);
            std::fs::write(&program, "").unwrap();
            std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let found = |path: &str| {
            let environment: Environment = [("PATH", path)].into_iter().collect();
            find(OsStr::new("npx"), &environment, Some(project.path()))
        };
        let error = found(".:/nowhere").unwrap_err().to_string();
        assert_eq!(
            error,
            "program `npx` not found in PATH (.:/nowhere, of which empty and relative entries are \
             not used)"
        );
        for path in
            ["", ":", ".", "./", "bin", "./bin:/nowhere", "/nowhere:", ":/nowhere", "a/../bin"]
        {
            let error = found(path).unwrap_err();
            assert!(matches!(error, SpawnError::NotFound { .. }), "{path}: {error}");
        }
        let absolute = project.path().join("bin");
        let path = format!(".:{}", absolute.display());
        assert_eq!(found(&path).unwrap(), absolute.join("npx"));
    }

    #[test]
    fn bare_names_and_paths_are_told_apart() {
        assert!(!is_path(OsStr::new("npx")));
        for path in ["./npx", "../npx", "/usr/bin/npx", "bin/npx", "npx/"] {
            assert!(is_path(OsStr::new(path)), "{path}");
        }
    }
}
