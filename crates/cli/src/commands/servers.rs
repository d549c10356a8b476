//! `carrick servers`

use crate::args::Arguments;
use crate::exit::Failure;
use crate::print;
use crate::setup::Setup;
use carrick_host::config::{Launch, Server, ServerState};
use carrick_host::permission::{quoted, visible};
use serde_json::json;
use std::process::ExitCode;

/// Lists the configured servers; connects to none.
pub(super) async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(arguments, None).await?;
    for name in setup.registry.names() {
        let Some(server) = setup.registry.configured(name) else { continue };
        let (state, launch) = describe(server);
        let source = server.origin.source.as_str();
        if arguments.json {
            print::json(&json!({
                "server": name, "state": state, "launch": launch, "source": source,
                "file": server.origin.file,
            }))?;
        } else {
            print::line(&format!("{:16} {state:10} {launch}  ({source})", visible(name)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
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
