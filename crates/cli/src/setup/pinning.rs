//! Tools that say something else than what was agreed to.

use crate::environment;
use crate::exit::Failure;
use crate::frontend::question;
use carrick_host::permission::{Pins, quoted, visible};
use carrick_host::registry::{Catalog, HeldTool, Registry, SharedPins};
use std::sync::{Arc, Mutex};

/// What this user has agreed to of servers' tools; none without a home folder.
pub(super) fn pins() -> Result<Option<SharedPins>, Failure> {
    let Some(folder) = environment::state_folder() else { return Ok(None) };
    let pins = Pins::open(folder.join("pins.json")).map_err(|error| {
        Failure::failed(error).hint("move the file away to agree to all tools anew")
    })?;
    Ok(Some(Arc::new(Mutex::new(pins))))
}

/// Asks about tools that are held back, server by server. Gives the catalog as
/// it is then, and calls `left` for each server of which some stay held.
pub(crate) async fn settle(
    registry: &Registry,
    catalog: Catalog,
    left: impl Fn(&str, String),
) -> Catalog {
    let mut agreed = false;
    for server in catalog.servers.iter().filter(|server| !server.held.is_empty()) {
        match ask(registry, &server.server, &server.held).await {
            Ok(true) => agreed = true,
            Ok(false) => left(&server.server, remark(&server.server, &server.held)),
            Err(failure) => left(&server.server, failure.to_string()),
        }
    }
    if agreed { registry.again(&catalog).await } else { catalog }
}

/// Shows what is held and asks whether it may be used as it is now.
pub(crate) async fn ask(
    registry: &Registry,
    server: &str,
    held: &[HeldTool],
) -> Result<bool, Failure> {
    let text = difference(server, held);
    if question::confirmed(text, "Use these tools as they are now?").await != Some(true) {
        return Ok(false);
    }
    registry.agree(server, held).await?;
    Ok(true)
}

/// What a person must see before they agree.
pub(crate) fn difference(server: &str, held: &[HeldTool]) -> String {
    let mut text = format!(
        "server {}: these tools are not what was agreed to, and are held back:",
        quoted(server)
    );
    for tool in held {
        text.push_str(&format!("\n  {} ({})", visible(&tool.name), tool.hold));
        for line in &tool.lines {
            text.push_str(&format!("\n    {line}"));
        }
    }
    text
}

/// The same in a sentence, with what to do.
pub(crate) fn remark(server: &str, held: &[HeldTool]) -> String {
    let names = held.iter().map(|tool| format!("{} ({})", visible(&tool.name), tool.hold));
    format!(
        "tools are held back that are not what was agreed to: {}; `carrick trust --tools {}` \
         shows and approves them",
        names.collect::<Vec<_>>().join(", "),
        visible(server)
    )
}
