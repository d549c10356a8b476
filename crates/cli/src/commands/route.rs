//! `carrick route`

use super::ask::turn_failed;
use crate::args::{Arguments, Route};
use crate::exit::{Code, Failure};
use crate::frontend::{Listener, frontend, observer, tell_missing};
use crate::input;
use crate::print;
use crate::setup::{self, Setup};
use carrick::proto::xml::decode::Form;
use carrick_host::dialect::{Ask, Dialect, Outcome, RouteItem, Status, fit, read, render};
use carrick_host::registry::Catalog;
use carrick_host::turn::{
    Calls, Done, Event, Tally, Target, TurnError, TurnLimits, Wanted, outcome,
};
use serde_json::value::RawValue;
use std::process::ExitCode;
use std::sync::Arc;

/// Runs the tool requests in a model's output.
pub(super) async fn run(arguments: &Arguments, route: &Route) -> Result<ExitCode, Failure> {
    let text = model_output(route).await?;
    let items = read(&text);
    if items.is_empty() {
        print::say("no tool request was found in the text");
        return Ok(ExitCode::SUCCESS);
    }
    let frontend = frontend(arguments.json, &route.permission);
    let setup = Setup::asked(arguments, Some(observer(frontend.clone())), frontend.clone()).await?;
    setup.finish(run_in(&setup, arguments, &items, frontend)).await
}

async fn run_in(
    setup: &Setup,
    arguments: &Arguments,
    items: &[RouteItem],
    frontend: Arc<dyn Listener>,
) -> Result<ExitCode, Failure> {
    setup::offer_configured(setup).await;
    let catalog = setup.registry.catalog().await;
    tell_missing(&catalog, &*frontend);
    let left = |server: &str, message| {
        frontend.event(&Event::Error { server: Some(server.to_owned()), message });
    };
    let catalog = setup::settle(&setup.registry, catalog, left).await;
    let wanted = (1..).zip(items).map(|(n, item)| wanted(n, item, &catalog)).collect();
    let calls = Calls {
        registry: &setup.registry,
        catalog: &catalog,
        policy: &setup.policy,
        frontend: &*frontend,
    };
    let limits = TurnLimits::from(&setup.settings.limits);
    let wanted = Tally::default().admit(wanted, &limits);
    let done = tokio::time::timeout(limits.time, calls.run(wanted)).await;
    let late = || Err(TurnError::Limit(format!("{} s", limits.time.as_secs())));
    let done = done.unwrap_or_else(|_| late()).map_err(turn_failed)?;
    frontend.finish()?;
    let code = code(&done);
    if !arguments.json {
        print_results(items, done)?;
    }
    Ok(code)
}

async fn model_output(route: &Route) -> Result<String, Failure> {
    const WHAT: &str = "the model's output";
    match &route.file {
        Some(path) if path.as_os_str() != "-" => input::file(path, WHAT).await,
        _ => input::all_of_stdin(WHAT).await,
    }
}

fn wanted(n: usize, item: &RouteItem, catalog: &Catalog) -> Wanted {
    let id = item.id.clone().unwrap_or_else(|| format!("call_{n}"));
    let nothing = || RawValue::from_string("{}".into()).unwrap_or_default();
    match &item.ask {
        Ask::Call { server, tool, arguments, form, .. } => {
            let found = catalog.resolve(server.as_deref(), tool);
            let arguments = match (&found, form) {
                (Ok(found), Form::Function) => catalog
                    .find(&found.server, &found.tool)
                    .map_or_else(|| arguments.clone(), |t| fit(arguments, t.input_schema.get())),
                _ => arguments.clone(),
            };
            let target = match found {
                Ok(found) => Ok(Target::Tool(found.clone())),
                Err(unknown) => {
                    let nothing_near = unknown.candidates.is_empty();
                    let unknown = unknown.to_string();
                    Err(not_found(server.as_deref(), &unknown, nothing_near, catalog))
                }
            };
            Wanted { id, target, arguments }
        }
        Ask::Resource { server: Some(server), uri } => {
            let target = Ok(Target::Resource { server: server.clone(), uri: uri.clone() });
            Wanted { id, target, arguments: nothing() }
        }
        Ask::Resource { server: None, .. } => {
            let target = Err("not run: name the server in <server_name>".into());
            Wanted { id, target, arguments: nothing() }
        }
        Ask::Refused(refused) => {
            Wanted { id, target: Err(refused.to_string()), arguments: nothing() }
        }
        _ => Wanted { id, target: Err("not run".into()), arguments: nothing() },
    }
}

/// Why a request is not run, where no tool fits it. `nothing_near` says that no tool's
/// name is like the one written.
fn not_found(server: Option<&str>, unknown: &str, nothing_near: bool, catalog: &Catalog) -> String {
    let starting = &catalog.starting;
    let Some(server) = server.map(str::trim) else {
        return match starting.is_empty() {
            true => format!("not run: {unknown}"),
            false => format!("not run: {unknown}; still starting: {}", starting.join(", ")),
        };
    };
    if starting.iter().any(|name| name == server) {
        return format!("not run: server {server:?} is still starting; ask again later");
    }
    if catalog.failed.iter().any(|error| error.server() == server) {
        return format!("not run: server {server:?} cannot be used, so none of its tools can");
    }
    let known = || catalog.servers.iter().map(|known| known.server.as_str());
    // Where a name is nearly right, that says more.
    if nothing_near && !known().any(|known| known == server) {
        let known = known().chain(starting.iter().map(String::as_str)).collect::<Vec<_>>();
        // What a model wrote may be very long.
        let shown: String = server.chars().take(100).collect();
        return format!("not run: there is no server {shown:?}; there are: {}", known.join(", "));
    }
    format!("not run: {unknown}")
}

fn print_results(items: &[RouteItem], done: Vec<Done>) -> Result<(), Failure> {
    // Neighbours that came in the same form go back in one piece.
    let mut pieces: Vec<(Dialect, Vec<Outcome>)> = Vec::new();
    for (item, done) in items.iter().zip(done) {
        let outcome = in_form(item, done);
        match pieces.last_mut() {
            Some((dialect, outcomes)) if *dialect == item.dialect => outcomes.push(outcome),
            _ => pieces.push((item.dialect, vec![outcome])),
        }
    }
    for (dialect, outcomes) in pieces {
        print::line(render(dialect, &outcomes).trim_end_matches('\n'))?;
    }
    Ok(())
}

fn in_form(item: &RouteItem, done: Done) -> Outcome {
    let (server, tool, uri) = match &item.ask {
        Ask::Call { server, tool, .. } => (server.clone(), Some(tool.clone()), None),
        Ask::Resource { server, uri } => (server.clone(), None, Some(uri.clone())),
        Ask::Refused(refused) => {
            (refused.server.clone(), refused.tool.clone(), refused.uri.clone())
        }
        _ => (None, None, None),
    };
    let status = if done.ran { Status::Success } else { Status::NotRun };
    outcome(item.id.clone(), server, tool, uri, status, done.received)
}

fn code(done: &[Done]) -> ExitCode {
    if done.iter().any(|done| done.denied) {
        return Code::Permission.into();
    }
    if done.iter().any(|done| done.error.as_ref().is_some_and(|e| e.is_unreachable())) {
        return Code::Unreachable.into();
    }
    // A server that failed is not a tool that says so.
    if done.iter().any(|done| !done.ran || done.error.is_some()) {
        return Code::Failed.into();
    }
    if done.iter().any(|done| done.received.is_error) {
        return Code::Tool.into();
    }
    ExitCode::SUCCESS
}
