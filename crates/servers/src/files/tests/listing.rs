use super::*;

fn names(listing: &Listing) -> Vec<&str> {
    listing.entries.iter().map(|entry| entry.name.as_str()).collect()
}

#[test]
fn folders_are_listed_in_order() {
    let fixture = Fixture::with(&[
        ("root/b.txt", "12345"),
        ("root/a/deep.txt", ""),
        ("root/日本語.txt", ""),
        ("root/.hidden", ""),
    ]);
    let files = fixture.files();
    let listing = files.list(None, None).unwrap();
    assert_eq!(names(&listing), [".hidden", "a", "b.txt", "日本語.txt"]);
    assert_eq!(listing.path, ".");
    assert!(listing.next.is_none() && listing.folders.is_empty() && listing.notes.is_empty());
    let entry = &listing.entries[2];
    assert_eq!((entry.kind, entry.size), (Kind::File, Some(5)));
    assert!(entry.modified.as_ref().is_some_and(|at| at.ends_with('Z')), "{entry:?}");
    assert_eq!(
        listing.to_string(),
        ".:\n.hidden (0 bytes)\na/\nb.txt (5 bytes)\n日本語.txt (0 bytes)"
    );
    assert_eq!(files.list(Some(""), None).unwrap(), listing);
    assert_eq!(files.list(Some("a"), None).unwrap().path, "a");
    assert!(matches!(
        files.list(Some("b.txt"), None),
        Err(FilesError::WrongKind { kind: Kind::File, wanted: Kind::Folder, .. })
    ));
    assert!(matches!(files.list(Some("zzz"), None), Err(FilesError::NotFound { .. })));
    assert!(matches!(files.list(Some("b.txt/x"), None), Err(FilesError::NotFound { .. })));
}

#[test]
fn large_folders_come_in_parts() {
    let fixture = Fixture::new();
    for i in 0..25 {
        fixture.file(&format!("root/f{i:02}"), b"");
    }
    let mut options = fixture.options();
    options.limits.list_entries = 10;
    let files = fixture.opened(options);
    let mut all = Vec::new();
    let mut after: Option<String> = None;
    let mut pages = 0;
    loop {
        let page = files.list(None, after.as_deref()).unwrap();
        all.extend(page.entries.into_iter().map(|entry| entry.name));
        pages += 1;
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    assert_eq!(pages, 3);
    assert_eq!(all, (0..25).map(|i| format!("f{i:02}")).collect::<Vec<_>>());
    let text = files.list(None, None).unwrap().to_string();
    assert!(text.ends_with("[There is more: list again with after=\"f09\".]"), "{text}");
}

#[test]
fn a_listing_that_met_a_limit_says_so() {
    let fixture = Fixture::with(&[("root/a", ""), ("root/b", ""), ("root/c", "")]);
    let mut options = fixture.options();
    options.limits.visited_entries = 2;
    let listing = fixture.opened(options).list(None, None).unwrap();
    assert_eq!(listing.entries.len(), 2);
    assert!(listing.notes[0].contains("visited_entries"), "{listing:?}");
}

#[test]
fn several_folders_are_named_when_none_is_asked_for() {
    let fixture = Fixture::with(&[("second/b", "")]);
    let files = fixture.opened(FilesOptions::new([fixture.at("root"), fixture.at("second")]));
    let listing = files.list(None, None).unwrap();
    assert_eq!(listing.folders, [fixture.text("root"), fixture.text("second")]);
    assert!(listing.to_string().contains("(empty)"), "{listing}");
    let second = files.list(Some(&listing.folders[1]), None).unwrap();
    assert_eq!(names(&second), ["b"]);
    assert!(second.folders.is_empty());
}

#[cfg(unix)]
#[test]
fn names_cannot_forge_lines() {
    let fixture = Fixture::with(&[("root/a\nb", "text\n")]);
    let files = fixture.files();
    let listing = files.list(None, None).unwrap();
    assert_eq!(listing.entries[0].name, "a\nb");
    assert_eq!(listing.to_string(), ".:\na\\nb (5 bytes)");
    assert_eq!(files.read("a\nb", None, None).unwrap().content, "text\n");
    let found = search(&files, &Search::new("text")).to_string();
    assert_eq!(found, "a\\nb\n  1: text");
}
