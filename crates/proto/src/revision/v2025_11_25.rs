//! 2025-11-25: the last revision with sessions. Icons, tasks, tools in
//! sampling, elicitation by URL.

use super::change::{Change, Op, refuse};
use super::rebuild::{
    A_TASK, CHOICES_AS_ENUM, NO_LISTS, NOT_BOOLEAN, NOT_FORM, ONE_BLOCK, ONE_BLOCK_A_MESSAGE,
    TOOLS_AS_TEXT, URL_ONLY,
};
use super::rules::Rules;
use super::translate::Part;
use super::v2025_06_18;
use crate::method::Method::{
    Cancelled, ElicitationCreate, Initialize, PromptsGet, PromptsList, ResourcesList,
    ResourcesTemplatesList, SamplingCreateMessage, ToolsCall, ToolsList,
};

pub(super) const RULES: Rules = Rules { early_close: true, ..v2025_06_18::RULES };

pub(super) const CHANGES: &[Change] = &[
    Change::down(Part::Params(ToolsCall), &[Op::Forget("task")]),
    Change::down(
        Part::Result(ToolsCall),
        &[Op::In("content", &[Op::Each(&[Op::Forget("icons")])]), NO_TASK],
    ),
    Change::down(
        Part::Result(PromptsGet),
        &[Op::In("messages", &[Op::Each(&[Op::In("content", &[Op::Forget("icons")])])])],
    ),
    Change::down(
        Part::Result(ToolsList),
        &[Op::In("tools", &[Op::Each(&[Op::Forget("icons"), Op::Forget("execution")])])],
    ),
    Change::down(Part::Result(PromptsList), &[Op::In("prompts", ICONS)]),
    Change::down(Part::Result(ResourcesList), &[Op::In("resources", ICONS)]),
    Change::down(Part::Result(ResourcesTemplatesList), &[Op::In("resourceTemplates", ICONS)]),
    Change::down(Part::Params(Cancelled), &[Op::Require("requestId")]),
    Change::down(Part::Params(SamplingCreateMessage), SAMPLING_DOWN),
    Change::down(
        Part::Result(SamplingCreateMessage),
        &[Op::In("content", &[Op::Rebuild(ONE_BLOCK)]), NO_TASK],
    ),
    Change::down(Part::Params(ElicitationCreate), ELICITATION_DOWN),
    Change::down(
        Part::Result(ElicitationCreate),
        &[Op::In("content", &[Op::Each(&[Op::Rebuild(NO_LISTS)])]), NO_TASK],
    ),
    Change::down(
        Part::Params(Initialize),
        &[Op::In("capabilities", CLIENT_DOWN), Op::In("clientInfo", INFO_DOWN)],
    ),
    Change::down(
        Part::Result(Initialize),
        &[Op::In("capabilities", SERVER_DOWN), Op::In("serverInfo", INFO_DOWN)],
    ),
    Change::down(Part::ClientCapabilities, CLIENT_DOWN),
    Change::down(Part::ServerCapabilities, SERVER_DOWN),
    Change::down(Part::Implementation, INFO_DOWN),
];

// The answer to a request that was made a task is for whoever made it one.
pub(super) const NO_TASK: Op = Op::RefuseIf("task", A_TASK);

const ICONS: &[Op] = &[Op::Each(&[Op::Forget("icons")])];
const INFO_DOWN: &[Op] =
    &[Op::Forget("description"), Op::Forget("icons"), Op::Forget("websiteUrl")];
const SERVER_DOWN: &[Op] = &[Op::Forget("tasks")];

// `"elicitation": {}` meant forms, and still does; it must not come to mean
// forms where only URLs were meant. The old `includeContext` and tools in
// sampling had no capability of their own.
const CLIENT_DOWN: &[Op] = &[
    Op::Forget("tasks"),
    Op::In("sampling", &[Op::Forget("context"), Op::Forget("tools")]),
    Op::ForgetIf("elicitation", URL_ONLY),
    Op::In("elicitation", &[Op::Drop("form"), Op::Forget("url")]),
];

// A server may offer tools only to a client that can use them, which clients
// of older revisions cannot say; what was said with tools before can be told.
const SAMPLING_DOWN: &[Op] = &[
    refuse("tools"),
    Op::Forget("toolChoice"),
    Op::Forget("task"),
    Op::In(
        "messages",
        &[
            Op::Rebuild(ONE_BLOCK_A_MESSAGE),
            Op::Each(&[Op::Forget("_meta"), Op::In("content", &[Op::Rebuild(TOOLS_AS_TEXT)])]),
        ],
    ),
];

const ELICITATION_DOWN: &[Op] = &[
    Op::RefuseIf("mode", NOT_FORM),
    Op::Drop("mode"),
    Op::Forget("task"),
    Op::In(
        "requestedSchema",
        &[
            Op::Forget("$schema"),
            Op::In(
                "properties",
                &[Op::Each(&[Op::Rebuild(CHOICES_AS_ENUM), Op::ForgetIf("default", NOT_BOOLEAN)])],
            ),
        ],
    ),
];
