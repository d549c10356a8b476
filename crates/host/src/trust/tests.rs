use super::*;
use crate::config::Source;

const FIRST: &str = r#"{
  "mcpServers": {
    "docs": {"command": "npx", "args": ["-y", "docs server"], "env": {"API_KEY": "hunter2", "NODE_OPTIONS": "--import ./x.mjs"}, "cwd": "sub"},
    "web": {"url": "https://x.example/${P}", "headers": {"Authorization": "Bearer ${GH_TOKEN}"}},
    "off": {"command": "rm", "disabled": true},
    "bad": {"comand": "x"}
  },
  "models": {"openai": {"baseUrl": "https://proxy.example/v1", "apiKey": "${OPENAI_API_KEY}"}},
  "permissions": {"allow": ["docs/*"]},
  "limits": {"rounds": 99},
  "roots": [".", "a\"b"]
}"#;

fn file_at(path: &str, text: &str) -> ConfigFile {
    let path = Path::new(path);
    ConfigFile::parse(path, path, Source::Project, text.as_bytes()).unwrap()
}

fn file(text: &str) -> ConfigFile {
    file_at("/p/.mcp.json", text)
}

fn store() -> (tempfile::TempDir, TrustStore) {
    let folder = tempfile::tempdir().unwrap();
    let store = TrustStore::open(folder.path().join("trust.json")).unwrap();
    (folder, store)
}

fn changed(store: &TrustStore, text: &str) -> TrustChange {
    match store.status(&file(text)) {
        TrustStatus::Changed(change) => change,
        other => panic!("{other:?}"),
    }
}

#[test]
fn d103_every_line_that_would_count_is_shown() {
    let review = Review::of(&file(FIRST));
    let shown: Vec<_> = review.lines().iter().map(ReviewLine::text).collect();
    assert_eq!(
        shown,
        [
            r#"server "docs": runs "npx" "-y" "docs server""#,
            r#"server "docs": in the folder "sub""#,
            r#"server "docs": sets "API_KEY""#,
            r#"server "docs": sets "NODE_OPTIONS" to "--import ./x.mjs", which can decide what code runs"#,
            r#"server "web": connects to "https://x.example/${P}", reads P"#,
            r#"server "web": sends header "Authorization", reads GH_TOKEN"#,
            r#"server "off" (disabled): runs "rm""#,
            r#"server "bad": does not start: unknown key "comand" in a server; did you mean "command"?"#,
            r#"models "openai" (openai): sends conversations to "https://proxy.example/v1""#,
            r#"models "openai" (openai): sends its key, reads OPENAI_API_KEY"#,
            r#"permissions: allow "docs/*""#,
            "limits: rounds 99",
            r#"roots: tells servers of [".", "a\"b"]"#,
        ]
    );
    assert!(!review.to_string().contains("hunter2"));
}

#[test]
fn d103_hidden_characters_and_quotes_cannot_mislead() {
    let one =
        r#"{"mcpServers": {"s": {"command": "c", "args": ["a\" \"b", "x\u202ey\u001b[2K\n"]}}}"#;
    let shown = Review::of(&file(one)).to_string();
    assert_eq!(shown, "server \"s\": runs \"c\" \"a\\\" \\\"b\" \"x\\u{202e}y\\u{1b}[2K\\n\"\n");
}

#[test]
fn d103_nothing_is_trusted_before_and_anything_changed_asks_again() {
    let (folder, mut store) = store();
    assert_eq!(store.status(&file(FIRST)), TrustStatus::Unknown);
    assert!(!store.is_trusted(&file(FIRST)));
    store.approve(&file(FIRST)).unwrap();
    assert_eq!(store.status(&file(FIRST)), TrustStatus::Trusted);

    // As the next run sees it.
    let store = TrustStore::open(folder.path().join("trust.json")).unwrap();
    assert_eq!(store.status(&file(FIRST)), TrustStatus::Trusted);

    let change = changed(&store, &FIRST.replace("docs server", "evil server"));
    assert_eq!(change.approved, file(FIRST).hash());
    assert_eq!(change.gone, [r#"server "docs": runs "npx" "-y" "docs server""#]);
    assert_eq!(change.come, [r#"server "docs": runs "npx" "-y" "evil server""#]);

    let change = changed(&store, &FIRST.replace("hunter2", "hunter3"));
    assert_eq!(change.come, [r#"server "docs": sets "API_KEY" (another value)"#]);

    let change = changed(&store, &FIRST.replace("Bearer ${GH_TOKEN}", "Token ${GH_TOKEN}"));
    assert_eq!(
        change.come,
        [r#"server "web": sends header "Authorization", reads GH_TOKEN (another value)"#]
    );

    let change = changed(&store, &format!("{FIRST}\n// a comment"));
    assert_eq!((change.gone.len(), change.come.len()), (0, 0));
}

#[test]
fn d103_the_same_content_elsewhere_asks_again() {
    let (_folder, mut store) = store();
    store.approve(&file(FIRST)).unwrap();
    assert_eq!(store.status(&file_at("/q/.mcp.json", FIRST)), TrustStatus::Unknown);
}

#[cfg(unix)]
#[test]
fn d103_a_link_to_approved_content_is_another_place() {
    let folder = tempfile::tempdir().unwrap();
    let (_other, mut store) = store();
    for name in ["a", "b"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
        let link = folder.path().join(name).join(".mcp.json");
        std::os::unix::fs::symlink("../shared.json", link).unwrap();
    }
    std::fs::write(folder.path().join("shared.json"), FIRST).unwrap();
    let read = |path: &str| ConfigFile::read(&folder.path().join(path), Source::Project).unwrap();
    store.approve(&read("a/.mcp.json")).unwrap();
    assert!(store.is_trusted(&read("a/.mcp.json")));
    assert!(store.is_trusted(&read("b/../a/.mcp.json")));
    assert!(!store.is_trusted(&read("b/.mcp.json")));
}

#[test]
fn d103_without_a_person_only_named_content_is_trusted() {
    let (_folder, store) = store();
    let store = store.with_preapproved(vec![file(FIRST).hash()]);
    assert!(store.is_trusted(&file(FIRST)));
    assert!(!store.is_trusted(&file(&FIRST.replace("npx", "npm"))));
    assert!(store.list().is_empty());
}

#[test]
fn only_project_files_need_approval() {
    let (_folder, store) = store();
    let path = Path::new("/p/c.json");
    for source in [Source::User, Source::Explicit] {
        let file = ConfigFile::parse(path, path, source, FIRST.as_bytes()).unwrap();
        assert!(store.is_trusted(&file));
    }
}

#[test]
fn approvals_are_listed_and_taken_back() {
    let (folder, mut store) = store();
    store.approve(&file(FIRST)).unwrap();
    let mut other = TrustStore::open(folder.path().join("trust.json")).unwrap();
    other.approve(&file_at("/q/.mcp.json", "{}")).unwrap();
    let places: Vec<_> = other.list().into_iter().map(|approval| approval.place).collect();
    assert_eq!(places, ["/p/.mcp.json", "/q/.mcp.json"]);
    assert!(other.list()[0].lines[0].contains("\"npx\""));

    assert!(store.revoke(Path::new("/q/.mcp.json")).unwrap(), "what another process approved");
    assert!(!store.revoke(Path::new("/q/.mcp.json")).unwrap());
    assert!(store.revoke(Path::new("/p/.mcp.json")).unwrap());
    assert_eq!(store.status(&file(FIRST)), TrustStatus::Unknown);
}

#[test]
fn no_secret_reaches_the_store_and_salts_differ() {
    let (folder, mut store) = store();
    let path = folder.path().join("trust.json");
    let text = r#"{"mcpServers": {
        "a": {"command": "c", "env": {"KEY": "hunter2"}},
        "b": {"url": "http://x/", "headers": {"Authorization": "Basic hunter2"}}
    }, "models": {"openai": {"apiKey": "sk-hunter2"}}}"#;
    store.approve(&file(text)).unwrap();
    let first = std::fs::read_to_string(&path).unwrap();
    store.approve(&file(text)).unwrap();
    let second = std::fs::read_to_string(&path).unwrap();
    assert!(!first.contains("hunter2"));
    assert_ne!(first, second);
}

#[cfg(unix)]
#[test]
fn the_store_is_private_and_refused_if_others_may_write_it() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, mut store) = store();
    let path = folder.path().join("trust.json");
    store.approve(&file(FIRST)).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o620)).unwrap();
    let error = TrustStore::open(&path).unwrap_err();
    assert!(matches!(error, TrustError::Store(StoreError::Exposed { mode: 0o620, .. })), "{error}");
}

#[test]
fn a_store_that_is_not_understood_trusts_nothing_and_is_not_overwritten() {
    let (folder, mut store) = store();
    let path = folder.path().join("trust.json");
    for text in ["", "{}", r#"{"version":2,"files":{}}"#, r#"{"version":1,"files":{"/p":{}}}"#] {
        std::fs::write(&path, text).unwrap();
        #[cfg(unix)]
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600))
            .unwrap();
        assert!(matches!(TrustStore::open(&path), Err(TrustError::Content { .. })), "{text}");
        assert!(store.approve(&file(FIRST)).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert!(!store.is_trusted(&file(FIRST)));
    }
}
