//! `carrick servers`

use crate::args::{Arguments, Servers};
use crate::exit::Failure;
use crate::print;
use crate::setup::Setup;
use carrick::client::managed::ConnectionState;
use carrick_host::config::{Launch, Server, ServerState};
use carrick_host::permission::{quoted, visible};
use carrick_host::registry::Registry;
use serde_json::json;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// Lists the configured servers; connects to none, unless asked what they do.
pub(super) async fn run(arguments: &Arguments, servers: &Servers) -> Result<ExitCode, Failure> {
    let setup = Setup::new(arguments, None).await?;
    let found = match servers.status {
        true => setup.finish(async { Ok(found(&setup.registry).await) }).await?,
        false => BTreeMap::new(),
    };
    for name in setup.registry.names() {
        let Some(server) = setup.registry.configured(name) else { continue };
        let (mut state, launch) = describe(server);
        let found = found.get(name);
        if let Some(found) = found.filter(|_| matches!(server.state, ServerState::Ready(_))) {
            state = found.state;
        }
        let (source, message) =
            (server.origin.source.as_str(), found.and_then(|f| f.message.as_deref()));
        if arguments.json {
            let mut line = json!({
                "server": name, "state": state, "launch": launch, "source": source,
                "file": server.origin.file,
            });
            if let Some(message) = message {
                line["message"] = message.into();
            }
            print::json(&line)?;
        } else {
            let message = message.map(|text| format!("  {}", visible(text))).unwrap_or_default();
            print::line(&format!("{:16} {state:10} {launch}  ({source}){message}", visible(name)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// What a server does once it has been tried.
struct Found {
    state: &'static str,
    message: Option<String>,
}

/// Starts all that may run, and looks at them when nobody would wait any longer.
async fn found(registry: &Registry) -> BTreeMap<String, Found> {
    let catalog = registry.catalog().await;
    let mut found = BTreeMap::new();
    for server in &catalog.servers {
        let info = server.description.as_ref().and_then(|said| said.info.as_ref());
        let info = info.map(|info| format!("{} {}, ", info.name, info.version)).unwrap_or_default();
        let message = Some(format!("{info}{}", print::counted(server.tools.len(), "tool")));
        found.insert(server.server.clone(), Found { state: "connected", message });
    }
    for name in &catalog.starting {
        let state = match registry.state(name) {
            Ok(ConnectionState::Connected { .. }) => "listing",
            _ => "starting",
        };
        found.insert(name.clone(), Found { state, message: None });
    }
    for error in &catalog.failed {
        // One whose other lists cannot be had is there all the same.
        let message = Some(error.to_string());
        found.entry(error.server().to_owned()).or_insert(Found { state: "failed", message });
    }
    found
}

fn describe(server: &Server) -> (&'static str, String) {
    match &server.state {
        ServerState::Ready(launch) => ("not tried", self::launch(launch)),
        ServerState::Disabled => ("disabled", String::new()),
        ServerState::Unapproved => ("unapproved", String::new()),
        ServerState::Broken(error) => ("broken", print::shown(&error.without_server().to_string())),
        _ => ("unknown", String::new()),
    }
}

/// What would run, without values that may be secret.
pub(super) fn launch(launch: &Launch) -> String {
    match launch {
        Launch::Child(child) => {
            let words = std::iter::once(&child.command).chain(&child.args);
            words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
        }
        Launch::Http(http) => {
            // The query may hold a key.
            let text = http.url.to_string();
            visible(text.split('?').next().unwrap_or_default())
        }
        Launch::Builtin { name, args } => {
            let args = args.iter().map(|arg| format!(" {}", visible(&arg.to_string_lossy())));
            format!("built-in {name}{}", args.collect::<String>())
        }
        _ => String::new(),
    }
}
