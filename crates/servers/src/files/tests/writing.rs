use super::*;

fn writable(fixture: &Fixture) -> Files {
    fixture.opened(fixture.options().writable())
}

#[test]
fn files_are_made_and_replaced() {
    let fixture = Fixture::with(&[("root/old.txt", "old text")]);
    let files = writable(&fixture);
    let new = files.write("new/deep/日本.txt", "text").unwrap();
    assert_eq!((new.path.as_str(), new.bytes, new.created), ("new/deep/日本.txt", 4, true));
    assert_eq!(fs::read_to_string(fixture.at("root/new/deep/日本.txt")).unwrap(), "text");
    assert_eq!(new.to_string(), "Created new/deep/日本.txt (4 bytes).");
    let old = files.write(&fixture.text("root/old.txt"), "").unwrap();
    assert!(!old.created);
    assert_eq!(fs::read_to_string(fixture.at("root/old.txt")).unwrap(), "");
    // Nothing else is left behind.
    let mut names: Vec<_> =
        fs::read_dir(fixture.at("root")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["new", "old.txt"]);
}

#[test]
fn reading_only_is_the_default() {
    let fixture = Fixture::new();
    let files = fixture.files();
    assert!(files.is_read_only());
    assert!(matches!(files.write("a", "x"), Err(FilesError::ReadOnly)));
    assert!(!fixture.at("root/a").exists());
}

#[test]
fn what_cannot_be_written_leaves_nothing() {
    let fixture = Fixture::with(&[("root/dir/a", ""), ("outside/a", "outside")]);
    let mut options = fixture.options().writable();
    options.limits.write_bytes = 10;
    let files = fixture.opened(options);
    for (path, content) in [
        ("", "x"),
        ("dir", "x"),
        ("dir/a/b", "x"),
        ("../outside/a", "x"),
        ("a\0", "x"),
        ("big", "12345678901"),
    ] {
        assert!(files.write(path, content).is_err(), "{path}");
    }
    assert!(matches!(files.write("big", "12345678901"), Err(FilesError::TooLarge { .. })));
    assert!(matches!(files.write("dir", ""), Err(FilesError::WrongKind { .. })));
    let outside = fixture.text("outside/a");
    assert!(matches!(files.write(&outside, "x"), Err(FilesError::Outside { .. })));
    assert_eq!(fs::read_to_string(outside).unwrap(), "outside");
    assert_eq!(fs::read_dir(fixture.at("root")).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn links_stay_and_permissions_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let fixture =
        Fixture::with(&[("root/real", "old"), ("root/sealed", "old"), ("outside/a", "o")]);
    let mode = |path: &str| fs::metadata(fixture.at(path)).unwrap().permissions().mode() & 0o777;
    let set = |path: &str, mode| {
        fs::set_permissions(fixture.at(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    set("root/real", 0o640);
    set("root/sealed", 0o440);
    symlink("real", fixture.at("root/link")).unwrap();
    symlink(fixture.at("root/fresh"), fixture.at("root/to_fresh")).unwrap();
    symlink(fixture.at("outside/a"), fixture.at("root/out")).unwrap();
    symlink(fixture.at("outside/new"), fixture.at("root/out_new")).unwrap();
    symlink(fixture.at("outside"), fixture.at("root/out_dir")).unwrap();
    let files = writable(&fixture);
    assert_eq!(files.write("link", "new").unwrap().path, "real");
    assert_eq!(fs::read_to_string(fixture.at("root/real")).unwrap(), "new");
    assert!(fs::symlink_metadata(fixture.at("root/link")).unwrap().is_symlink());
    assert_eq!(mode("root/real"), 0o640);
    assert_eq!(files.write("to_fresh", "new").unwrap().path, "fresh");
    assert!(matches!(files.write("sealed", "new"), Err(FilesError::Permission { .. })));
    for path in ["out", "out_new", "out_dir/x", "out_dir/sub/x"] {
        let got = files.write(path, "new");
        assert!(matches!(got, Err(FilesError::LinkOutside { .. })), "{path}: {got:?}");
    }
    assert_eq!(fs::read_dir(fixture.at("outside")).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(fixture.at("outside/a")).unwrap(), "o");
}
