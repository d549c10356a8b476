//! Starting, dying, starting again, closing.

use super::*;

#[tokio::test]
async fn a_server_that_dies_is_started_again_and_ever_more_slowly() {
    let folder = Folder::new();
    let registry = folder.one();
    assert!(registry.call("s", "a", b"{}", None).await.is_ok());
    let error = registry.call("s", "die", b"{}", None).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("\"s\"") && text.contains('3') && text.contains("about to die"),
        "{text}"
    );
    assert!(!error.is_unreachable(), "it was reached");

    // At once the first time.
    assert!(registry.call("s", "a", b"{}", None).await.is_ok());
    assert_eq!(folder.starts().len(), 2);
    registry.call("s", "die", b"{}", None).await.unwrap_err();

    // Then after a second; until then the last error answers without a start.
    for _ in 0..3 {
        let error = registry.call("s", "a", b"{}", None).await.unwrap_err();
        assert!(error.is_unreachable() && error.to_string().contains("about to die"), "{error}");
    }
    assert_eq!(folder.starts().len(), 2);
    advance(1).await;
    assert!(registry.call("s", "a", b"{}", None).await.is_ok());
    registry.call("s", "die", b"{}", None).await.unwrap_err();
    assert_eq!(folder.starts().len(), 3);

    // Then after two.
    registry.call("s", "a", b"{}", None).await.unwrap_err();
    advance(1).await;
    registry.call("s", "a", b"{}", None).await.unwrap_err();
    assert_eq!(folder.starts().len(), 3);
    advance(1).await;
    assert!(registry.call("s", "a", b"{}", None).await.is_ok());

    // One that was well for long starts anew.
    advance(40).await;
    registry.call("s", "die", b"{}", None).await.unwrap_err();
    assert!(registry.call("s", "a", b"{}", None).await.is_ok());
    assert_eq!(folder.starts().len(), 5);
    registry.close().await;
}

#[tokio::test]
async fn callers_side_by_side_share_one_start() {
    let folder = Folder::new();
    let registry = folder.one();
    let calls = (0..10).map(|_| registry.call("s", "a", b"{}", None));
    assert!(join_all(calls).await.iter().all(Result::is_ok));
    assert_eq!(folder.starts().len(), 1);
    assert_eq!((folder.heard("Connecting"), folder.heard("Connected")), (1, 1));
    registry.close().await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_looked_for_less_and_less() {
    let folder = Folder::new();
    let mut server = folder.server("gone", SCRIPT);
    if let ServerState::Ready(Launch::Child(launch)) = &mut server.state {
        launch.command = "no-such-program-anywhere".into();
    }
    let registry = folder.registry(vec![server, folder.server("s", SCRIPT)], None);
    for _ in 0..5 {
        let error = registry.client("gone").await.map(|_| ()).unwrap_err();
        assert!(error.is_unreachable() && error.to_string().contains("no-such-program-anywhere"));
    }
    assert_eq!(folder.heard("gone Connecting"), 2, "the others were answered at once");
    let catalog = registry.catalog().await;
    assert_eq!(catalog.failed.len(), 1);
    assert_eq!(catalog.failed[0].server(), "gone");
    assert_eq!(catalog.tools().count(), 1, "the other server is not touched");
    registry.close().await;
}

#[tokio::test]
async fn tools_are_listed_again_after_they_changed_and_only_then() {
    let folder = Folder::new();
    let registry = folder.one();
    let catalog = registry.catalog().await;
    assert_eq!(names(&registry.tools("s").await.unwrap()), ["a"]);
    folder.tools(r#"{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}"#);
    assert_eq!(names(&registry.tools("s").await.unwrap()), ["a"], "nobody said that it changed");
    assert!(registry.renewed(&catalog).await.is_none());
    registry.call("s", "change", b"{}", None).await.unwrap();
    assert_eq!(folder.heard("ToolsChanged"), 1);
    let renewed = registry.renewed(&catalog).await.expect("a new catalog");
    assert!(renewed.find("s", "b").is_some() && renewed.find("s", "a").is_none());
    assert!(registry.renewed(&renewed).await.is_none());
    registry.close().await;
}

#[tokio::test]
async fn a_list_that_could_not_be_had_is_asked_for_again() {
    let folder = Folder::new();
    let registry = folder.one();
    assert_eq!(names(&registry.tools("s").await.unwrap()), ["a"]);
    folder.tools(r#"{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}"#);
    registry.call("s", "break", b"{}", None).await.unwrap();
    assert!(registry.tools("s").await.unwrap_err().to_string().contains("not now"));
    assert_eq!(names(&registry.tools("s").await.unwrap()), ["b"]);
    registry.close().await;
}

#[tokio::test]
async fn resources_and_prompts_are_in_the_full_catalog() {
    let folder = Folder::new();
    let registry = folder.one();
    let catalog = registry.full_catalog().await;
    assert!(catalog.failed.is_empty(), "{:?}", catalog.failed);
    let server = &catalog.servers[0];
    assert!(server.has_resources() && server.has_prompts());
    assert_eq!(server.offers.resources[0].uri, "demo://ok");
    assert!(server.offers.templates.is_empty(), "it does not know them, and that is no failure");
    assert_eq!(server.offers.prompts[0].name, "p");
    assert!(registry.catalog().await.servers[0].offers.prompts.is_empty());
    let prompt = registry.prompt("s", "p", br#"{"who":"Ada"}"#).await.unwrap();
    assert!(String::from_utf8_lossy(prompt.as_bytes()).contains("Greet Ada."));
    registry.close().await;
}

#[tokio::test]
async fn calls_go_on_while_tools_are_listed() {
    let folder = Folder::new();
    // Lists only once it has been called.
    let script = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *server/discover*)
      echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}}}}" ;;
    *tools/list*) list=$id; echo list >> "$STARTS" ;;
    *tools/call*)
      echo "{\"jsonrpc\":\"2.0\",\"id\":$list,\"result\":{\"tools\":[]}}"
      echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{\"content\":[]}}" ;;
  esac
done"#;
    let registry = folder.registry(vec![folder.server("s", script)], None);
    registry.client("s").await.unwrap();
    let (tools, called) = tokio::join!(registry.tools("s"), async {
        while !folder.path("starts").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        registry.call("s", "a", b"{}", None).await
    });
    assert!(tools.unwrap().is_empty() && called.is_ok());
    registry.close().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn closing_ends_children_and_whatever_waits_for_them() {
    let folder = Folder::new();
    let mute = "echo $$ >> \"$STARTS\"; while read -r line; do :; done";
    let registry =
        folder.registry(vec![folder.server("s", SCRIPT), folder.server("mute", mute)], None);
    registry.client("s").await.unwrap();
    let (connecting, called, ()) =
        tokio::join!(registry.client("mute"), registry.call("s", "silent", b"{}", None), async {
            while folder.starts().len() < 2 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            registry.close().await;
        },);
    let closed = |error: &ServerError| matches!(error.kind(), ServerErrorKind::Closed);
    assert!(connecting.is_err_and(|error| closed(&error)));
    assert!(called.is_err(), "a call that was running ends");
    let [served, _] = folder.starts()[..] else { panic!("two servers") };
    assert!(!Path::new(&format!("/proc/{served}")).exists(), "the server has ended");
    let error = registry.client("s").await.map(|_| ()).unwrap_err();
    assert!(closed(&error), "{error}");
    registry.close().await;
}

#[tokio::test]
async fn what_may_not_run_says_why() {
    let folder = Folder::new();
    let broken = configured(
        "broken",
        ServerState::Ready(Launch::Builtin { name: "nonsense".into(), args: Vec::new() }),
    );
    let registry = folder.registry(
        vec![
            configured("off", ServerState::Disabled),
            configured("strange", ServerState::Unapproved),
            broken,
        ],
        None,
    );
    let said = async |name: &str| registry.client(name).await.map(|_| ()).unwrap_err().to_string();
    assert!(said("off").await.contains("disabled"));
    assert!(said("strange").await.contains("not been approved"));
    assert!(said("broken").await.contains("no built-in server nonsense"));
    assert!(said("unknown").await.contains("there are: broken, off, strange"));
    let catalog = registry.catalog().await;
    assert_eq!(catalog.failed.len(), 2, "a disabled one is no failure");
    assert_eq!(folder.heard("off Connecting") + folder.heard("strange Connecting"), 0);
}

#[tokio::test]
async fn d056_a_burst_of_changes_is_one_new_list() {
    let folder = Folder::new();
    let script = r#"
        change='{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        while read -r line; do
          id=${line#*\"id\":}; id=${id%%,*}
          result='{"content":[]}'
          case $line in
            *server/discover*)
              result='{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}' ;;
            *tools/list*) echo list >> "$STARTS"; result='{"tools":[]}' ;;
            *\"burst\"*) for n in $(seq 1000); do echo "$change"; done ;;
          esac
          echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
          case $line in *tools/list*) echo "$change" ;; esac
        done"#;
    let registry = folder.registry(vec![folder.server("s", script)], None);
    let lists = || {
        let text = std::fs::read_to_string(folder.path("starts")).unwrap_or_default();
        text.lines().count()
    };
    registry.catalog().await;
    for round in 1..=3 {
        registry.call("s", "burst", b"{}", None).await.unwrap();
        let changes = folder.heard("ToolsChanged");
        assert!(changes >= 1000 * round, "all are told: {changes}");
        registry.catalog().await;
        // The answer to a list comes before the change that follows it.
        registry.call("s", "other", b"{}", None).await.unwrap();
        assert_eq!(lists(), 1 + round, "once when it is needed, and not for each");
    }
    registry.close().await;
}

#[tokio::test]
async fn f50_an_address_that_cannot_be_used_is_no_built_in() {
    use carrick::transport::http::HttpTransportError;
    let folder = Folder::new();
    let failed = async |url: &'static str, headers: &[(&str, &str)]| {
        let headers = headers.iter().map(|(name, value)| ((*name).into(), Secret::new(*value)));
        let url = http::Uri::from_static(url);
        let launch = Launch::Http(HttpLaunch { url, headers: headers.collect(), sse: false });
        let server = configured("far", ServerState::Ready(launch));
        let registry = folder.registry(vec![server], None);
        let error = registry.tools("far").await.unwrap_err();
        let ServerErrorKind::Address { error: cause, .. } = error.kind() else {
            panic!("{error:?}")
        };
        (cause.clone(), error.to_string())
    };
    let (cause, text) = failed("ftp://user:pass@files.example:21/mcp?key=s3cret", &[]).await;
    assert_eq!(cause, HttpTransportError::Url);
    assert!(text.contains("nothing can be sent to ftp://files.example:21/mcp:"), "{text}");
    assert!(text.contains("must start with http:// or https://"), "{text}");
    assert!(!text.contains("pass") && !text.contains("s3cret"), "{text}");
    let near = "http://127.0.0.1:9/mcp";
    let (cause, text) = failed(near, &[("Accept", "text/html")]).await;
    assert_eq!(cause, HttpTransportError::OwnHeader("Accept".into()));
    assert!(text.contains(near) && text.contains("\"Accept\""), "{text}");
    let (cause, text) = failed(near, &[("a b", "s3cret")]).await;
    assert_eq!(cause, HttpTransportError::Header("a b".into()));
    assert!(!text.contains("s3cret"), "{text}");
}
