use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc;

use super::*;

fn set(path: &Path, new: &str) {
    update(path, |_| Ok::<_, StoreError>((new.as_bytes().to_vec(), ()))).unwrap();
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn d128_changes_made_at_once_are_all_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("count");
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..10 {
                    update(&path, |old| {
                        let text = String::from_utf8(old.unwrap_or(b"0").to_vec()).unwrap();
                        let next = text.parse::<u32>().unwrap() + 1;
                        Ok::<_, StoreError>((next.to_string().into_bytes(), ()))
                    })
                    .unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), "40");
    assert_eq!(names(folder.path()), [".count.lock", "count", "count.bak"]);
}

#[test]
fn d128_a_failed_write_leaves_the_old_file_and_no_litter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings");
    fs::write(&path, "old").unwrap();
    let error = replace(&path, &path, |file| {
        file.write_all(b"half of the n")?;
        Err(io::Error::from(io::ErrorKind::StorageFull))
    });
    assert_eq!(error.unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    assert_eq!(names(folder.path()), ["settings"]);
}

#[test]
fn d128_until_the_rename_a_reader_sees_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings");
    set(&path, "old");
    let (half, wait_half) = mpsc::channel::<()>();
    let (go, wait_go) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            replace(&path, &path, move |file| {
                file.write_all(b"ne")?;
                half.send(()).unwrap();
                wait_go.recv().unwrap();
                file.write_all(b"w")
            })
            .unwrap();
        });
        wait_half.recv().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        go.send(()).unwrap();
    });
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn d128_a_refused_change_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings");
    fs::write(&path, "{ not understood").unwrap();
    let refuse = |_: Option<&[u8]>| -> Result<(Vec<u8>, ()), StoreError> {
        Err(StoreError::Locked { path: "x".into() })
    };
    assert!(update(&path, refuse).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{ not understood");
    assert!(!folder.path().join("settings.bak").exists());
}

#[cfg(unix)]
#[test]
fn d128_mode_link_and_backup_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;

    let folder = tempfile::tempdir().unwrap();
    let dotfiles = folder.path().join("dotfiles");
    fs::create_dir(&dotfiles).unwrap();
    let (real, link) = (dotfiles.join("real"), folder.path().join("link"));
    fs::write(&real, "one").unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("dotfiles/real", &link).unwrap();

    set(&link, "two");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "two");
    assert_eq!(mode(&real), 0o640);
    assert_eq!(fs::read_to_string(dotfiles.join("real.bak")).unwrap(), "one");
    assert_eq!(mode(&dotfiles.join("real.bak")), 0o640);

    let new = folder.path().join("a/b/new");
    set(&new, "x");
    assert_eq!(mode(&new), 0o600);
    assert_eq!(mode(&folder.path().join("a")), 0o700);

    let dangling = folder.path().join("dangling");
    symlink("dotfiles/later", &dangling).unwrap();
    set(&dangling, "y");
    assert_eq!(fs::read_to_string(dotfiles.join("later")).unwrap(), "y");

    let round = folder.path().join("round");
    symlink("round", &round).unwrap();
    assert!(update(&round, |_| Ok::<_, StoreError>((Vec::new(), ()))).is_err());
}

#[test]
fn an_unchanged_file_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("settings");
    set(&path, "same");
    set(&path, "same");
    assert!(!folder.path().join("settings.bak").exists());
}
