//! Who decides about calls that are asked about.

use super::question;
use crate::args::{ApproveArg, PermissionArgs};
use crate::print;
use carrick_host::turn::{Approval, Event, Frontend, Verdict};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::io::{AsyncBufReadExt, BufReader, Stdin};
use tokio::sync::Mutex;

/// Who decides about calls that are asked about.
pub(crate) enum Approver {
    Yes,
    Deny,
    Terminal,
    Stdin(Mutex<BufReader<Stdin>>),
}

impl Approver {
    pub(crate) fn asks_terminal(&self) -> bool {
        matches!(self, Self::Terminal)
    }

    pub(super) async fn decide(&self, approval: &Approval, frontend: &dyn Frontend) -> Verdict {
        match self {
            Self::Yes => Verdict::Allow,
            Self::Deny => Verdict::Deny,
            Self::Terminal => ask_person(approval).await,
            Self::Stdin(answers) => {
                let event = permission(approval);
                frontend.event(&event);
                read_answer(answers, approval).await
            }
        }
    }
}

impl From<&PermissionArgs> for Approver {
    fn from(arguments: &PermissionArgs) -> Self {
        match (arguments.yes, arguments.deny, arguments.approve) {
            (true, ..) => Self::Yes,
            (_, true, _) => Self::Deny,
            (.., ApproveArg::Terminal) => Self::Terminal,
            (.., ApproveArg::Stdin) => Self::Stdin(Mutex::new(BufReader::new(tokio::io::stdin()))),
        }
    }
}

async fn ask_person(approval: &Approval) -> Verdict {
    let text = format!("{}\n({})", approval.description.trim_end(), approval.reason);
    let asked = tokio::task::spawn_blocking(move || question::confirm(&text, "Run it?"));
    match asked.await {
        Ok(Some(true)) => Verdict::Allow,
        Ok(Some(false)) => Verdict::Deny,
        Ok(None) | Err(_) => Verdict::Unavailable,
    }
}

fn permission(approval: &Approval) -> Event {
    Event::Permission {
        id: approval.id.clone(),
        server: approval.server.clone(),
        tool: approval.tool.clone(),
        arguments: RawValue::from_string(approval.arguments.clone()).unwrap_or_default(),
        reason: approval.reason.clone(),
    }
}

/// Reads lines until one answers this question.
async fn read_answer(answers: &Mutex<BufReader<Stdin>>, approval: &Approval) -> Verdict {
    #[derive(Deserialize)]
    struct Answer {
        id: String,
        allow: bool,
    }
    let mut answers = answers.lock().await;
    loop {
        let mut line = String::new();
        match answers.read_line(&mut line).await {
            Ok(n) if n > 0 => {}
            _ => return Verdict::Unavailable,
        }
        match serde_json::from_str::<Answer>(&line) {
            Ok(answer) if answer.id == approval.id => {
                return if answer.allow { Verdict::Allow } else { Verdict::Deny };
            }
            Ok(answer) => {
                print::say(format_args!("warning: nothing was asked about {:?}", answer.id));
            }
            Err(error) => {
                let line = print::shown(line.trim_end());
                print::say(format_args!(
                    "warning: expected {{\"id\":…,\"allow\":…}}, got {line:?}: {error}"
                ));
            }
        }
    }
}
