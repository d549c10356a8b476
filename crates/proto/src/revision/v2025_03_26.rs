//! 2025-03-26: batches, audio, tool annotations, a capability for completion.

use super::change::{Addition, Change, Op, Source};
use super::rebuild::AUDIO_AS_TEXT;
use super::rules::Rules;
use super::translate::Part;
use super::v2024_11_05;
use crate::method::Method::{
    Initialize, Progress, PromptsGet, SamplingCreateMessage, ToolsCall, ToolsList,
};

pub(super) const RULES: Rules = Rules { batching: true, ..v2024_11_05::RULES };

pub(super) const CHANGES: &[Change] = &[
    Change::down(
        Part::Result(ToolsCall),
        &[Op::In("content", &[Op::Each(&[Op::Rebuild(AUDIO_AS_TEXT)])])],
    ),
    Change::down(Part::Result(PromptsGet), MESSAGES_DOWN),
    Change::down(Part::Params(SamplingCreateMessage), MESSAGES_DOWN),
    Change::down(
        Part::Result(SamplingCreateMessage),
        &[Op::In("content", &[Op::Rebuild(AUDIO_AS_TEXT)])],
    ),
    Change::down(
        Part::Result(ToolsList),
        &[Op::In("tools", &[Op::Each(&[Op::Forget("annotations")])])],
    ),
    Change::down(Part::Params(Progress), &[Op::Forget("message")]),
    Change {
        on: Part::Result(Initialize),
        up: &[Op::In("capabilities", SERVER_UP)],
        down: &[Op::In("capabilities", SERVER_DOWN)],
    },
    Change { on: Part::ServerCapabilities, up: SERVER_UP, down: SERVER_DOWN },
];

const MESSAGES_DOWN: &[Op] =
    &[Op::In("messages", &[Op::Each(&[Op::In("content", &[Op::Rebuild(AUDIO_AS_TEXT)])])])];

// Completion was there before, undeclared: whoever has something to complete
// may be asked, and says so when it cannot.
const SERVER_UP: &[Op] = &[Op::Add(Addition {
    name: "completions",
    value: Source::Text("{}"),
    given: &["prompts", "resources"],
})];
const SERVER_DOWN: &[Op] = &[Op::Drop("completions")];
