//! `carrick call`

use crate::args::{Arguments, Call};
use crate::exit::{Code, Failure};
use crate::frontend::frontend;
use crate::print;
use crate::setup::{self, Setup};
use crate::values;
use carrick::types::Tool;
use carrick_host::near::most_like;
use carrick_host::permission::{self, Verdict, quoted, visible};
use carrick_host::turn::Received;
use std::process::ExitCode;
use std::sync::Arc;

/// Tools named in the hint after a wrong name.
const NAMED: usize = 30;

/// Calls one tool. The person has named it, so nothing is asked; what the
/// config denies stays denied.
pub(super) async fn run(arguments: &Arguments, call: &Call) -> Result<ExitCode, Failure> {
    let setup = Setup::asked(arguments, None, frontend(arguments.json, &call.permission)).await?;
    let call = Named::of(call, &setup)?;
    setup.finish(run_in(&setup, arguments, &call)).await
}

/// A call whose server and tool are known.
struct Named<'a> {
    server: &'a str,
    tool: &'a str,
    arguments: Vec<String>,
}

impl<'a> Named<'a> {
    fn of(call: &'a Call, setup: &Setup) -> Result<Self, Failure> {
        let is_server = |name| setup.registry.configured(name).is_some();
        let one_word = call.server.split_once('/').filter(|(server, tool)| {
            !is_server(&call.server) && is_server(server) && !tool.is_empty()
        });
        let rest = &call.arguments;
        if let Some((server, tool)) = one_word {
            let arguments = call.tool.iter().chain(rest).cloned().collect();
            return Ok(Self { server, tool, arguments });
        }
        match &call.tool {
            Some(tool) => Ok(Self { server: &call.server, tool, arguments: rest.clone() }),
            None if is_server(&call.server) => {
                let server = visible(&call.server);
                Err(Failure::usage("no tool is named")
                    .hint(format!("`carrick tools {server}` lists what {server} has")))
            }
            None => Err(Failure::usage(format!(
                "no tool is named, and {} is no server",
                quoted(&call.server)
            ))
            .hint("write `carrick call SERVER TOOL`; `carrick tools` lists them")),
        }
    }
}

async fn run_in(
    setup: &Setup,
    arguments: &Arguments,
    call: &Named<'_>,
) -> Result<ExitCode, Failure> {
    setup::offer_configured(setup).await;
    let held = setup.registry.held(call.server).await?;
    let held: Vec<_> = held.iter().filter(|held| held.name == call.tool).cloned().collect();
    if !held.is_empty() && !setup::ask(&setup.registry, call.server, &held).await? {
        print::say(setup::difference(call.server, &held));
        let text = format!("{}/{} is held back", visible(call.server), visible(call.tool));
        return Err(Failure::new(Code::Permission, text).hint(format!(
            "`carrick trust --tools {}` approves what is shown above",
            visible(call.server)
        )));
    }
    let tools = setup.registry.tools(call.server).await?;
    let tool = find(&tools, call)?;
    let json = values::arguments(&call.arguments, tool.input_schema.get()).await?;
    permit(setup, call, &json)?;
    let progress: carrick::client::ProgressHandler = Arc::new(|progress| {
        let total = progress.total.map(|total| format!("/{total}")).unwrap_or_default();
        let message = progress.message.as_deref().map(visible).unwrap_or_default();
        print::say(format_args!("   {}{total} {message}", progress.progress));
    });
    let result = setup.registry.call(call.server, call.tool, &json, Some(progress)).await?;
    let received = Received::of_call(result.as_bytes())
        .map_err(|error| Failure::failed(format!("the result is not a tool's: {error}")))?;
    if arguments.json {
        print::raw_json(&String::from_utf8_lossy(result.as_bytes()))?;
    } else {
        print::foreign(&received.text())?;
    }
    Ok(if received.is_error { Code::Tool.into() } else { ExitCode::SUCCESS })
}

fn find<'a>(tools: &'a [Tool], call: &Named<'_>) -> Result<&'a Tool, Failure> {
    tools.iter().find(|tool| tool.name == call.tool).ok_or_else(|| {
        let names: Vec<String> = tools.iter().take(NAMED).map(|tool| visible(&tool.name)).collect();
        let hint = match tools.len().checked_sub(NAMED) {
            _ if tools.is_empty() => "it has none".into(),
            None | Some(0) => format!("it has: {}", names.join(", ")),
            Some(more) => {
                format!("it has: {} and {more} more, which `carrick tools` lists", names.join(", "))
            }
        };
        let near = most_like(call.tool, tools.iter().map(|tool| (&*tool.name, [&*tool.name])));
        let near = match &near[..] {
            [] => String::new(),
            near => format!("; did you mean {}?", visible(&near.join(" or "))),
        };
        let (server, tool) = (quoted(call.server), quoted(call.tool));
        Failure::usage(format!("server {server} has no tool {tool}{near}")).hint(hint)
    })
}

fn permit(setup: &Setup, call: &Named<'_>, json: &[u8]) -> Result<(), Failure> {
    let decision = setup.policy.decide(&permission::Call {
        server: call.server,
        tool: call.tool,
        arguments: &String::from_utf8_lossy(json),
        builtin_read: false,
    });
    // To name a call is no answer to whether a rule means it.
    if decision.verdict == Verdict::Deny || decision.may_be_denied() {
        let text = format!("{}/{} may not run: {}", call.server, call.tool, decision.reason);
        return Err(Failure::new(Code::Permission, text));
    }
    Ok(())
}
