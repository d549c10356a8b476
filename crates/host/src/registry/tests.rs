//! The registry with servers that are small shell scripts, so that they can be
//! started, die, change their minds and stay silent.

mod eras;
mod holding;
mod life;
mod startup;

use super::*;
use crate::config::{ChildLaunch, HttpLaunch, Launch, Origin, Secret, Source};
use carrick::client::Era;
use carrick::net::{HttpClient, Options};
use std::collections::BTreeMap as Map;
use std::path::Path;
use std::sync::Mutex;

/// A modern server: `tools/list` gives the file `$TOOLS`, each start leaves a
/// line in `$STARTS`, and a call does what its tool's name says.
const SCRIPT: &str = r#"
echo $$ >> "$STARTS"
head='{"jsonrpc":"2.0","id":'
broken=0
while read -r line; do
  id=${line#*\"id\":}; id=${id%%,*}
  case $line in
    *server/discover*)
      result='{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"prompts":{},"resources":{}}}' ;;
    *tools/list*)
      if [ $broken = 1 ]; then
        broken=0
        echo "$head$id,\"error\":{\"code\":-32603,\"message\":\"not now\"}}"
        continue
      fi
      result=$(cat "$TOOLS") ;;
    *resources/list*) result='{"resources":[{"uri":"demo://ok","name":"ok"}]}' ;;
    *templates/list*)
      echo "$head$id,\"error\":{\"code\":-32601,\"message\":\"unknown\"}}"
      continue ;;
    *prompts/list*) result='{"prompts":[{"name":"p","arguments":[{"name":"who","required":true}]}]}' ;;
    *prompts/get*)
      result='{"messages":[{"role":"user","content":{"type":"text","text":"Greet Ada."}}]}' ;;
    *\"die\"*) echo "about to die" >&2; exit 3 ;;
    *\"silent\"*) continue ;;
    *\"change\"*)
      [ -f "$TOOLS.next" ] && mv "$TOOLS.next" "$TOOLS"
      echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
      result='{"content":[]}' ;;
    *\"break\"*)
      broken=1
      echo '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
      result='{"content":[]}' ;;
    *notifications/*) continue ;;
    *) result='{"content":[{"type":"text","text":"called"}]}' ;;
  esac
  echo "$head$id,\"result\":$result}"
done
"#;

struct Folder {
    folder: tempfile::TempDir,
    events: Arc<Mutex<Vec<String>>>,
}

impl Folder {
    fn new() -> Self {
        let folder = Self { folder: tempfile::tempdir().unwrap(), events: Arc::default() };
        folder.tools(r#"{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}"#);
        folder
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    /// What the servers list from now on.
    fn tools(&self, list: &str) {
        std::fs::write(self.path("tools.json"), list.replace('\n', "")).unwrap();
    }

    /// What they list after a call of `change`.
    fn next_tools(&self, list: &str) {
        std::fs::write(self.path("tools.json.next"), list.replace('\n', "")).unwrap();
    }

    /// The process ids of all servers that were started.
    fn starts(&self) -> Vec<u32> {
        let text = std::fs::read_to_string(self.path("starts")).unwrap_or_default();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    fn registry(&self, servers: Vec<Configured>, pins: Option<SharedPins>) -> Registry {
        Registry::new(servers, self.options(pins))
    }

    fn options(&self, pins: Option<SharedPins>) -> RegistryOptions {
        let http = HttpClient::new(Options::default());
        let builtins: Builtins = Arc::new(|name, _| match name {
            "empty" => Ok(carrick::Server::builder("empty", "1").build()),
            _ => Err(format!("no built-in server {name}")),
        });
        let mut options = RegistryOptions::new(Implementation::new("tests", "0"), http, builtins);
        options.environment = Environment::capture();
        options.current = self.folder.path().to_owned();
        options.pins = pins;
        let events = self.events.clone();
        options.observer = Some(Arc::new(move |server: &str, event| {
            events.lock().unwrap().push(format!("{server} {event:?}"));
        }));
        options
    }

    fn one(&self) -> Registry {
        self.registry(vec![self.server("s", SCRIPT)], None)
    }

    fn server(&self, name: &str, script: &str) -> Configured {
        let variable = |file: &str| Secret::new(self.path(file).to_str().unwrap());
        let env = Map::from([
            ("TOOLS".to_owned(), variable("tools.json")),
            ("STARTS".to_owned(), variable("starts")),
        ]);
        let args = vec!["-c".to_owned(), script.to_owned()];
        let launch = ChildLaunch { command: "sh".into(), args, env, cwd: None };
        configured(name, ServerState::Ready(Launch::Child(launch)))
    }

    fn heard(&self, what: &str) -> usize {
        self.events.lock().unwrap().iter().filter(|event| event.contains(what)).count()
    }
}

fn configured(name: &str, state: ServerState) -> Configured {
    let origin = Origin { source: Source::User, file: None, position: None };
    Configured { name: name.into(), origin, timeout: None, session: Default::default(), state }
}

fn names(tools: &[Tool]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// Lets the clock of the host jump; servers are not asked meanwhile.
async fn advance(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}
