//! `carrick ask`

use crate::args::{Arguments, Ask, DialectArg};
use crate::exit::{Code, Failure};
use crate::frontend::{Listener, frontend, observer, tell_missing};
use crate::input;
use crate::print;
use crate::setup::{self, Setup};
use carrick_host::config::Launch;
use carrick_host::matcher::Context;
use carrick_host::model::select::{Choice, Selection};
use carrick_host::model::{Model, StopReason};
use carrick_host::registry::Catalog;
use carrick_host::turn::{
    DialectChoice, Event, Frontend, MatchError, Turn, TurnError, TurnLimits, ask_matcher,
};
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;

/// Answers a question.
pub(super) async fn run(arguments: &Arguments, ask: &Ask) -> Result<ExitCode, Failure> {
    let question = question(ask).await?;
    let frontend = frontend(arguments.json, &ask.permission);
    let setup = Setup::asked(arguments, Some(observer(frontend.clone())), frontend.clone()).await?;
    setup.finish(answer(&setup, frontend, ask, &question)).await
}

async fn answer(
    setup: &Setup,
    frontend: Arc<dyn Listener>,
    ask: &Ask,
    question: &str,
) -> Result<ExitCode, Failure> {
    let selection = setup::model(setup, ask.model.clone()).await.map_err(Failure::usage)?;
    let full = matches!(selection.choice, Choice::Model(_));
    if let Choice::Model(model) = &selection.choice {
        setup.offer_model(model);
    }
    let catalog = match full {
        true => setup.registry.full_catalog().await,
        false => setup.registry.catalog().await,
    };
    tell_missing(&catalog, &*frontend);
    let left = |server: &str, message| {
        frontend.event(&Event::Error { server: Some(server.to_owned()), message });
    };
    let catalog = setup::settle(&setup.registry, catalog, left).await;
    let code = choose(setup, &catalog, &*frontend, ask, &selection, question).await?;
    frontend.finish()?;
    Ok(code)
}

async fn choose(
    setup: &Setup,
    catalog: &Catalog,
    frontend: &dyn Frontend,
    ask: &Ask,
    selection: &Selection,
    question: &str,
) -> Result<ExitCode, Failure> {
    match &selection.choice {
        Choice::Model(model) => {
            let turn = Turn {
                registry: &setup.registry,
                catalog,
                policy: &setup.policy,
                frontend,
                dialect: dialect(ask.dialect),
                limits: TurnLimits::from(&setup.settings.limits),
            };
            by_model(&turn, model, question).await
        }
        _ => {
            print::say(format_args!(
                "no language model is in use ({}): the built-in matcher looks for a tool that \
                 fits. To use a model, set ANTHROPIC_API_KEY or OPENAI_API_KEY, start Ollama, or \
                 name one with --model.",
                selection.reason
            ));
            by_matcher(setup, catalog, frontend, question).await
        }
    }
}

async fn by_model(
    turn: &Turn<'_>,
    model: &Arc<dyn Model>,
    question: &str,
) -> Result<ExitCode, Failure> {
    let answer = turn.ask(model, question).await.map_err(turn_failed)?;
    match answer.stopped {
        Some(StopReason::MaxTokens) => {
            return Err(Failure::failed("the model's answer was cut at its token limit"));
        }
        Some(StopReason::Refusal) => return Err(Failure::failed("the model refused to go on")),
        Some(StopReason::Other(why)) => {
            return Err(Failure::failed(format!("the model stopped: {}", print::shown(&why))));
        }
        _ => {}
    }
    Ok(if answer.denied > 0 { Code::Permission.into() } else { ExitCode::SUCCESS })
}

async fn by_matcher(
    setup: &Setup,
    catalog: &Catalog,
    frontend: &dyn Frontend,
    question: &str,
) -> Result<ExitCode, Failure> {
    let context = Context::new(jiff::ZonedDateTime::now());
    let done =
        ask_matcher(&setup.registry, catalog, &setup.policy, frontend, question, &context).await;
    match done {
        Ok(done) if done.denied => Err(Failure::new(Code::Permission, "permission was denied")),
        Ok(done) => match done.error {
            Some(error) => Err(error.into()),
            None if done.received.is_error => Ok(Code::Tool.into()),
            None => Ok(ExitCode::SUCCESS),
        },
        Err(MatchError::NoTool) => Err(no_tool(setup)),
        Err(MatchError::Unclear(why)) => Err(Failure::new(Code::Permission, print::shown(&why))
            .hint("say it in the question, or call the tool with `carrick call`")),
        Err(MatchError::Turn(error)) => Err(turn_failed(error)),
        Err(error) => Err(Failure::failed(error)),
    }
}

fn no_tool(setup: &Setup) -> Failure {
    let failure = Failure::failed("no tool fits the question")
        .hint("`carrick tools` lists what there is; a language model may find a way (--model)");
    let mut servers = setup.registry.names().filter_map(|name| setup.registry.configured(name));
    if servers.any(|server| matches!(server.launch(), Some(Launch::Builtin { .. }))) {
        return failure;
    }
    failure.hint(
        "the built-in servers serve by themselves only where no others are configured; to have \
         them too, add \"time\": {\"type\": \"builtin\", \"name\": \"time\"} and \"files\": \
         {\"type\": \"builtin\", \"name\": \"files\"} to \"mcpServers\"",
    )
}

pub(super) fn turn_failed(error: TurnError) -> Failure {
    match error {
        TurnError::PermissionNeeded(what) => Failure::permission_needed(&what),
        TurnError::Limit(_) => Failure::failed(error)
            .hint(format!("\"limits\" in the config sets it: {}#limits", setup::CONFIG_PAGE)),
        other => Failure::failed(print::shown(&other.to_string())),
    }
}

async fn question(ask: &Ask) -> Result<String, Failure> {
    let words = ask.question.join(" ");
    if !words.trim().is_empty() && words != "-" {
        return Ok(words);
    }
    if words.trim().is_empty() && std::io::stdin().is_terminal() {
        return Err(Failure::usage("no question").hint("carrick ask \"What time is it in Tokyo?\""));
    }
    let text = input::all_of_stdin("the question").await?;
    if text.trim().is_empty() {
        return Err(Failure::usage("the question is empty"));
    }
    Ok(text.trim().to_owned())
}

fn dialect(argument: DialectArg) -> DialectChoice {
    match argument {
        DialectArg::Auto => DialectChoice::Auto,
        DialectArg::Native => DialectChoice::Native,
        DialectArg::Xml => DialectChoice::Xml,
    }
}
