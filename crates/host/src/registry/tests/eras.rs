//! What is remembered of servers from run to run.

use super::super::eras::key;
use super::*;

/// A server with sessions that leaves each request's method in `$STARTS`.
const LEGACY: &str = r#"
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  method=${line#*\"method\":\"}; echo "${method%%\"*}" >> "$STARTS"
  case $line in
    *\"initialize\"*)
      result='{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *tools/list*) result='{"tools":[]}' ;;
    *notifications/*) continue ;;
    *) echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no\"}}"; continue ;;
  esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$result}"
done
"#;

impl Folder {
    /// What one run asks the server first.
    async fn run(&self, script: &str) -> String {
        let _ = std::fs::remove_file(self.path("starts"));
        let mut registry = self.options(None);
        registry.eras = Some(Arc::new(Eras::open(self.path("eras.json"))));
        let registry = Registry::new(vec![self.server("s", script)], registry);
        assert!(registry.catalog().await.failed.is_empty());
        registry.close().await;
        let asked = std::fs::read_to_string(self.path("starts")).unwrap();
        asked.lines().next().unwrap().to_owned()
    }
}

#[tokio::test]
async fn a_later_run_knows_what_an_earlier_one_found_out() {
    let folder = Folder::new();
    assert_eq!(folder.run(LEGACY).await, "server/discover");
    assert_eq!(folder.run(LEGACY).await, "initialize");
    // Another command is another server.
    let other = format!("{LEGACY}# another one");
    assert_eq!(folder.run(&other).await, "server/discover");
    let huge = format!("{{\"version\":2,\"servers\":{{}}}}{}", " ".repeat(2 << 20));
    // Files that are none count as empty, and are written anew.
    for broken in ["", "{", r#"{"version":9,"servers":{}}"#, r#"{"version":2,"servers":[]}"#, &huge]
    {
        std::fs::write(folder.path("eras.json"), broken).unwrap();
        assert_eq!(folder.run(LEGACY).await, "server/discover", "{broken}");
        assert_eq!(folder.run(LEGACY).await, "initialize", "{broken}");
    }
}

#[tokio::test]
async fn a_memory_that_is_wrong_costs_no_connection() {
    let folder = Folder::new();
    assert_eq!(folder.run(LEGACY).await, "server/discover");
    let file = std::fs::read_to_string(folder.path("eras.json")).unwrap();
    std::fs::write(folder.path("eras.json"), file.replace("legacy", "modern")).unwrap();
    assert_eq!(folder.run(LEGACY).await, "server/discover");
    assert_eq!(folder.run(LEGACY).await, "initialize", "and is put right");
}

#[test]
fn the_memory_is_bounded_and_holds_no_secrets() {
    let folder = Folder::new();
    let entry = |n: u32| serde_json::json!({ "era": "legacy", "day": 1000 - n });
    let many: Map<_, _> = (0..1000).map(|n| (format!("sha256:{n:04}"), entry(n))).collect();
    let file = serde_json::json!({ "version": 2, "servers": many });
    std::fs::write(folder.path("eras.json"), file.to_string()).unwrap();
    let eras = Eras::open(folder.path("eras.json"));
    let server = key(&folder.server("s", "exit --token=secret")).unwrap();
    eras.learn(server.clone(), Era::Modern).unwrap();
    assert_eq!(eras.of(&server), Some(Era::Modern));
    let text = std::fs::read_to_string(folder.path("eras.json")).unwrap();
    assert_eq!((text.matches("legacy").count(), text.matches("modern").count()), (999, 1));
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains("sha256:0000") && !text.contains("sha256:0999"), "the oldest has gone");
    let builtin = Launch::Builtin { name: "time".into(), args: Vec::new() };
    let builtin = configured("time", ServerState::Ready(builtin));
    assert_eq!(key(&builtin), None);
}
