//! A server's question, at the terminal.

use super::question::Terminal;
use carrick::types::{Elicit, ElicitAction, ElicitResult};
use carrick_host::asks::{Choice, Field, Form, Kind, Page, Question};
use carrick_host::permission::{quoted, visible};
use serde_json::{Map, Value, value::to_raw_value};

/// Choices that are listed; of a longer list this many, and how many more there are.
const LISTED: usize = 30;

/// Puts the question; none when nobody is there, or stays until the end.
pub(super) fn put(question: &Question) -> Option<ElicitResult> {
    let mut terminal = Terminal::open()?;
    match (&question.ask, &question.form, &question.page) {
        (Elicit::Form { message, .. }, Some(form), _) => {
            fill(&mut terminal, &question.server, message, form)
        }
        (Elicit::Url { message, url, .. }, _, Some(page)) => {
            consent(&mut terminal, &question.server, message, url, page)
        }
        // Something that this version does not know.
        _ => Some(ElicitResult::without_content(ElicitAction::Decline)),
    }
}

fn fill(terminal: &mut Terminal, server: &str, message: &str, form: &Form) -> Option<ElicitResult> {
    let declined = || ElicitResult::without_content(ElicitAction::Decline);
    let mut text = asks(server, message);
    for field in form.fields() {
        text.push_str(&format!("\n  - {}", label(field)));
    }
    let first = if form.fields().is_empty() { "Agree?" } else { "Fill it in?" };
    if !terminal.confirm(&text, first)? {
        return Some(declined());
    }
    let mut content = Map::new();
    for field in form.fields() {
        if let Some(value) = value(terminal, field)? {
            content.insert(field.name.clone(), value);
        }
    }
    let content = Value::Object(content);
    if !form.fields().is_empty() {
        let text =
            format!("This goes to server {}: {}", quoted(server), visible(&content.to_string()));
        if !terminal.confirm(&text, "Send it?")? {
            return Some(declined());
        }
    }
    Some(ElicitResult::accept(to_raw_value(&content).ok()?))
}

/// Asks for one field until what is typed fits. `None` inside: it is left out.
#[expect(clippy::option_option, reason = "nobody there, and nothing typed, are two things")]
fn value(terminal: &mut Terminal, field: &Field) -> Option<Option<Value>> {
    let prompt = prompt(field);
    loop {
        let typed = terminal.ask(&prompt)?;
        if typed.trim().is_empty() {
            match &field.default {
                Some(default) => return Some(Some(default.clone())),
                None if !field.required => return Some(None),
                // An empty text may be just what fits.
                None => {}
            }
        }
        match field.parse(&typed) {
            Ok(value) => return Some(Some(value)),
            Err(error) => terminal.say(&visible(&error))?,
        }
    }
}

/// Shows the whole address and asks whether the person will go there. Nothing is
/// opened: that is for the person to do.
fn consent(
    terminal: &mut Terminal,
    server: &str,
    message: &str,
    url: &str,
    page: &Page,
) -> Option<ElicitResult> {
    let mut text = asks(server, message);
    let (url, host) = (visible(url), visible(&page.host));
    text.push_str(&format!("\nIt sends you to this page:\n  {url}\n  at {host}"));
    for doubt in &page.doubts {
        text.push_str(&format!("\n  Careful: {doubt}"));
    }
    text.push_str(
        "\nWhat you do there stays between you and the page. Open it yourself, if you trust it.",
    );
    let action = match terminal.confirm(&text, "Do you agree?")? {
        true => ElicitAction::Accept,
        false => ElicitAction::Decline,
    };
    Some(ElicitResult::without_content(action))
}

/// Who asks, and what; each line of the server's is marked as one.
fn asks(server: &str, message: &str) -> String {
    let lines = message.split('\n').map(|line| format!("\n  | {}", visible(line)));
    format!("server {} asks:{}", quoted(server), lines.collect::<String>())
}

fn label(field: &Field) -> String {
    let mut text = visible(field.title.as_deref().unwrap_or(&field.name));
    text.push_str(&format!(" ({}", kind(&field.kind)));
    text.push_str(if field.required { ")" } else { ", may be left out)" });
    if let Some(description) = &field.description {
        text.push_str(&format!(": {}", visible(description)));
    }
    if let Some(default) = &field.default {
        text.push_str(&format!(" [{}]", default_text(default)));
    }
    text
}

fn prompt(field: &Field) -> String {
    let mut text = label(field);
    if let Kind::One(choices) | Kind::Many(choices) = &field.kind {
        for (n, choice) in (1..).zip(choices.iter().take(LISTED)) {
            text.push_str(&format!("\n  {n}. {}", named(choice)));
        }
        if let Some(more @ 1..) = choices.len().checked_sub(LISTED) {
            text.push_str(&format!("\n  and {more} more"));
        }
    }
    text.push_str("\n> ");
    text
}

fn named(choice: &Choice) -> String {
    match &choice.title {
        Some(title) => format!("{} ({})", visible(title), visible(&choice.value)),
        None => visible(&choice.value),
    }
}

fn default_text(default: &Value) -> String {
    visible(&default.as_str().map_or_else(|| default.to_string(), str::to_owned))
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::Text(None) => "text".into(),
        Kind::Text(Some(format)) => visible(format),
        Kind::Number => "a number".into(),
        Kind::Integer => "a whole number".into(),
        Kind::Boolean => "yes or no".into(),
        Kind::One(_) => "one of a list".into(),
        Kind::Many(_) => "some of a list, divided by commas".into(),
        _ => "JSON".into(),
    }
}
