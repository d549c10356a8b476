//! Conversations with `interop/models/scripted_model.mjs`: two providers' forms, streamed
//! over HTTP, in both dialects.

use std::process::Command;

use serde_json::{Value, json};

use super::{Expected, verify};
use crate::interop::entries::{Official, carrick, json_lines, servers};
use crate::interop::{Check, Rig, expect, printed};
use crate::served::Served;
use crate::{Result, process};

/// The key that the scripted model wants.
const KEY: &str = "scripted-key";
const PROVIDERS: [&str; 2] = ["openai", "anthropic"];
const DIALECTS: [&str; 2] = ["native", "xml"];

/// What a model asks for, round by round, and what must come of it.
#[derive(Clone, Copy)]
struct Conversation {
    name: &'static str,
    /// The servers; none for those that are there without any config.
    servers: &'static [Official],
    /// The script of the model.
    plan: fn() -> Value,
    calls: &'static [Expected],
    /// A part of the last round's results, which the model repeats.
    answer: &'static str,
}

const CONVERSATIONS: [Conversation; 3] = [
    Conversation {
        name: "tools",
        servers: &[Official::Time, Official::Everything],
        plan: || {
            json!([
                [
                    {"server": "time", "tool": "convert_time", "arguments": {"source_timezone": "Asia/Tokyo", "time": "12:30", "target_timezone": "UTC"}},
                    {"server": "everything", "tool": "echo", "arguments": {"message": "北京 & <b>"}},
                ],
                [{"server": "everything", "tool": "get-sum", "arguments": {"a": 2, "b": 3}}],
            ])
        },
        calls: &[
            Expected { server: "time", tool: "convert_time", result: "03:30" },
            Expected { server: "everything", tool: "echo", result: "Echo: 北京 & <b>" },
            Expected { server: "everything", tool: "get-sum", result: "2 and 3 is 5" },
        ],
        answer: "2 and 3 is 5",
    },
    Conversation {
        name: "resource",
        servers: &[Official::Everything],
        plan: || json!([[{"server": "everything", "uri": "demo://resource/dynamic/text/7"}]]),
        calls: &[Expected { server: "everything", tool: "resources/read", result: "Resource 7" }],
        answer: "Resource 7",
    },
    Conversation {
        name: "builtin",
        servers: &[],
        plan: || {
            json!([[
                {"server": "time", "tool": "convert_time", "arguments": {"source_timezone": "Europe/Paris", "time": "09:00", "target_timezone": "Asia/Tokyo"}},
                {"server": "files", "tool": "search_files", "arguments": {"query": "carrick"}},
            ]])
        },
        calls: &[
            Expected { server: "time", tool: "convert_time", result: "Asia/Tokyo" },
            Expected { server: "files", tool: "search_files", result: "note.txt" },
        ],
        answer: "note.txt",
    },
];

/// Every conversation with every provider in every dialect.
pub(super) fn checks() -> Vec<Check> {
    let mut checks = Vec::new();
    for conversation in CONVERSATIONS {
        for provider in PROVIDERS {
            for dialect in DIALECTS {
                let name = format!("ask/{provider}/{dialect}/{}", conversation.name);
                checks
                    .push(Check::new(name, move |rig| check(rig, conversation, provider, dialect)));
            }
        }
    }
    checks
}

fn check(rig: &Rig, conversation: Conversation, provider: &str, dialect: &str) -> Result<()> {
    let mut model = Command::new("node");
    model
        .arg(process::root().join("interop/models/scripted_model.mjs"))
        .args(["--plan", &(conversation.plan)().to_string()]);
    let (_model, url) = Served::start(&mut model, |line| {
        line.split_once("listening on ").map(|(_, url)| url.trim().to_owned())
    })?;
    let servers = (!conversation.servers.is_empty()).then(|| servers(rig, conversation.servers));
    let mut carrick = carrick(rig, servers.as_ref())?;
    let variables = provider.to_uppercase();
    carrick
        .env(format!("{variables}_BASE_URL"), format!("{url}/v1"))
        .env(format!("{variables}_API_KEY"), KEY)
        .args(["ask", "--yes", "--json", "--dialect", dialect, "Do as you are told"])
        .args(["--model", &format!("{provider}:scripted")]);
    let events = json_lines(&printed(&mut carrick)?)?;
    let answer = verify(&events, conversation.calls)?;
    let text = answer["text"].as_str().unwrap_or_default();
    expect(
        text.starts_with("The tools said: ") && text.contains(conversation.answer),
        &format!("the model was not told {:?}", conversation.answer),
        answer,
    )?;
    let streamed = events.iter().filter(|event| event["type"] == "text").count();
    expect(streamed > 1, "the answer was not streamed", &json!(events))
}
