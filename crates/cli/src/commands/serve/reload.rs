//! The config of a server that is being served, while it is being served.

use super::Configured;
use crate::args::Arguments;
use crate::print::{self, shown};
use crate::setup::{self, Setup};
use carrick_gateway::Gateway;
use carrick_host::config::{ConfigFile, ContentHash, ServerState};
use carrick_host::permission::quoted;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often the files are looked at. Only what is the same twice counts, so
/// that a file half written is not taken for a config.
const LOOK: Duration = Duration::from_millis(500);

/// The config files as they are: where, what is in them, and whether that counts;
/// or why they cannot be read.
pub(super) type Files = Result<Vec<(PathBuf, ContentHash, bool)>, String>;

/// Looks after the config for as long as it is polled; `taken` is what it was
/// before it was read. A server whose entry has
/// changed is started anew; one that was disabled is ended. Whatever is wrong
/// with a new config is said, and the last good one stays.
pub(super) async fn follow(
    arguments: &Arguments,
    gateway: &Gateway,
    server: Arc<Configured>,
    mut taken: Files,
) -> Infallible {
    let mut before = taken.clone();
    loop {
        tokio::time::sleep(LOOK).await;
        let now = look(arguments).await;
        if now != taken && now == before {
            taken = now.clone();
            take(arguments, gateway, &server).await;
        }
        before = now;
    }
}

/// The config files as they are now.
pub(super) async fn look(arguments: &Arguments) -> Files {
    let places = setup::places(arguments).map_err(|failure| failure.to_string())?;
    // A folder may be one of another machine's.
    let read = tokio::task::spawn_blocking(move || places.read()).await;
    let files = read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    let own = files.iter().any(ConfigFile::needs_approval);
    let store = if own { setup::store().ok() } else { None };
    let counts = |file: &ConfigFile| {
        !file.needs_approval() || store.as_ref().is_some_and(|store| store.is_trusted(file))
    };
    Ok(files.iter().map(|file| (file.path().to_owned(), file.hash(), counts(file))).collect())
}

async fn take(arguments: &Arguments, gateway: &Gateway, server: &Configured) {
    let name = gateway.server();
    let stays = |why: &str| {
        let name = quoted(name);
        print::say(format_args!("the config has changed: {why}; {name} goes on as it was"));
    };
    let setup = match Setup::again(arguments) {
        Ok(setup) => setup,
        Err(failure) => return stays(&failure.to_string()),
    };
    let Some(configured) = setup.registry.configured(name) else {
        return stays("it has no such server any more");
    };
    if configured.session != server.session {
        let text = "the config has changed: \"session\" counts when carrick serve is started again";
        print::say(format_args!("{text}"));
    }
    let what = match &configured.state {
        ServerState::Ready(launch) if server.launch().as_ref() == Some(launch) => None,
        ServerState::Ready(_) => Some("starts anew"),
        ServerState::Disabled => Some("is disabled and ends"),
        ServerState::Broken(error) => return stays(&shown(&error.to_string())),
        _ => return stays("its entry has not been approved"),
    };
    let opener = match setup.registry.opener(name) {
        Ok(opener) => opener,
        Err(error) => return stays(&shown(&error.to_string())),
    };
    let launch = configured.launch().cloned();
    server.renew(opener, launch);
    if let Some(what) = what {
        print::say(format_args!("the config has changed: {} {what}", quoted(name)));
        gateway.reconnect().await;
    }
}
