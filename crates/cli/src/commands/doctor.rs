//! `carrick doctor`

use crate::args::Arguments;
use crate::exit::{Code, Failure};
use crate::print;
use crate::setup::{self, Setup};
use carrick_host::config::ServerState;
use carrick_host::model::select::Choice;
use carrick_host::permission::visible;
use carrick_host::registry::{ServerError, ServerErrorKind, ServerEvent, ServerObserver};
use futures_util::future::join_all;
use serde_json::json;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

/// Tries every server and the model, and says what is wrong.
pub(super) async fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let noise = Arc::new(Mutex::new(Vec::new()));
    let heard = noise.clone();
    let observer: ServerObserver = Arc::new(move |server: &str, event| {
        if let ServerEvent::Noise(what) = event {
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            heard.push((server.to_owned(), what));
        }
    });
    let places = setup::places(arguments)?;
    for file in setup::read(&places)? {
        report(arguments.json, "config", &file.path().display().to_string(), true, "read", &[])?;
    }
    let setup = Setup::new(arguments, Some(observer)).await?;
    setup.finish(check(&setup, arguments, &noise)).await
}

async fn check(
    setup: &Setup,
    arguments: &Arguments,
    noise: &Mutex<Vec<(String, String)>>,
) -> Result<ExitCode, Failure> {
    let names: Vec<&str> = setup.registry.names().collect();
    let tried = join_all(names.iter().map(|name| try_server(setup, name))).await;
    let mut code = ExitCode::SUCCESS;
    for (name, outcome) in names.iter().zip(tried) {
        match outcome {
            Ok(text) => report(arguments.json, "server", name, true, &text, &[])?,
            Err(error) if matches!(error.kind(), ServerErrorKind::Disabled) => {
                report(arguments.json, "server", name, true, "disabled", &[])?;
            }
            Err(error) => {
                let failure = Failure::from(error);
                let text = failure.to_string();
                report(arguments.json, "server", name, false, &text, failure.hints())?;
                code = Code::Unreachable.into();
            }
        }
    }
    for (server, what) in noise.lock().unwrap_or_else(PoisonError::into_inner).iter() {
        let text = format!("prints what is no message on stdout: {}", visible(what));
        let hints = ["it must write what is no message to stderr".to_owned()];
        report(arguments.json, "server", server, false, &text, &hints)?;
    }
    if !model(arguments, setup).await? {
        code = Code::Failed.into();
    }
    Ok(code)
}

async fn try_server(setup: &Setup, name: &str) -> Result<String, ServerError> {
    let client = setup.registry.client(name).await?;
    let tools = setup.registry.tools(name).await?;
    let server = client.server();
    let info = server.info.as_ref().map(|info| format!("{} {}, ", info.name, info.version));
    let approved = match setup.registry.configured(name).map(|server| &server.state) {
        Some(ServerState::Ready(launch)) => super::servers::launch(launch),
        _ => String::new(),
    };
    Ok(visible(&format!(
        "{}revision {}, {}  ({approved})",
        info.unwrap_or_default(),
        server.revision,
        print::counted(tools.len(), "tool"),
    )))
}

async fn model(arguments: &Arguments, setup: &Setup) -> Result<bool, Failure> {
    match setup::model(setup, None).await {
        Ok(selection) => {
            let name = match &selection.choice {
                Choice::Model(model) => model.name().to_owned(),
                _ => "builtin:match (no language model)".to_owned(),
            };
            report(arguments.json, "model", &name, true, &selection.reason, &[])?;
            Ok(true)
        }
        Err(error) => {
            report(arguments.json, "model", "none", false, &error.to_string(), &[])?;
            Ok(false)
        }
    }
}

fn report(
    json: bool,
    what: &str,
    name: &str,
    ok: bool,
    text: &str,
    hints: &[String],
) -> Result<(), Failure> {
    if json {
        let mut line = json!({ "check": what, "name": name, "ok": ok, "message": text });
        if !hints.is_empty() {
            line["hint"] = hints.join("; ").into();
        }
        return print::json(&line);
    }
    let mark = if ok { "ok  " } else { "FAIL" };
    print::line(&format!("{mark} {what} {}: {text}", visible(name)))?;
    hints.iter().try_for_each(|hint| print::line(&format!("     hint: {hint}")))
}
