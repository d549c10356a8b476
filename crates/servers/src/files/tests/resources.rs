use super::*;

#[test]
fn files_are_listed_page_by_page_in_order() {
    let fixture = Fixture::with(&[
        ("root/a.txt", "1"),
        ("root/a/b/c.md", "22"),
        ("root/a/b.txt", "333"),
        ("root/a b/日本.png", ""),
        ("root/b", ""),
        ("root/c/d/e", ""),
        ("root/.git/config", ""),
        ("second/x", ""),
        ("second/y", ""),
    ]);
    let all = fixture.opened(FilesOptions::new([fixture.at("root"), fixture.at("second")]));
    let whole = all.resources(None).unwrap();
    assert!(whole.next.is_none() && !whole.incomplete);
    let names: Vec<_> = whole.resources.iter().map(|file| file.name.as_str()).collect();
    let (x, y) = (fixture.text("second/x"), fixture.text("second/y"));
    assert_eq!(
        names,
        ["a/b/c.md", "a/b.txt", "a b/日本.png", "a.txt", "b", "c/d/e", x.as_str(), y.as_str()]
    );
    let top = fixture.text("root");
    assert_eq!(whole.resources[0].uri, format!("file://{top}/a/b/c.md"));
    assert_eq!(whole.resources[0].mime, Some("text/markdown"));
    assert_eq!(whole.resources[0].size, Some(2));
    assert_eq!(whole.resources[2].uri, format!("file://{top}/a%20b/%E6%97%A5%E6%9C%AC.png"));
    assert_eq!(whole.resources[4].mime, None);

    for size in 1..10 {
        let mut options = FilesOptions::new([fixture.at("root"), fixture.at("second")]);
        options.limits.resource_page = size;
        let paged = fixture.opened(options);
        let mut got = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let page = paged.resources(cursor.as_deref()).unwrap();
            assert!(page.resources.len() <= size);
            got.extend(page.resources);
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        assert_eq!(got, whole.resources, "pages of {size}");
    }
    for cursor in
        ["", "x", "0", "1:0:", "1:9:file:///a", "1:0:file:///etc/passwd", "1:-1:file:///", "1:0:/a"]
    {
        assert!(all.resources(Some(cursor)).is_err(), "{cursor:?}");
    }
}

#[test]
fn the_list_as_a_whole_is_bounded() {
    let fixture = Fixture::new();
    for i in 0..10 {
        fixture.file(&format!("root/f{i}"), b"");
    }
    for (most, shown, incomplete) in [(5, 5, true), (6, 6, true), (10, 10, false)] {
        let mut options = fixture.options();
        options.limits.resource_page = 3;
        options.limits.resources = most;
        let files = fixture.opened(options);
        let mut page = files.resources(None).unwrap();
        let mut count = page.resources.len();
        while let Some(next) = &page.next {
            page = files.resources(Some(next)).unwrap();
            count += page.resources.len();
        }
        assert_eq!((count, page.incomplete), (shown, incomplete), "{most}");
    }
}

#[test]
fn a_page_goes_on_after_its_last_file_is_gone() {
    let fixture = Fixture::with(&[("root/a", ""), ("root/b/x", ""), ("root/c", "")]);
    let mut options = fixture.options();
    options.limits.resource_page = 2;
    let files = fixture.opened(options);
    let first = files.resources(None).unwrap();
    fs::remove_dir_all(fixture.at("root/b")).unwrap();
    let second = files.resources(first.next.as_deref()).unwrap();
    assert_eq!(second.resources.len(), 1);
    assert_eq!(second.resources[0].name, "c");
}

#[test]
fn a_folder_within_a_folder_is_listed_once() {
    let fixture = Fixture::with(&[("root/a", ""), ("root/in/b", "")]);
    let files = fixture.opened(FilesOptions::new([
        fixture.at("root"),
        fixture.at("root/in"),
        fixture.at("root"),
    ]));
    let page = files.resources(None).unwrap();
    let uris: Vec<_> = page.resources.iter().map(|file| file.uri.as_str()).collect();
    let top = fixture.text("root");
    assert_eq!(uris, [format!("file://{top}/a"), format!("file://{top}/in/b")]);
}

#[test]
fn resources_are_text_or_bytes() {
    let fixture = Fixture::with(&[("root/a.json", "{}"), ("root/Makefile", "all:\n")]);
    fixture.file("root/p.png", b"\x89PNG\0");
    fixture.file("root/latin", b"caf\xe9");
    let mut options = fixture.options();
    options.limits.resource_bytes = 5;
    let files = fixture.opened(options);
    let read = |name: &str| files.read_resource(&format!("file://{}/{name}", fixture.text("root")));
    for (name, mime, data) in [
        ("a.json", "application/json", Data::Text("{}".into())),
        ("Makefile", "text/plain", Data::Text("all:\n".into())),
        ("p.png", "image/png", Data::Bytes(b"\x89PNG\0".to_vec())),
        ("latin", "application/octet-stream", Data::Bytes(b"caf\xe9".to_vec())),
    ] {
        assert_eq!(read(name).unwrap(), ResourceData { mime, data }, "{name}");
    }
    fixture.file("root/big", b"123456");
    let error = read("big").unwrap_err();
    assert!(error.to_string().contains("resource_bytes"), "{error}");
    assert!(!error.is_no_resource());
    for name in ["nothing", "", "a.json/x"] {
        assert!(read(name).unwrap_err().is_no_resource(), "{name}");
    }
    // Only URIs name resources.
    assert!(files.read_resource("a.json").unwrap_err().is_no_resource());
}

#[cfg(unix)]
#[test]
fn names_that_are_not_text_can_be_read() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let name = std::ffi::OsStr::from_bytes(b"a\xff");
    fs::write(fixture.at("root").join(name), "text").unwrap();
    fs::write(fixture.at("root").join(r"b\c"), "text").unwrap();
    let files = fixture.files();
    let page = files.resources(None).unwrap();
    assert_eq!(page.resources.len(), 1);
    assert!(page.resources[0].uri.ends_with("/a%FF"));
    let read = files.read_resource(&page.resources[0].uri).unwrap();
    assert_eq!(read.data, Data::Text("text".into()));
}
