use super::*;

const D101: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed/D101/paths.txt"));

fn names(parts: &[&str]) -> Vec<OsString> {
    parts.iter().map(OsString::from).collect()
}

fn relative(parts: &[&str]) -> Result<Target, PathFault> {
    Ok(Target::Relative(names(parts)))
}

fn absolute(drive: Option<char>, parts: &[&str]) -> Result<Target, PathFault> {
    Ok(Target::Absolute(Spelling { drive, parts: names(parts) }))
}

#[test]
fn unix_paths_are_taken_apart() {
    let parse = |text| parse(text, Style::Unix);
    assert_eq!(parse(""), relative(&[]));
    assert_eq!(parse("."), relative(&[]));
    assert_eq!(parse("a//b/./c/"), relative(&["a", "b", "c"]));
    assert_eq!(parse("a/../b"), relative(&["b"]));
    assert_eq!(parse("/a/../../b"), absolute(None, &["b"]));
    assert_eq!(parse("/"), absolute(None, &[]));
    assert_eq!(parse("日本/ü"), relative(&["日本", "ü"]));
    // Characters that mean something elsewhere are part of names here.
    assert_eq!(parse(r"C:\x"), relative(&[r"C:\x"]));
    assert_eq!(parse("%2e%2e/NUL. "), relative(&["%2e%2e", "NUL. "]));

    assert_eq!(parse(".."), Err(PathFault::Above));
    assert_eq!(parse("a/../../b"), Err(PathFault::Above));
    assert_eq!(parse("a\0b"), Err(PathFault::Nul));
    assert_eq!(parse(&"a/".repeat(LONGEST)), Err(PathFault::TooLong));
}

#[test]
fn windows_paths_are_taken_apart() {
    let parse = |text| parse(text, Style::Windows);
    assert_eq!(parse(r"a\b/c"), relative(&["a", "b", "c"]));
    assert_eq!(parse(r"c:\a\..\b\"), absolute(Some('C'), &["b"]));
    assert_eq!(parse("C:/a"), absolute(Some('C'), &["a"]));
    assert_eq!(parse("PROGRA~1"), relative(&["PROGRA~1"]));
    for (text, fault) in [
        (r"..\x", PathFault::Above),
        (r"\x", PathFault::DriveRelative),
        ("/mnt/c/x", PathFault::DriveRelative),
        (r"\\srv\share", PathFault::OtherMachine),
        ("//srv/share", PathFault::OtherMachine),
        (r"\\wsl$\distro\x", PathFault::OtherMachine),
        (r"\\?\C:\x", PathFault::Device),
        (r"\\.\pipe\x", PathFault::Device),
        (r"\??\C:\x", PathFault::Device),
        ("//./COM1", PathFault::Device),
        ("a/nul", PathFault::Device),
        ("nul.txt", PathFault::Device),
        ("nul .txt", PathFault::Device),
        ("Com1.log", PathFault::Device),
        ("lpt³", PathFault::Device),
        ("conin$", PathFault::Device),
        ("a.txt::$DATA", PathFault::Stream),
        ("a./b", PathFault::TrailingDot),
        ("a\u{1}", PathFault::Character),
        ("a*", PathFault::Character),
    ] {
        assert_eq!(parse(text), Err(fault), "{text}");
    }
    for fine in ["COM", "COM10", "NULL", "console", "lpt", "a.b", "CON1"] {
        assert_eq!(parse(fine), relative(&[fine]));
    }
}

#[test]
fn d101_windows_forms_are_refused() {
    let mut seen = 0;
    for line in D101.lines() {
        let (verdict, path) = line.split_once(' ').unwrap();
        let got = parse(path, Style::Windows);
        match verdict {
            "refuse" => assert!(got.is_err(), "{path}: {got:?}"),
            "root" => assert_eq!(got, absolute(path.chars().next(), &[]), "{path}"),
            other => panic!("unknown verdict {other}"),
        }
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[test]
fn d101_case_is_no_difference_on_windows_only() {
    let root = Spelling { drive: Some('C'), parts: names(&["Users", "Zoë"]) };
    let asked = Spelling { drive: Some('C'), parts: names(&["USERS", "ZOË", "a"]) };
    assert_eq!(asked.below(&root, Style::Windows), Some(PathBuf::from("a")));
    assert_eq!(asked.below(&root, Style::Unix), None);
    let other = Spelling { drive: Some('D'), ..asked };
    assert_eq!(other.below(&root, Style::Windows), None);
}

#[test]
fn d098_containment_is_by_whole_names() {
    let spelling = |parts: &[&str]| Spelling { drive: None, parts: names(parts) };
    let root = spelling(&["tmp", "rootdir"]);
    let below = |parts: &[&str]| spelling(parts).below(&root, Style::Unix);
    assert_eq!(below(&["tmp", "rootdir", "a", "b"]), Some(PathBuf::from("a/b")));
    assert_eq!(below(&["tmp", "rootdir"]), Some(PathBuf::new()));
    assert_eq!(below(&["tmp", "rootdir_evil", "x"]), None);
    assert_eq!(below(&["tmp"]), None);
}

#[test]
fn uris_are_decoded_once() {
    let parse = |uri: &str| parse_uri(uri, Style::Unix).map(|found| found.parts);
    assert_eq!(parse("file:///a/b%20c"), Ok(names(&["a", "b c"])));
    assert_eq!(parse("FILE://LocalHost/a"), Ok(names(&["a"])));
    assert_eq!(parse("file:/a"), Ok(names(&["a"])));
    assert_eq!(parse("file:///%E6%97%A5"), Ok(names(&["日"])));
    assert_eq!(parse("file:///a/%2e%2E/b"), Ok(names(&["b"])));
    assert_eq!(parse("file:///a/%252e%252e/b"), Ok(names(&["a", "%2e%2e", "b"])));
    assert_eq!(parse("file:///100%25"), Ok(names(&["100%"])));
    for (uri, fault) in [
        ("file:///a%2fb", PathFault::Escape),
        ("file:///a%5Cb", PathFault::Escape),
        ("file:///a%", PathFault::Escape),
        ("file:///a%4", PathFault::Escape),
        ("file:///a%zz", PathFault::Escape),
        ("file:///a%+1", PathFault::Escape),
        ("file:///a%00", PathFault::Nul),
        ("file:///a\0", PathFault::Nul),
        ("file:///a\\b", PathFault::NotFileUri),
        ("file:///a?b", PathFault::NotFileUri),
        ("file:///a#b", PathFault::NotFileUri),
        ("file:a", PathFault::NotFileUri),
        ("file://", PathFault::NotFileUri),
        ("http:///a", PathFault::NotFileUri),
        ("fil", PathFault::NotFileUri),
        ("日本日本", PathFault::NotFileUri),
        ("file://host/a", PathFault::OtherMachine),
    ] {
        assert_eq!(parse(uri), Err(fault), "{uri}");
    }
}

#[test]
fn uris_of_drives_are_read_on_windows() {
    let parse = |uri: &str| parse_uri(uri, Style::Windows);
    let found = parse("file:///c:/a/b").unwrap();
    assert_eq!(found, Spelling { drive: Some('C'), parts: names(&["a", "b"]) });
    assert_eq!(found.to_uri().unwrap(), "file:///C:/a/b");
    assert_eq!(parse("file:///C:"), Ok(Spelling { drive: Some('C'), parts: Vec::new() }));
    assert_eq!(parse("file:///C:a"), Err(PathFault::DriveRelative));
    assert_eq!(parse("file:///a"), Err(PathFault::DriveRelative));
    assert_eq!(parse("file:///C:/NUL"), Err(PathFault::Device));
    assert_eq!(parse("file:///C:/a%3Astream"), Err(PathFault::Stream));
    assert_eq!(parse("file:///C:/%FF"), Err(PathFault::Encoding));
}

#[test]
fn uris_round_trip() {
    for name in ["a", "b c", "100%", "%2e", "日本", "a#b?c", "ü+;=@:~", "..."] {
        let spelling = Spelling { drive: None, parts: names(&["top", name]) };
        let uri = spelling.to_uri().unwrap();
        assert!(uri.is_ascii() && !uri.contains(' '), "{uri}");
        assert_eq!(parse_uri(&uri, Style::Unix), Ok(spelling), "{uri}");
    }
    let top = Spelling { drive: None, parts: Vec::new() };
    assert_eq!(top.to_uri().unwrap(), "file:///");
    let unnamable = Spelling { drive: None, parts: names(&[r"a\b"]) };
    assert_eq!(unnamable.to_uri(), None);
}

#[cfg(unix)]
#[test]
fn uris_name_files_whose_names_are_not_text() {
    use std::os::unix::ffi::OsStringExt;
    let spelling = Spelling { drive: None, parts: vec![OsString::from_vec(vec![b'a', 0xff])] };
    let uri = spelling.to_uri().unwrap();
    assert_eq!(uri, "file:///a%FF");
    assert_eq!(parse_uri(&uri, Style::Unix), Ok(spelling));
}

#[test]
fn links_are_joined_to_their_folder() {
    let folder = Spelling { drive: None, parts: names(&["a", "b"]) };
    let joined = |target: &str| folder.join(Path::new(target)).map(|s| s.parts);
    assert_eq!(joined("c"), Some(names(&["a", "b", "c"])));
    assert_eq!(joined("../../../d"), Some(names(&["d"])));
    #[cfg(unix)]
    assert_eq!(joined("/x/../y"), Some(names(&["y"])));
}
