//! Servers that take their time, beside others that do not.

use super::*;

/// Waits until the file `$TOOLS.go` is there, then is the modern server.
fn held_back() -> String {
    format!("while [ ! -f \"$TOOLS.go\" ]; do sleep 0.05; done\n{SCRIPT}")
}

/// Connects and never lists its tools.
const MUTE: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *server/discover*)
      echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}}}" ;;
    *tools/list*) echo "thinking" >&2 ;;
  esac
done"#;

fn impatient(folder: &Folder, servers: Vec<Configured>, connect: Duration) -> Registry {
    let mut options = folder.options(None);
    options.startup_wait = Duration::from_millis(300);
    options.connect_timeout = connect;
    Registry::new(servers, options)
}

/// The next catalog that is another one.
async fn next(registry: &Registry, catalog: &Catalog) -> Catalog {
    loop {
        if let Some(catalog) = registry.renewed(catalog).await {
            return catalog;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn listed(catalog: &Catalog) -> Vec<&str> {
    catalog.tools().map(|(server, _)| server).collect()
}

#[tokio::test]
async fn f11_a_question_does_not_wait_for_a_server_that_is_still_starting() {
    let folder = Folder::new();
    let slow = held_back();
    let servers = vec![folder.server("s", SCRIPT), folder.server("slow", &slow)];
    let registry = impatient(&folder, servers, Duration::from_secs(60));
    for full in [false, true] {
        let catalog = if full { registry.full_catalog().await } else { registry.catalog().await };
        assert_eq!(listed(&catalog), ["s"]);
        assert_eq!(catalog.starting, ["slow"]);
        assert!(catalog.failed.is_empty());
        assert!(registry.renewed(&catalog).await.is_none(), "nothing is new");
    }
    assert!(matches!(registry.state("slow"), Ok(ConnectionState::Starting { .. })));
    let catalog = registry.full_catalog().await;
    std::fs::write(folder.path("tools.json.go"), "").unwrap();
    let catalog = next(&registry, &catalog).await;
    assert_eq!(listed(&catalog), ["s", "slow"]);
    assert!(catalog.starting.is_empty());
    assert_eq!(folder.starts().len(), 2, "the attempt that went on, and no other");
    assert_eq!(catalog.servers[1].offers.prompts.len(), 1);
    registry.close().await;
}

#[tokio::test]
async fn f11_whoever_needs_the_server_waits_for_it() {
    let folder = Folder::new();
    let slow = held_back();
    let servers = vec![folder.server("slow", &slow)];
    let registry = impatient(&folder, servers, Duration::from_secs(60));
    assert_eq!(registry.catalog().await.starting, ["slow"]);
    let (called, ()) = tokio::join!(registry.call("slow", "a", b"{}", None), async {
        std::fs::write(folder.path("tools.json.go"), "").unwrap();
    });
    assert!(called.is_ok());
    registry.close().await;
}

#[tokio::test]
async fn f13_a_server_that_never_lists_its_tools_does_not_keep_the_others() {
    let folder = Folder::new();
    let servers = vec![folder.server("mute", MUTE), folder.server("s", SCRIPT)];
    let registry = impatient(&folder, servers, Duration::from_secs(2));
    let catalog = registry.catalog().await;
    assert_eq!(listed(&catalog), ["s"]);
    assert_eq!(catalog.starting, ["mute"]);
    let catalog = next(&registry, &catalog).await;
    assert!(catalog.starting.is_empty());
    assert_eq!(listed(&catalog), ["s"], "the healthy one stays");
    let [error] = &catalog.failed[..] else { panic!("{:?}", catalog.failed) };
    assert!(matches!(error.kind(), ServerErrorKind::Unlisted { .. }) && error.is_unreachable());
    let text = error.to_string();
    assert!(text.contains("mute") && text.contains("thinking"), "{text}");
    registry.close().await;
}

#[tokio::test]
async fn f11_a_server_that_was_starting_and_failed_is_told_of() {
    let folder = Folder::new();
    let fails = "while [ ! -f \"$TOOLS.go\" ]; do sleep 0.05; done; echo broken >&2; exit 1";
    let servers = vec![folder.server("fails", fails), folder.server("s", SCRIPT)];
    let registry = impatient(&folder, servers, Duration::from_secs(60));
    let catalog = registry.catalog().await;
    assert_eq!(catalog.starting, ["fails"]);
    std::fs::write(folder.path("tools.json.go"), "").unwrap();
    let catalog = next(&registry, &catalog).await;
    assert!(catalog.starting.is_empty());
    assert!(catalog.failed[0].to_string().contains("broken"), "{:?}", catalog.failed);
    assert!(registry.renewed(&catalog).await.is_none(), "it is told once");
    registry.close().await;
}

#[tokio::test]
async fn f11_a_program_that_installs_servers_is_named_when_the_time_is_over() {
    let folder = Folder::new();
    let program = folder.path("npx");
    std::fs::write(&program, "#!/bin/sh\nwhile read -r line; do :; done\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).unwrap();
    let mut server = folder.server("s", "");
    if let ServerState::Ready(Launch::Child(launch)) = &mut server.state {
        launch.command = program.to_str().unwrap().to_owned();
    }
    let registry = impatient(&folder, vec![server], Duration::from_millis(200));
    let error = registry.client("s").await.map(|_| ()).unwrap_err();
    assert!(matches!(error.kind(), ServerErrorKind::Installing { installer: "npx", .. }));
    assert!(error.to_string().contains("npx may still be downloading it"), "{error}");
    registry.close().await;
}
