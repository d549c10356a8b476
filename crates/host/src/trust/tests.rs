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
    assert!(
        matches!(
            error,
            TrustError::Store(StoreError::Unsafe(crate::config::Unsafe::Writable {
                mode: 0o620,
                ..
            }))
        ),
        "{error}"
    );
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

#[cfg(unix)]
mod f74 {
    use super::super::*;
    use crate::config::Unsafe;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn refusal(path: &Path) -> Unsafe {
        match TrustStore::open(path) {
            Err(TrustError::Store(StoreError::Unsafe(reason))) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn f74_approvals_in_a_folder_that_others_may_write_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("state/carrick");
        fs::create_dir_all(&inner).unwrap();
        let path = inner.join("trust.json");
        for present in [false, true] {
            if present {
                fs::write(&path, r#"{"version":1,"files":{}}"#).unwrap();
                fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
            }
            for mode in [0o777, 0o770, 0o702] {
                fs::set_permissions(&inner, Permissions::from_mode(mode)).unwrap();
                let Unsafe::Folder { path, mode: found } = refusal(&path) else {
                    panic!("{mode:o}")
                };
                assert_eq!((path, found), (inner.canonicalize().unwrap(), mode));
            }
            fs::set_permissions(&inner, Permissions::from_mode(0o755)).unwrap();
            assert!(TrustStore::open(&path).is_ok());
            // A folder above it that anybody may write to gives it away as well; one for
            // the group of its user does not.
            let above = inner.parent().unwrap();
            fs::set_permissions(above, Permissions::from_mode(0o777)).unwrap();
            assert!(matches!(refusal(&path), Unsafe::Folder { .. }));
            fs::set_permissions(above, Permissions::from_mode(0o775)).unwrap();
            assert!(TrustStore::open(&path).is_ok());
        }
    }

    #[test]
    fn f74_a_link_does_not_lead_around_the_check() {
        let folder = tempfile::tempdir().unwrap();
        let open = folder.path().join("open");
        fs::create_dir(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        fs::write(open.join("trust.json"), r#"{"version":1,"files":{}}"#).unwrap();
        fs::set_permissions(open.join("trust.json"), Permissions::from_mode(0o600)).unwrap();
        let link = folder.path().join("trust.json");
        std::os::unix::fs::symlink(open.join("trust.json"), &link).unwrap();
        assert!(matches!(refusal(&link), Unsafe::Folder { .. }));
    }

    #[test]
    fn f74_approvals_of_another_owner_are_refused() {
        // Only root can give files away.
        if !nix::unistd::geteuid().is_root() {
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trust.json");
        fs::write(&path, r#"{"version":1,"files":{}}"#).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        std::os::unix::fs::chown(&path, Some(12_345), None).unwrap();
        let reason = refusal(&path);
        assert!(matches!(reason, Unsafe::Foreign { owner: 12_345, user: 0, .. }), "{reason}");
        assert!(reason.to_string().contains("belongs to user 12345"), "{reason}");
    }
}

#[test]
fn f77_approvals_that_were_not_used_for_longest_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trust.json");
    let hash = ContentHash::of(b"").to_string();
    let record = |n: usize| {
        let record = serde_json::json!({ "hash": hash, "digest": hash, "salt": "", "lines": [],
            "used": 10_000 - n });
        (format!("/p{n:04}/.mcp.json"), record)
    };
    let files: serde_json::Map<_, _> = (0..1500).map(record).collect();
    let text = serde_json::json!({ "version": 1, "files": files }).to_string();
    std::fs::write(&path, text).unwrap();
    let mut store = TrustStore::open(&path).unwrap();
    store.revoke(Path::new("/p0000/.mcp.json")).unwrap();
    store.change(|known| known.bound("/p1499/.mcp.json")).unwrap();
    let places: Vec<_> = store.list().into_iter().map(|approval| approval.place).collect();
    assert_eq!(places.len(), 1000);
    assert!(places.contains(&"/p1499/.mcp.json".to_owned()), "that which was just written stays");
    assert!(places.contains(&"/p0001/.mcp.json".to_owned()));
    assert!(!places.contains(&"/p1498/.mcp.json".to_owned()));
}
