use super::*;

fn case(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed/");
    fs::read_to_string(format!("{folder}{name}")).unwrap()
}

#[test]
fn d098_paths_stay_below_the_root() {
    let fixture = Fixture::new();
    for path in ["rootdir/a.txt", "rootdir_evil/x", "x"] {
        fixture.file(path, b"text");
    }
    let files = Files::open(FilesOptions::new([fixture.at("rootdir")]));
    let mut seen = 0;
    for line in case("D098/paths.txt").lines() {
        let (verdict, path) = line.split_once(' ').unwrap();
        let path = path.replacen("/tmp", fixture.base.path().to_str().unwrap(), 1);
        match (verdict, files.read(&path, None, None)) {
            ("allow", Ok(text)) => assert_eq!(text.content, "text"),
            ("allow", Err(FilesError::WrongKind { kind: Kind::Folder, .. })) => {
                assert_eq!(files.list(Some(&path), None).unwrap().entries.len(), 1);
            }
            ("deny", Err(FilesError::Outside { .. })) => {}
            (_, got) => panic!("{line}: {got:?}"),
        }
        seen += 1;
    }
    assert_eq!(seen, 5);
}

#[test]
fn d099_uris_stay_below_the_root_and_tell_nothing() {
    let fixture =
        Fixture::with(&[("root/a", "inside"), ("etc/passwd", "outside"), ("root/b", "inside")]);
    let files = fixture.files();
    let top = fixture.base.path().to_str().unwrap();
    let mut seen = 0;
    for uri in case("D099/uris.txt").lines() {
        let uri = uri.replacen("/root", &format!("{top}/root"), 1);
        let error = files.read_resource(&uri).unwrap_err();
        assert!(error.is_no_resource(), "{uri}: {error}");
        seen += 1;
    }
    assert_eq!(seen, 6);

    let inside = files.read_resource(&format!("file://{top}/root/a")).unwrap();
    assert_eq!(inside.data, Data::Text("inside".into()));
    // Whether something is there makes no difference outside.
    let there = files.read(&format!("{top}/etc/passwd"), None, None).unwrap_err().to_string();
    let nothing = files.read(&format!("{top}/etc/nobody"), None, None).unwrap_err().to_string();
    assert_eq!(there.replace("passwd", "nobody"), nothing);
}

#[test]
fn d100_a_missing_root_is_a_warning() {
    let fixture = Fixture::with(&[("root/a", "1"), ("second/b", "2"), ("file", "")]);
    let files = Files::open(FilesOptions::new([
        fixture.at("nowhere"),
        fixture.at("root"),
        fixture.at("file"),
        fixture.at("second"),
    ]));
    let missing: Vec<_> = files.missing().iter().map(|missing| missing.path.clone()).collect();
    assert_eq!(missing, [fixture.at("nowhere"), fixture.at("file")]);
    assert!(files.missing()[0].to_string().contains("nowhere"));
    assert_eq!(files.roots().collect::<Vec<_>>(), [fixture.at("root"), fixture.at("second")]);
    // The first that is there is the default; the others take absolute paths.
    assert_eq!(files.read("a", None, None).unwrap().content, "1");
    let second = fixture.text("second/b");
    let read = files.read(&second, None, None).unwrap();
    assert_eq!((read.content.as_str(), &read.path), ("2", &second));
    assert!(matches!(files.read("b", None, None), Err(FilesError::NotFound { .. })));

    let none = Files::open(FilesOptions::new([fixture.at("nowhere")]));
    for path in ["a", "/etc/passwd", "file:///a"] {
        assert!(matches!(none.read(path, None, None), Err(FilesError::NoRoots)));
    }
    assert!(none.resources(None).unwrap().resources.is_empty());
}

#[cfg(unix)]
mod links {
    use super::*;
    use std::{os::unix::fs::symlink, sync::atomic::Ordering};

    #[test]
    fn d100_both_spellings_of_a_linked_root_are_accepted() {
        let fixture = Fixture::with(&[("private/tmp/a", "text")]);
        symlink("private/tmp", fixture.at("tmp")).unwrap();
        let files = Files::open(FilesOptions::new([fixture.at("tmp")]));
        for path in ["tmp/a", "private/tmp/a"] {
            assert_eq!(files.read(&fixture.text(path), None, None).unwrap().content, "text");
            let uri = format!("file://{}", fixture.text(path));
            assert_eq!(files.read_resource(&uri).unwrap().data, Data::Text("text".into()));
        }
        // Named as it was given.
        let page = files.resources(None).unwrap();
        assert_eq!(page.resources[0].uri, format!("file://{}", fixture.text("tmp/a")));
    }

    #[test]
    fn d098_links_are_followed_inside_and_refused_outside() {
        let fixture = Fixture::with(&[
            ("root/real/a.txt", "inside"),
            ("second/b.txt", "second"),
            ("outside/secret", "secret"),
        ]);
        for (link, target) in [
            ("root/relative", PathBuf::from("real")),
            ("root/absolute", fixture.at("root/real")),
            ("root/file", PathBuf::from("real/a.txt")),
            ("root/real/up", PathBuf::from("../real")),
            ("root/chain", PathBuf::from("absolute")),
            ("root/sibling", PathBuf::from("../second")),
            ("root/out", PathBuf::from("../outside")),
            ("root/out_absolute", fixture.at("outside")),
            ("root/out_file", fixture.at("outside/secret")),
            ("root/out_nowhere", fixture.at("outside/nothing")),
            ("root/out_chain", PathBuf::from("out")),
            ("root/circle", PathBuf::from("circle")),
            ("root/circle_a", fixture.at("root/circle_b")),
            ("root/circle_b", fixture.at("root/circle_a")),
            ("root/dangling", PathBuf::from("nothing")),
        ] {
            symlink(target, fixture.at(link)).unwrap();
        }
        let files = fixture.opened(FilesOptions::new([fixture.at("root"), fixture.at("second")]));
        let read = |path: &str| files.read(path, None, None);
        for path in [
            "relative/a.txt",
            "absolute/a.txt",
            "file",
            "real/up/a.txt",
            "chain/a.txt",
            "real/up/up/up/a.txt",
        ] {
            assert_eq!(read(path).unwrap().content, "inside", "{path}");
        }
        assert_eq!(read("sibling/b.txt").unwrap().content, "second");
        for path in [
            "out/secret",
            "out/nothing",
            "out_absolute/secret",
            "out_file",
            "out_nowhere",
            "out_chain/secret",
        ] {
            let error = read(path).unwrap_err();
            assert!(matches!(error, FilesError::LinkOutside { .. }), "{path}: {error}");
            let uri = format!("file://{}", fixture.text("root").to_owned() + "/" + path);
            assert!(files.read_resource(&uri).unwrap_err().is_no_resource());
        }
        for path in ["circle", "circle_a"] {
            assert!(matches!(read(path), Err(FilesError::Io { .. })), "{path}");
        }
        assert!(matches!(read("dangling"), Err(FilesError::NotFound { .. })));
        // Listing shows links as links, and searching does not go through them.
        let listed = files.list(None, None).unwrap();
        let links = listed.entries.iter().filter(|entry| entry.kind == Kind::Link).count();
        assert_eq!(links, 14);
        assert!(files.list(Some("out"), None).is_err());
        let found = search(&files, &Search::new("secret"));
        assert!(found.files.is_empty(), "{found}");
        assert!(found.notes.contains(&"15 links were not followed".to_owned()), "{found}");
    }

    /// Another process swaps a folder for a link to the outside, again and again.
    #[cfg(target_os = "linux")]
    #[test]
    fn d098_a_swapped_folder_never_leads_outside() {
        use nix::fcntl::{AT_FDCWD, RenameFlags, renameat2};
        let fixture = Fixture::with(&[("root/dir/a", "inside"), ("outside/a", "outside")]);
        symlink(fixture.at("outside"), fixture.at("root/spare")).unwrap();
        let files = fixture.opened(fixture.options().writable());
        let done = AtomicBool::new(false);
        let (dir, spare) = (fixture.at("root/dir"), fixture.at("root/spare"));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // Bounded, so that a failure of the other side ends this one too.
                for _ in 0..10_000_000 {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    let exchange = RenameFlags::RENAME_EXCHANGE;
                    renameat2(AT_FDCWD, &dir, AT_FDCWD, &spare, exchange).unwrap();
                }
            });
            for round in 0..3000 {
                if let Ok(read) = files.read("dir/a", None, None) {
                    assert_eq!(read.content, "inside");
                }
                if round % 10 == 0
                    && let Ok(found) =
                        files.search(&Search::new("outside"), &AtomicBool::new(false))
                {
                    assert!(found.files.is_empty(), "{found}");
                }
                // A new file may land in the folder or be refused, never outside.
                let _ = files.write("dir/new", "x");
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(fs::read_dir(fixture.at("outside")).unwrap().count(), 1);
        assert_eq!(fs::read_to_string(fixture.at("outside/a")).unwrap(), "outside");
    }
}
