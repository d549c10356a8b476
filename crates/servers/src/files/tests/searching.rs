use super::*;

fn paths(result: &SearchResult) -> Vec<&str> {
    result.files.iter().map(|file| file.path.as_str()).collect()
}

fn project() -> Fixture {
    let fixture = Fixture::with(&[
        ("root/README.md", "# Title\n\nSpeaks MCP.\nmcp, again\n"),
        ("root/src/main.rs", "fn main() {\n    // MCP\n}\n"),
        ("root/src/mcp.rs", "nothing here\n"),
        ("root/src/deep/down/x.txt", "Straße ÄÖÜ 日本語\n"),
        ("root/.git/config", "mcp\n"),
        ("root/web/node_modules/p/i.js", "mcp\n"),
        ("root/target/out.txt", "mcp\n"),
    ]);
    fixture.file("root/data.bin", b"mcp\0mcp");
    fixture
}

#[test]
fn names_and_lines_are_searched() {
    let fixture = project();
    let files = fixture.files();
    let found = search(&files, &Search::new("mcp"));
    assert_eq!(paths(&found), ["README.md", "src/main.rs", "src/mcp.rs"]);
    let readme = &found.files[0];
    assert!(!readme.name_matches);
    let lines: Vec<_> = readme.lines.iter().map(|l| (l.line, l.text.as_str())).collect();
    assert_eq!(lines, [(3, "Speaks MCP."), (4, "mcp, again")]);
    assert!(found.files[2].name_matches && found.files[2].lines.is_empty());
    assert_eq!(found.skipped_folders, [".git", "target", "web/node_modules"]);
    assert_eq!(found.notes, ["1 binary files were searched by name only"]);
    assert_eq!(found.files_searched, 5);
    assert!(!found.truncated);
    assert!(found.to_string().starts_with("README.md\n  3: Speaks MCP.\n  4: mcp, again\nsrc/"));
    assert!(found.to_string().contains("skipped unless include_skipped is true"), "{found}");

    let exact = Search { case_sensitive: true, ..Search::new("MCP") };
    assert_eq!(paths(&search(&files, &exact)), ["README.md", "src/main.rs"]);
    let all = search(&files, &Search { include_skipped: true, ..Search::new("mcp") });
    assert_eq!(all.files.len(), 6);
    assert!(all.skipped_folders.is_empty());
    let nothing = search(&files, &Search::new("zebra"));
    assert!(
        nothing.to_string().starts_with("Nothing was found in the default folder."),
        "{nothing}"
    );
}

#[test]
fn queries_are_text_of_any_script() {
    let fixture = project();
    let files = fixture.files();
    for query in ["straße äöü", "日本語", "STRASSE".replace("SS", "ß").as_str()] {
        assert_eq!(paths(&search(&files, &Search::new(query))), ["src/deep/down/x.txt"], "{query}");
    }
    // Not a pattern.
    assert!(search(&files, &Search::new("M.P")).files.is_empty());
    assert_eq!(search(&files, &Search::new("main()")).files.len(), 1);
}

#[test]
fn globs_choose_by_name_or_by_path() {
    let fixture = project();
    let files = fixture.files();
    let with = |glob: &str, query: &str| {
        let search_for = Search { glob: Some(glob.into()), ..Search::new(query) };
        let found = search(&files, &search_for);
        found.files.into_iter().map(|file| file.path).collect::<Vec<_>>()
    };
    assert_eq!(with("*.rs", ""), ["src/main.rs", "src/mcp.rs"]);
    assert_eq!(with("*.{md,txt}", ""), ["README.md", "src/deep/down/x.txt"]);
    assert_eq!(with("*.RS", "main"), ["src/main.rs"]);
    assert_eq!(with("src/**/*.txt", ""), ["src/deep/down/x.txt"]);
    assert_eq!(with("./src/*", ""), ["src/main.rs", "src/mcp.rs"]);
    assert!(with("src/*.txt", "").is_empty());
    for (query, glob) in [("", None), ("", Some("")), ("a\nb", None), ("a", Some("[z-a]"))] {
        let glob = glob.map(str::to_owned);
        let bad = Search { glob, ..Search::new(query) };
        let error = files.search(&bad, &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, FilesError::Argument { .. }), "{query:?}: {error}");
    }
    let long = "x".repeat(2000);
    for bad in [Search::new(&long), Search { glob: Some(long.clone()), ..Search::new("a") }] {
        assert!(files.search(&bad, &AtomicBool::new(false)).is_err());
    }
}

#[test]
fn a_search_may_begin_at_a_folder_or_file() {
    let fixture = project();
    let files = fixture.files();
    let below = |path: &str| Search { path: Some(path.into()), ..Search::new("mcp") };
    let src = search(&files, &below("src"));
    assert_eq!(paths(&src), ["src/main.rs", "src/mcp.rs"]);
    assert_eq!(src.path, "src");
    assert_eq!(paths(&search(&files, &below("README.md"))), ["README.md"]);
    // Named outright, a folder is searched whatever its name.
    assert_eq!(paths(&search(&files, &below("target"))), ["target/out.txt"]);
    assert!(matches!(
        files.search(&below("../outside"), &AtomicBool::new(false)),
        Err(FilesError::Path { .. })
    ));
    let two =
        fixture.opened(FilesOptions::new([fixture.at("root/src"), fixture.at("root/target")]));
    let other = search(&two, &below(&fixture.text("root/target")));
    assert_eq!(paths(&other), [fixture.text("root/target/out.txt")]);
}

#[test]
fn every_limit_is_told() {
    let fixture = Fixture::new();
    for i in 0..10 {
        fixture.file(&format!("root/f{i}"), "hit\n".repeat(10).as_bytes());
    }
    let with = |change: fn(&mut Limits)| {
        let mut options = fixture.options();
        change(&mut options.limits);
        search(&fixture.opened(options), &Search::new("hit"))
    };
    let few = with(|limits| limits.search_files = 3);
    assert_eq!((few.files.len(), few.truncated), (3, true));
    assert!(few.notes[0].contains("search_files"), "{few}");

    let lines = with(|limits| {
        limits.search_lines_per_file = 4;
        limits.search_lines = 10;
    });
    let shown: Vec<_> = lines.files.iter().map(|f| (f.lines.len(), f.more_lines)).collect();
    assert_eq!(shown[..4], [(4, 6), (4, 6), (2, 8), (0, 10)]);
    assert_eq!(shown.len(), 10);
    assert!(lines.notes[0].contains("search_lines"), "{lines}");
    assert!(!lines.truncated);

    let bytes = with(|limits| limits.search_bytes = 90);
    assert_eq!((bytes.files.len(), bytes.files_searched, bytes.truncated), (3, 3, true));
    assert!(bytes.notes[0].contains("search_bytes"), "{bytes}");

    let entries = with(|limits| limits.visited_entries = 5);
    assert_eq!((entries.files.len(), entries.truncated), (5, true));
    assert!(entries.notes[0].contains("visited_entries"), "{entries}");
}

#[test]
fn depth_is_bounded() {
    let fixture = Fixture::with(&[("root/1/a", "hit"), ("root/1/2/b", "hit")]);
    let mut options = fixture.options();
    options.limits.depth = 2;
    let found = search(&fixture.opened(options), &Search::new("hit"));
    assert_eq!(paths(&found), ["1/a"]);
    assert!(found.truncated && found.notes[0].contains("depth"), "{found}");
}

#[test]
fn a_cancelled_search_stops() {
    let fixture = project();
    let files = fixture.files();
    let got = files.search(&Search::new("mcp"), &AtomicBool::new(true));
    assert!(matches!(got, Err(FilesError::Cancelled)), "{got:?}");
}
