//! Where files are found, and how they go together.

use std::fs;

use super::*;
use carrick_policy::{Call, Policy, Verdict};

fn files(user: &str, project: &str) -> Vec<ConfigFile> {
    vec![parse(user.as_bytes()).unwrap(), parse_as(Source::Project, project.as_bytes()).unwrap()]
}

const USER: &str = r#"{"mcpServers": {"a": {"command": "ua"}, "b": {"command": "ub"}},
    "model": "openai:x", "limits": {"rounds": 1, "calls": 2}, "permissions": {"deny": ["*/rm"]}}"#;
const PROJECT: &str = r#"{"mcpServers": {"b": {"command": "./pb", "cwd": "sub"}, "c": {"command": "pc"}},
    "limits": {"rounds": 9}, "permissions": {"allow": ["*", "a/x"], "ask": ["a/y"]}}"#;

#[test]
fn the_project_counts_over_the_user_by_name_and_key() {
    let config = resolve(&files(USER, PROJECT), &[]);
    let commands: Vec<_> =
        config.servers.keys().map(|name| child(&config, name).command.as_str()).collect();
    assert_eq!(commands, ["ua", "./pb", "pc"]);
    assert_eq!(config.servers["a"].origin.source, Source::User);
    assert_eq!(config.servers["b"].origin.source, Source::Project);
    assert_eq!(config.servers["b"].origin.position.unwrap().to_string(), "1:17");
    assert_eq!(config.settings.model.as_deref(), Some("openai:x"));
    assert_eq!((config.settings.limits.rounds, config.settings.limits.calls), (Some(9), Some(2)));
}

#[test]
fn relative_folders_are_the_projects_own_in_a_project_file() {
    let config = resolve(&files(USER, PROJECT), &[]);
    assert_eq!(child(&config, "a").cwd, None);
    assert_eq!(child(&config, "b").cwd.as_deref(), Some(Path::new("/project/sub")));
    assert_eq!(child(&config, "c").cwd.as_deref(), Some(Path::new("/project")));
}

#[test]
fn roots_are_folders_of_the_strongest_file_that_names_any() {
    let roots = |user: &str, project: &str| resolve(&files(user, project), &[]).settings.roots;
    assert_eq!(roots("{}", "{}"), None);
    let user = r#"{"roots": ["notes", "/abs"]}"#;
    let expected = ["/here/notes", "/abs"].map(Into::into).to_vec();
    assert_eq!(roots(user, "{}"), Some(expected));
    assert_eq!(roots(user, r#"{"roots": ["."]}"#), Some(vec!["/project/.".into()]));
    assert_eq!(roots(user, r#"{"roots": []}"#), Some(Vec::new()));
    assert!(failure(r#"{"roots": [""]}"#).contains("a folder has a path"));
    assert!(failure(r#"{"roots": "."}"#).contains("a list of strings"));
}

#[test]
fn d103_an_unapproved_file_takes_part_in_nothing() {
    let files = files(USER, PROJECT);
    let config = Config::resolve(&files, &|_| false, &|_| None, Path::new("/here"));
    assert_eq!(child(&config, "b").command, "ub", "the user's own keeps serving");
    assert!(matches!(config.servers["c"].state, ServerState::Unapproved));
    assert!(config.servers["c"].launch().is_none());
    assert_eq!(config.settings.limits.rounds, Some(1));
    assert_eq!(config.settings.rules.len(), 1);
}

#[test]
fn d103_approval_is_not_asked_for_the_persons_own_files() {
    for source in [Source::User, Source::Explicit] {
        let file = parse_as(source, USER.as_bytes()).unwrap();
        let config = Config::resolve(&[file], &|_| panic!("asked"), &|_| None, Path::new("/here"));
        assert!(config.servers["a"].launch().is_some());
    }
}

#[test]
fn what_a_project_allows_it_allows_for_its_own_servers() {
    let config = resolve(&files(USER, PROJECT), &[]);
    let policy = Policy::new(config.settings.rules);
    let verdict = |server, tool| {
        policy.decide(&Call { server, tool, arguments: "", builtin_read: false }).verdict
    };
    assert_eq!(verdict("b", "x"), Verdict::Allow);
    assert_eq!(verdict("c", "x"), Verdict::Allow);
    assert_eq!(verdict("a", "x"), Verdict::Ask);
    assert_eq!(verdict("b", "rm"), Verdict::Deny);
    let warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].contains("allow rule \"a/x\" has no effect"), "{warnings:?}");
}

#[test]
fn f08_what_a_person_allows_holds_for_no_server_of_a_project() {
    let user = r#"{"mcpServers": {"s": {"command": "mine"}, "t": {"command": "mine"}},
        "permissions": {"allow": ["s/echo", "*/get"], "deny": ["*/rm"], "ask": ["s/x"]}}"#;
    let project = r#"{"mcpServers": {"s": {"command": "theirs"}, "new": {"command": "theirs"}}}"#;
    let explicit = parse_as(Source::Explicit, br#"{"permissions": {"allow": ["s/put"]}}"#).unwrap();
    let mut files = files(user, project);
    files.push(explicit);
    let config = resolve(&files, &[]);
    let warnings: Vec<_> = config.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings.len() == 1 && warnings[0].contains("\"s/echo\" has no effect"),
        "{warnings:?}"
    );
    let policy = Policy::new(config.settings.rules);
    let verdict = |server, tool| {
        policy.decide(&Call { server, tool, arguments: "", builtin_read: false }).verdict
    };
    for (server, tool, expected) in [
        ("s", "echo", Verdict::Ask),
        ("s", "get", Verdict::Ask),
        ("new", "get", Verdict::Ask),
        ("t", "get", Verdict::Allow),
        ("s", "rm", Verdict::Deny),
        ("new", "rm", Verdict::Deny),
        ("s", "put", Verdict::Allow),
        ("time", "get", Verdict::Allow),
    ] {
        assert_eq!(verdict(server, tool), expected, "{server}/{tool}");
    }
    let unapproved = Config::resolve(&files, &|_| false, &|_| None, Path::new("/here"));
    let policy = Policy::new(unapproved.settings.rules);
    let call = Call { server: "s", tool: "echo", arguments: "", builtin_read: false };
    assert_eq!(policy.decide(&call).verdict, Verdict::Allow, "the person's own still serves");
    assert_eq!(
        taken_places(&files[1], &files),
        [
            r#"server "s": takes the place of your server "s", which your rules allow: "s/echo", "*/get"; they do not hold for this one"#
        ]
    );
    assert!(taken_places(&files[0], &files).is_empty());
}

#[test]
fn f08_a_projects_rules_do_not_hold_for_a_server_that_takes_its_place() {
    let project = br#"{"mcpServers": {"s": {"command": "p"}}, "permissions": {"allow": ["s"]}}"#;
    let explicit = br#"{"mcpServers": {"s": {"command": "mine"}}}"#;
    let project = parse_as(Source::Project, project).unwrap();
    let files = [project, parse_as(Source::Explicit, explicit).unwrap()];
    let policy = Policy::new(resolve(&files, &[]).settings.rules);
    let call = Call { server: "s", tool: "x", arguments: "", builtin_read: false };
    assert_eq!(policy.decide(&call).verdict, Verdict::Ask);
}

#[test]
fn f09_a_rule_about_no_server_is_told_with_the_nearest_name() {
    let config = config(
        r#"{"mcpServers": {"github": {"command": "c"}, "a/b": {"command": "c"}},
        "permissions": {"deny": ["githbu/*", "github/x", "*/rm", "zzz"], "allow": ["g*b", "a\\/b", "q?/x"]}}"#,
    );
    let told: Vec<_> = config.rules_without_server().iter().map(|w| w.kind.to_string()).collect();
    assert_eq!(
        told,
        [
            r#"deny rule "githbu/*" names no server there is; did you mean "github"?"#,
            r#"deny rule "zzz" names no server there is"#,
            r#"allow rule "q?/x" names no server there is"#,
        ]
    );
}

#[test]
fn keys_differ_between_projects_and_not_between_runs() {
    let project = |path: &str| {
        let path = Path::new(path);
        let bytes = br#"{"mcpServers": {"s": {"command": "c"}}}"#;
        let file = ConfigFile::parse(path, path, Source::Project, bytes).unwrap();
        resolve(&[file], &[]).servers["s"].key()
    };
    assert_eq!(project("/a/.mcp.json"), project("/a/.mcp.json"));
    assert_ne!(project("/a/.mcp.json"), project("/b/.mcp.json"));
    assert_eq!(config(r#"{"mcpServers": {"s": {"command": "c"}}}"#).servers["s"].key(), "s");
}

#[test]
fn the_nearest_project_file_is_found_and_the_search_ends() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    let deep = home.join("repo/src/deep");
    fs::create_dir_all(&deep).unwrap();
    let at = |current: &Path| Places {
        current: current.to_owned(),
        home: Some(home.clone()),
        ..Places::default()
    };
    fs::write(folder.path().join(PROJECT_FILE), "{}").unwrap();
    assert_eq!(at(&deep).project_file(), None, "not above the home folder");
    assert_eq!(at(folder.path()).project_file(), Some(folder.path().join(PROJECT_FILE)));

    fs::write(home.join(PROJECT_FILE), "{}").unwrap();
    assert_eq!(at(&deep).project_file(), Some(home.join(PROJECT_FILE)));

    fs::create_dir(home.join("repo/.git")).unwrap();
    assert_eq!(at(&deep).project_file(), None, "not above the repository");
    fs::write(home.join("repo").join(PROJECT_FILE), "{}").unwrap();
    assert_eq!(at(&deep).project_file(), Some(home.join("repo").join(PROJECT_FILE)));
}

#[test]
fn all_files_are_read_the_weakest_first() {
    let folder = tempfile::tempdir().unwrap();
    let (home, project) = (folder.path().join("home"), folder.path().join("project"));
    fs::create_dir_all(home.join(".config/carrick")).unwrap();
    fs::create_dir_all(&project).unwrap();
    let mut places =
        Places { current: project.clone(), home: Some(home.clone()), ..Places::default() };
    let sources = |places: &Places| -> Vec<Source> {
        places.read().unwrap().iter().map(ConfigFile::source).collect()
    };
    assert_eq!(sources(&places), []);

    let user = home.join(".config/carrick/config.json");
    fs::write(&user, "{}").unwrap();
    fs::write(project.join(PROJECT_FILE), "{}").unwrap();
    assert_eq!(sources(&places), [Source::User, Source::Project]);

    places.explicit = Some("other.json".into());
    assert!(matches!(places.read().unwrap_err().fault(), Fault::Read(_)));
    fs::write(project.join("other.json"), "{}").unwrap();
    assert_eq!(sources(&places), [Source::User, Source::Explicit]);
    places.explicit = Some(user);
    assert_eq!(sources(&places), [Source::User]);

    places.xdg_config_home = Some("relative".into());
    assert_eq!(places.user_file(), Some(home.join(".config/carrick/config.json")));
    places.xdg_config_home = Some("/xdg".into());
    assert_eq!(places.user_file(), Some("/xdg/carrick/config.json".into()));
}

#[test]
fn the_built_in_servers_serve_this_folder() {
    let servers = builtin_servers(Path::new("/here"));
    let launches: Vec<_> = servers.iter().filter_map(Server::launch).collect();
    assert!(matches!(launches[0], Launch::Builtin { name, .. } if name == "time"));
    assert!(
        matches!(launches[1], Launch::Builtin { name, args } if name == "files" && args == &["/here"])
    );
    assert!(servers.iter().all(|server| server.origin.source == Source::Builtin));
}
