use super::*;

#[test]
fn text_is_read_as_it_stands() {
    let fixture = Fixture::with(&[
        ("root/a.txt", "one\r\ntwo\n\nfour"),
        ("root/empty", ""),
        ("root/bom", "\u{feff}text"),
        ("root/文書/日本語.txt", "こんにちは\n世界\n"),
    ]);
    let files = fixture.files();
    let all = files.read("a.txt", None, None).unwrap();
    assert_eq!(all.content, "one\r\ntwo\n\nfour");
    assert_eq!((all.first_line, all.last_line, all.total_lines), (1, 4, Some(4)));
    assert_eq!((all.size, all.next_offset), (14, None));
    assert_eq!(all.to_string(), all.content);

    let some = files.read("a.txt", Some(2), Some(2)).unwrap();
    assert_eq!(some.content, "two\n\n");
    assert_eq!((some.first_line, some.last_line), (2, 3));
    assert_eq!((some.total_lines, some.next_offset), (None, Some(4)));
    assert_eq!(some.to_string(), "two\n\n[lines 2 to 3; there is more: read on with offset=4]");
    let last = files.read("a.txt", some.next_offset, Some(100)).unwrap();
    assert_eq!((last.content.as_str(), last.total_lines), ("four", Some(4)));
    let none = files.read("a.txt", Some(3), Some(0)).unwrap();
    assert_eq!((none.content.as_str(), none.last_line, none.next_offset), ("", 2, Some(3)));

    let empty = files.read("empty", Some(0), None).unwrap();
    assert_eq!((empty.content.as_str(), empty.total_lines), ("", Some(0)));
    assert_eq!(files.read("bom", None, None).unwrap().content, "text");
    let cjk = files.read("文書/日本語.txt", Some(2), None).unwrap();
    assert_eq!((cjk.content.as_str(), cjk.path.as_str()), ("世界\n", "文書/日本語.txt"));
    let uri = format!("file://{}", fixture.text("root/a.txt"));
    assert_eq!(files.read(&uri, None, None).unwrap(), all);
}

#[test]
fn lines_beyond_the_end_are_errors() {
    let fixture = Fixture::with(&[("root/a", "1\n2\n"), ("root/b", "1\n2"), ("root/empty", "")]);
    let files = fixture.files();
    for (path, offset, has) in [("a", 3, 2), ("b", 3, 2), ("a", u64::MAX, 2), ("empty", 2, 0)] {
        match files.read(path, Some(offset), None) {
            Err(FilesError::NoSuchLine { lines, .. }) => assert_eq!(lines, has, "{path}"),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert_eq!(files.read("b", Some(2), Some(u64::MAX)).unwrap().content, "2");
}

#[test]
fn large_files_come_in_parts() {
    let line = "0123456789abcdef\n";
    let fixture = Fixture::with(&[("root/big", &line.repeat(100_000))]);
    let files = fixture.files();
    let mut offset = None;
    let mut read = String::new();
    loop {
        let part = files.read("big", offset, None).unwrap();
        assert!(part.content.len() <= 1024 * 1024 && part.content.ends_with('\n'));
        read.push_str(&part.content);
        offset = part.next_offset;
        if offset.is_none() {
            assert_eq!(part.total_lines, Some(100_000));
            break;
        }
    }
    assert_eq!(read, line.repeat(100_000));
}

#[test]
fn a_line_that_is_too_long_is_cut_between_characters() {
    let fixture = Fixture::with(&[("root/long", &format!("short\n{}\nnext\n", "字".repeat(100)))]);
    let mut options = fixture.options();
    options.limits.read_bytes = 50;
    let files = fixture.opened(options);
    let first = files.read("long", None, None).unwrap();
    assert_eq!((first.content.as_str(), first.next_offset), ("short\n", Some(2)));
    let cut = files.read("long", Some(2), None).unwrap();
    assert_eq!(cut.content, "字".repeat(16));
    assert_eq!(cut.next_offset, Some(3));
    assert!(cut.notes[0].contains("line 2 is too long"), "{:?}", cut.notes);
    assert!(cut.to_string().contains("字\n[line 2"), "{cut}");
    assert_eq!(files.read("long", Some(3), None).unwrap().content, "next\n");
}

#[test]
fn the_way_into_a_file_is_bounded() {
    let fixture = Fixture::with(&[("root/big", &"line\n".repeat(1000))]);
    let mut options = fixture.options();
    options.limits.scan_bytes = 100;
    let files = fixture.opened(options);
    assert!(files.read("big", Some(2), Some(1)).is_ok());
    // The buffer is larger than the limit here, so only its end is noticed.
    let error = files.read("big", Some(900), None).unwrap_err();
    assert!(error.to_string().contains("scan_bytes"), "{error}");
}

#[test]
fn a_sparse_file_of_many_gigabytes_costs_nothing() {
    let fixture = Fixture::new();
    let file = fs::File::create(fixture.at("root/huge")).unwrap();
    file.set_len(1 << 40).unwrap();
    let files = fixture.files();
    assert!(matches!(files.read("huge", None, None), Err(FilesError::Binary { .. })));
    let uri = format!("file://{}", fixture.text("root/huge"));
    assert!(matches!(files.read_resource(&uri), Err(FilesError::TooLarge { .. })));
    let found = search(&files, &Search::new("x"));
    assert!(found.files.is_empty() && !found.truncated, "{found:?}");
}

#[test]
fn what_is_not_text_is_told() {
    let fixture = Fixture::new();
    fixture.file("root/pic.png", b"\x89PNG\r\n\x1a\n\0\0\0\r");
    fixture.file("root/latin.txt", b"caf\xe9\n");
    let files = fixture.files();
    let error = files.read("pic.png", None, None).unwrap_err();
    assert!(error.is_callers_fault());
    let text = error.to_string();
    assert!(text.contains("image/png, 12 bytes"), "{text}");
    assert!(text.contains(&format!("file://{}", fixture.text("root/pic.png"))), "{text}");
    let latin = files.read("latin.txt", None, None).unwrap();
    assert_eq!(latin.content, "caf\u{fffd}\n");
    assert!(latin.notes[0].contains("not valid UTF-8"), "{:?}", latin.notes);
}

#[test]
fn bad_paths_are_errors() {
    let fixture = Fixture::with(&[("root/a", "")]);
    let files = fixture.files();
    let read = |path: &str| files.read(path, None, None).unwrap_err();
    assert!(matches!(read("../x"), FilesError::Path { fault: PathFault::Above, .. }));
    assert!(matches!(read("a\0"), FilesError::Path { fault: PathFault::Nul, .. }));
    assert!(matches!(read(&"x".repeat(300)), FilesError::Path { .. }));
    assert!(matches!(read("a/b"), FilesError::NotFound { .. }));
    assert!(matches!(read("."), FilesError::WrongKind { kind: Kind::Folder, .. }));
    let long = read(&format!("{}\u{1b}[31m", "x/".repeat(1000))).to_string();
    assert!(long.len() < 500 && !long.contains('\u{1b}'), "{long}");
}

#[cfg(unix)]
#[test]
fn pipes_and_sockets_are_never_opened() {
    let fixture = Fixture::with(&[("root/a", "x")]);
    nix::unistd::mkfifo(&fixture.at("root/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.at("root/socket")).unwrap();
    std::os::unix::fs::symlink("pipe", fixture.at("root/to_pipe")).unwrap();
    let files = fixture.opened(fixture.options().writable());
    for path in ["pipe", "socket", "to_pipe"] {
        let special = |error| {
            assert!(matches!(error, FilesError::WrongKind { kind: Kind::Special, .. }), "{error}");
        };
        special(files.read(path, None, None).unwrap_err());
        special(files.write(path, "x").unwrap_err());
        let uri = format!("file://{}/{path}", fixture.text("root"));
        special(files.read_resource(&uri).unwrap_err());
    }
    assert_eq!(files.list(None, None).unwrap().entries[1].kind, Kind::Special);
    assert_eq!(search(&files, &Search::new("x")).files_searched, 1);
    assert_eq!(files.resources(None).unwrap().resources.len(), 1);
}

#[cfg(unix)]
#[test]
fn refusals_of_the_system_are_told() {
    use std::{io, os::unix::fs::PermissionsExt};
    let denied = io::Error::from_raw_os_error(nix::errno::Errno::EACCES as i32);
    let error = FilesError::io("a", denied);
    assert!(matches!(error, FilesError::Permission { .. }), "{error}");
    assert!(error.is_callers_fault() && !error.is_no_resource());

    let fixture = Fixture::with(&[("root/a", "secret"), ("root/dir/b", "secret")]);
    for path in ["root/a", "root/dir"] {
        fs::set_permissions(fixture.at(path), fs::Permissions::from_mode(0o000)).unwrap();
    }
    let files = fixture.files();
    // Nothing is forbidden to some users; then what there is must be read.
    match fs::read(fixture.at("root/a")) {
        Ok(_) => assert_eq!(files.read("a", None, None).unwrap().content, "secret"),
        Err(_) => {
            let denied = |error| matches!(error, Err(FilesError::Permission { .. }));
            assert!(denied(files.read("a", None, None)));
            assert!(denied(files.read("dir/b", None, None)));
            let found = search(&files, &Search::new("secret"));
            assert_eq!(found.notes, ["1 files could not be read", "1 folders could not be read"]);
        }
    }
    fs::set_permissions(fixture.at("root/dir"), fs::Permissions::from_mode(0o700)).unwrap();
}
