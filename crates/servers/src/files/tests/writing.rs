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

#[cfg(unix)]
#[test]
fn f73_who_replaces_a_file_grants_nobody_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::with(&[("root/tool", "old")]);
    let path = fixture.at("root/tool");
    for special in [0o4755, 0o2755, 0o1755, 0o6711] {
        fs::set_permissions(&path, fs::Permissions::from_mode(special)).unwrap();
        writable(&fixture).write("tool", "new").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, special & 0o777, "{special:o}");
    }
}

#[cfg(unix)]
#[test]
fn f73_what_a_killed_server_left_is_removed_at_the_next_start() {
    let left = ["root/.carrick-7-0.tmp", "root/a/b/.carrick-4194303-12.tmp"];
    let others = [
        "root/.carrick-7.tmp",
        "root/.carrick-x-1.tmp",
        "root/carrick-7-1.tmp",
        "root/a/.carrick-7-1.tmp~",
        "outside/.carrick-7-0.tmp",
    ];
    let all: Vec<_> = left.iter().chain(&others).map(|path| (*path, "half")).collect();
    let fixture = Fixture::with(&all);
    // One that is being written just now.
    fixture.file("root/a/.carrick-8-0.tmp", b"half");
    let written = fs::File::open(fixture.at("root/a/.carrick-8-0.tmp")).unwrap();
    written.try_lock().unwrap();
    fixture.files();
    assert!(left.iter().all(|path| fixture.at(path).exists()), "reading only, nothing is removed");
    let files = writable(&fixture);
    for path in left {
        assert!(!fixture.at(path).exists(), "{path}");
    }
    for path in others.iter().chain(&["root/a/.carrick-8-0.tmp"]) {
        assert!(fixture.at(path).exists(), "{path}");
    }
    files.write("fresh", "whole").unwrap();
    assert_eq!(fs::read_to_string(fixture.at("root/fresh")).unwrap(), "whole");
}

#[cfg(unix)]
#[test]
fn f73_folders_made_for_a_file_that_could_not_be_written_go_again() {
    let fixture = Fixture::with(&[("root/there/a", "")]);
    let files = writable(&fixture);
    let long = "x".repeat(256);
    for path in [
        format!("new/deep/{long}"),
        format!("new/{long}/file"),
        format!("there/new/{long}"),
        "there/a/b/c".into(),
    ] {
        assert!(files.write(&path, "text").is_err(), "{path}");
        assert!(!fixture.at("root/new").exists(), "{path}");
        assert!(!fixture.at("root/there/new").exists(), "{path}");
    }
    assert!(fixture.at("root/there/a").exists());
    files.write("new/deep/file", "text").unwrap();
    assert!(files.write(&format!("new/deep/{long}"), "text").is_err());
    assert!(fixture.at("root/new/deep/file").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn f73_a_name_that_is_not_utf_8_is_used_as_it_is_listed() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let folder = fixture.at("root").join(OsStr::from_bytes(b"d\xff"));
    fs::create_dir(&folder).unwrap();
    let mut names: Vec<Vec<u8>> = vec![b"caf\xe9.txt".to_vec(), b"caf\xe8.txt".to_vec()];
    names.push("caf\u{fffd}E9.txt".into());
    for name in &names {
        fs::write(folder.join(OsStr::from_bytes(name)), name).unwrap();
    }
    let mut options = fixture.options().writable();
    options.limits.list_entries = 1;
    let files = fixture.opened(options);
    let listed = files.list(None, None).unwrap();
    let folder = listed.entries[0].name.clone();
    let (mut after, mut seen) = (None, Vec::new());
    loop {
        let page = files.list(Some(&folder), after.as_deref()).unwrap();
        for entry in page.entries {
            let path = format!("{}/{}", page.path, entry.name);
            // The text of the file is its name in Latin-1, which is not UTF-8 either.
            let found = files.search(
                &Search { query: "caf".into(), path: Some(path.clone()), ..Default::default() },
                &AtomicBool::new(false),
            );
            assert_eq!(found.unwrap().files[0].path, path);
            files.write(&path, &format!("now {path}")).unwrap();
            assert_eq!(files.read(&path, None, None).unwrap().content, format!("now {path}"));
            seen.push(path);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
    assert_eq!(fs::read_dir(fixture.at("root")).unwrap().count(), 1);
}
