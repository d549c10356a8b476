//! Who decides about calls that are asked about, and who answers servers.

use super::{elicitation, question};
use crate::args::{ApproveArg, PermissionArgs};
use crate::print::{self, shown};
use carrick::types::{Elicit, ElicitAction, ElicitResult};
use carrick_host::asks::{Question, Sampling};
use carrick_host::permission::quoted;
use carrick_host::turn::{Approval, Event, Frontend, Verdict};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::PoisonError;
use tokio::io::{AsyncBufReadExt, BufReader, Stdin};
use tokio::sync::{Mutex, MutexGuard};

/// Who decides about calls that are asked about, and answers servers. Whoever it
/// is, is asked one thing at a time.
pub(crate) struct Approver {
    who: Who,
    /// Held while something is asked.
    stdin: Mutex<BufReader<Stdin>>,
    /// The servers of which it has been said that nobody can be asked, and for what.
    told: std::sync::Mutex<BTreeSet<(String, &'static str)>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Yes,
    Deny,
    Terminal,
    Stdin,
}

impl Approver {
    pub(crate) fn asks_terminal(&self) -> bool {
        self.who == Who::Terminal
    }

    /// Says what is answered without anybody, once for a server: it may ask in a loop.
    fn say_once(&self, server: &str, what: &'static str, text: impl std::fmt::Display) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        if told.insert((server.to_owned(), what)) {
            print::say(format_args!("{text} (said once)"));
        }
    }

    pub(super) async fn decide(&self, approval: &Approval, frontend: &dyn Frontend) -> Verdict {
        if approval.may_be_denied && self.who == Who::Yes {
            print::say(format_args!(
                "not run, whatever --yes says: {}\n{}",
                approval.reason,
                approval.description.trim_end()
            ));
            return Verdict::Deny;
        }
        let text = || format!("{}\n({})", approval.description.trim_end(), approval.reason);
        let event = || permission(approval);
        self.permit(&approval.id, text, "Run it?", event, frontend).await
    }

    pub(super) async fn sampling(&self, sampling: &Sampling, frontend: &dyn Frontend) -> Verdict {
        let server = quoted(&sampling.server);
        let text = || {
            let model = shown(&sampling.model);
            format!("server {server} wants {model} to answer:\n{}", sampling.description.trim_end())
        };
        let event = || Event::Sampling {
            id: sampling.id.clone(),
            server: sampling.server.clone(),
            model: sampling.model.clone(),
            ask: Box::new(sampling.ask.clone()),
        };
        let verdict = self.permit(&sampling.id, text, "Let it?", event, frontend).await;
        if verdict == Verdict::Unavailable {
            let text = format!(
                "server {server} wants the model to answer; nobody can be asked, so it may not: \
                 --yes permits it, --approve stdin lets a program decide"
            );
            self.say_once(&sampling.server, "sampling", text);
        }
        verdict
    }

    async fn permit(
        &self,
        id: &str,
        text: impl Fn() -> String,
        question: &'static str,
        event: impl Fn() -> Event,
        frontend: &dyn Frontend,
    ) -> Verdict {
        #[derive(Deserialize)]
        struct Answer {
            allow: bool,
        }
        match self.who {
            Who::Yes => return Verdict::Allow,
            Who::Deny => return Verdict::Deny,
            Who::Terminal | Who::Stdin => {}
        }
        let mut stdin = self.stdin.lock().await;
        let allowed = if self.who == Who::Stdin {
            frontend.event(&event());
            let form = "{\"id\":…,\"allow\":…}";
            read_answer(&mut stdin, id, form, |Answer { allow }| Ok(allow)).await
        } else {
            question::confirmed(text(), question).await
        };
        match allowed {
            Some(true) => Verdict::Allow,
            Some(false) => Verdict::Deny,
            None => Verdict::Unavailable,
        }
    }

    /// Puts a server's question to whoever is there. `--yes` is no answer to it: it
    /// stands for permissions only.
    pub(super) async fn elicit(&self, asked: &Question, frontend: &dyn Frontend) -> ElicitResult {
        let server = quoted(&asked.server);
        if self.who == Who::Deny {
            let text = format!("server {server} asks something; declined by --deny");
            self.say_once(&asked.server, "elicitation", text);
            return ElicitResult::without_content(ElicitAction::Decline);
        }
        let stdin = self.stdin.lock().await;
        let answer = if self.who == Who::Stdin {
            frontend.event(&Event::Elicitation {
                id: asked.id.clone(),
                server: asked.server.clone(),
                ask: asked.ask.clone(),
            });
            read_elicitation(stdin, asked).await
        } else {
            let question = asked.clone();
            let answered = tokio::task::spawn_blocking(move || elicitation::put(&question));
            let answered = answered.await.ok().flatten();
            drop(stdin);
            answered
        };
        answer.unwrap_or_else(|| {
            let message = match &asked.ask {
                Elicit::Form { message, .. } | Elicit::Url { message, .. } => message.as_str(),
                _ => "",
            };
            let text = format!(
                "server {server} asks {}; nobody can be asked, so it and what else it asks is \
                 cancelled: --approve stdin lets a program answer",
                quoted(message)
            );
            self.say_once(&asked.server, "elicitation", text);
            ElicitResult::without_content(ElicitAction::Cancel)
        })
    }
}

impl From<&PermissionArgs> for Approver {
    fn from(arguments: &PermissionArgs) -> Self {
        let who = match (arguments.yes, arguments.deny, arguments.approve) {
            (true, ..) => Who::Yes,
            (_, true, _) => Who::Deny,
            (.., ApproveArg::Terminal) => Who::Terminal,
            (.., ApproveArg::Stdin) => Who::Stdin,
        };
        let stdin = Mutex::new(BufReader::new(tokio::io::stdin()));
        Self { who, stdin, told: std::sync::Mutex::default() }
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

async fn read_elicitation(
    mut stdin: MutexGuard<'_, BufReader<Stdin>>,
    asked: &Question,
) -> Option<ElicitResult> {
    #[derive(Deserialize)]
    struct Answer {
        action: ElicitAction,
        // A raw value inside of what is flattened cannot be read.
        content: Option<serde_json::Value>,
    }
    let form = "{\"id\":…,\"action\":\"accept\",\"content\":{…}}";
    let take = |Answer { action, content }: Answer| match (action, &asked.form) {
        (ElicitAction::Accept, Some(form)) => {
            let content = content.unwrap_or_else(|| serde_json::json!({})).to_string();
            form.check(&content)?;
            let content = RawValue::from_string(content).map_err(|error| error.to_string())?;
            Ok(ElicitResult::accept(content))
        }
        _ => Ok(ElicitResult::without_content(action)),
    };
    read_answer(&mut stdin, &asked.id, form, take).await
}

/// Reads lines until one answers this question; none at the end of stdin.
async fn read_answer<A: DeserializeOwned, T>(
    stdin: &mut BufReader<Stdin>,
    id: &str,
    form: &str,
    take: impl Fn(A) -> Result<T, String>,
) -> Option<T> {
    #[derive(Deserialize)]
    struct Answer {
        id: String,
    }
    loop {
        let mut line = String::new();
        match stdin.read_line(&mut line).await {
            Ok(n) if n > 0 => {}
            _ => return None,
        }
        let answer = serde_json::from_str::<Answer>(&line);
        let other = answer.as_ref().ok().filter(|answer| answer.id != id);
        if let Some(other) = other {
            print::say(format_args!("warning: nothing was asked about {:?}", other.id));
            continue;
        }
        let taken = answer
            .and_then(|_| serde_json::from_str::<A>(&line))
            .map_err(|error| error.to_string())
            .and_then(&take);
        match taken {
            Ok(taken) => return Some(taken),
            Err(error) => {
                let line = shown(line.trim_end());
                print::say(format_args!(
                    "warning: expected {form}, got {line:?}: {}",
                    shown(&error)
                ));
            }
        }
    }
}
