//! A turn on the terminal: the answer on stdout, what happens on stderr.

use super::{Approver, Listener, Written, question};
use crate::exit::Failure;
use crate::print::{self, shown};
use carrick::types::{Elicit, ElicitResult};
use carrick_host::asks::{Question, Sampling};
use carrick_host::permission::{quoted, visible};
use carrick_host::turn::{Approval, Event, Frontend, Proposed, Verdict};
use futures_util::future::BoxFuture;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Characters of a result that are shown while the turn goes on.
const EXCERPT: usize = 600;

pub(crate) struct Terminal {
    approver: Approver,
    written: Written,
    /// Whether the model's text has been streamed, and where it stands.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    streamed: bool,
    /// The matcher is at work: its answer is the result itself.
    matching: bool,
    in_line: bool,
}

impl Terminal {
    pub(crate) fn new(approver: Approver) -> Self {
        Self { approver, written: Written::default(), state: Mutex::default() }
    }

    fn say(&self, colour: &str, text: &str) {
        self.end_line();
        print::say_in(colour, text);
    }

    fn end_line(&self) {
        let mut state = self.state();
        if std::mem::take(&mut state.in_line) {
            self.written.note(print::bytes(b"\n"));
        }
    }

    fn stream(&self, text: &str) {
        let mut state = self.state();
        let text = print::stdout_form(text);
        self.written.note(print::bytes(text.as_bytes()));
        state.streamed = true;
        state.in_line = !text.ends_with('\n');
    }

    /// Whether a result is about to appear on this terminal as the answer.
    fn is_answer(&self) -> bool {
        self.state().matching && std::io::stdout().is_terminal()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer(&self, text: &str) {
        let streamed = self.state().streamed;
        if !streamed {
            self.stream(text);
        }
        self.end_line();
    }
}

impl Frontend for Terminal {
    fn event(&self, event: &Event) {
        match event {
            Event::Text { text } => self.stream(text),
            Event::Call { server, tool, arguments, .. } => {
                let arguments = visible(arguments.get());
                self.say("36", &format!("-> {}/{} {arguments}", visible(server), visible(tool)));
            }
            Event::Result { result, .. } if !result.is_error && self.is_answer() => {}
            Event::Result { result, .. } => {
                let (colour, mark) =
                    if result.is_error { ("31", "<- error: ") } else { ("2", "<- ") };
                self.say(colour, &format!("{mark}{}", excerpt(&shown(&result.text()))));
            }
            Event::Progress { progress, total, message, .. } => {
                let total = total.map(|total| format!("/{total}")).unwrap_or_default();
                let message = message.as_deref().map(visible).unwrap_or_default();
                self.say("2", &format!("   {progress}{total} {message}"));
            }
            Event::Error { server, message } => {
                let server = server
                    .as_deref()
                    .map(|s| format!("server {}: ", quoted(s)))
                    .unwrap_or_default();
                self.say("31", &format!("error: {server}{}", shown(message)));
            }
            Event::Proposal { server, tool, arguments, missing, confident, .. } => {
                self.state().matching = true;
                let arguments = serde_json::Value::from(arguments.clone()).to_string();
                let missing = match missing.is_empty() {
                    true => String::new(),
                    false => format!(", missing {}", missing.join(", ")),
                };
                let mark = if *confident { "*" } else { " " };
                let text = format!("{mark} {server}/{tool} {arguments}{missing}");
                self.say("2", &visible(&text));
            }
            Event::Permission { id, reason, .. } => {
                let text = format!("?  may it run ({reason})? Answer on stdin, for {id:?}");
                self.say("33", &visible(&text));
            }
            Event::Elicitation { id, server, ask } => {
                let (message, wanted) = match ask {
                    Elicit::Form { message, requested_schema } => (message, requested_schema.get()),
                    Elicit::Url { message, url, .. } => (message, url.as_str()),
                    _ => return,
                };
                let text = format!("asks {}: {}", quoted(message), visible(wanted));
                self.say(
                    "33",
                    &format!("?  server {} {text}; answer on stdin, for {id:?}", quoted(server)),
                );
            }
            Event::Sampling { id, server, ask, .. } => {
                let ask = serde_json::to_string(ask).unwrap_or_default();
                let text = format!("wants the model to answer {}", visible(&ask));
                self.say(
                    "33",
                    &format!("?  server {} {text}; answer on stdin, for {id:?}", quoted(server)),
                );
            }
            Event::Answer { text, .. } => self.answer(text),
            _ => {}
        }
    }

    fn approve<'a>(&'a self, approval: &'a Approval) -> BoxFuture<'a, Verdict> {
        self.end_line();
        Box::pin(self.approver.decide(approval, self))
    }

    fn elicit<'a>(&'a self, question: &'a Question) -> BoxFuture<'a, ElicitResult> {
        self.end_line();
        Box::pin(self.approver.elicit(question, self))
    }

    fn permit_sampling<'a>(&'a self, sampling: &'a Sampling) -> BoxFuture<'a, Verdict> {
        self.end_line();
        Box::pin(self.approver.sampling(sampling, self))
    }

    fn choose<'a>(&'a self, proposed: &'a [Proposed]) -> BoxFuture<'a, Option<usize>> {
        if !self.approver.asks_terminal() {
            return Box::pin(std::future::ready(None));
        }
        let complete: Vec<usize> =
            (0..proposed.len()).filter(|&at| proposed[at].proposal.complete).collect();
        let lines: Vec<String> = (1..)
            .zip(&complete)
            .map(|(n, &at)| {
                let arguments = serde_json::Value::from(proposed[at].proposal.arguments.clone());
                format!("{n}. {} {}", proposed[at].tool, visible(&arguments.to_string()))
            })
            .collect();
        Box::pin(async move {
            if lines.is_empty() {
                return None;
            }
            let most = lines.len();
            let asked =
                tokio::task::spawn_blocking(move || question::number(&lines.join("\n"), most));
            asked.await.ok().flatten().and_then(|n| complete.get(n - 1).copied())
        })
    }
}

impl Listener for Terminal {
    fn finish(&self) -> Result<(), Failure> {
        self.written.finish()
    }
}

fn excerpt(text: &str) -> String {
    if text.len() <= EXCERPT {
        return text.trim_end().to_owned();
    }
    let end = text.floor_char_boundary(EXCERPT);
    format!("{} … [{} bytes in all]", &text[..end], text.len())
}
