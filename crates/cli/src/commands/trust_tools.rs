//! `carrick trust --tools`

use crate::args::{Arguments, Trust};
use crate::exit::{Code, Failure};
use crate::print;
use crate::setup::{self, Setup};
use carrick_host::permission::visible;
use carrick_host::registry::HeldTool;
use serde_json::json;
use std::process::ExitCode;

/// Shows which tools of a server are held back and why, and approves them.
pub(super) async fn run(
    arguments: &Arguments,
    trust: &Trust,
    server: &str,
) -> Result<ExitCode, Failure> {
    let setup = Setup::new(arguments, None).await?;
    setup.finish(run_in(&setup, arguments, trust, server)).await
}

async fn run_in(
    setup: &Setup,
    arguments: &Arguments,
    trust: &Trust,
    server: &str,
) -> Result<ExitCode, Failure> {
    let held = setup.registry.held(server).await?;
    if held.is_empty() {
        print::say("its tools are what was agreed to: none is held back");
        return Ok(ExitCode::SUCCESS);
    }
    if trust.show || trust.yes {
        show(arguments, server, &held)?;
    }
    if trust.show {
        return Ok(ExitCode::SUCCESS);
    }
    if trust.yes {
        setup.registry.agree(server, &held).await?;
    } else if !setup::ask(&setup.registry, server, &held).await? {
        print::say(setup::difference(server, &held));
        return Err(Failure::new(Code::Permission, "not approved").hint(format!(
            "`carrick trust --yes --tools {}` approves what is shown above",
            visible(server)
        )));
    }
    let left = setup.registry.held(server).await?;
    if left.is_empty() {
        print::say("approved");
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::new(Code::Permission, setup::remark(server, &left)))
}

fn show(arguments: &Arguments, server: &str, held: &[HeldTool]) -> Result<(), Failure> {
    if !arguments.json {
        return print::line(&setup::difference(server, held));
    }
    for tool in held {
        print::json(&json!({
            "server": server, "tool": tool.name, "hold": tool.hold.to_string(),
            "lines": tool.lines,
        }))?;
    }
    Ok(())
}
