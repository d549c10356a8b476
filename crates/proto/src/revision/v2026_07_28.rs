//! 2026-07-28: stateless; every request says what it speaks.

use super::change::{ANY, Addition, Change, Op, Source, default, refuse};
use super::rebuild::{
    NOT_AN_OBJECT, NOT_COMPLETE, OBJECT_SCHEMAS, OF_A_RESOURCE, OF_NO_OBJECT, URL_ELICITATION,
};
use super::rules::{Lifecycle, Rules};
use super::translate::Part;
use super::v2025_11_25::{self, NO_TASK};
use crate::method::Method::{
    Cancelled, CompletionComplete, ElicitationCreate, Initialize, Message, Progress, PromptsGet,
    PromptsList, PromptsListChanged, ResourcesList, ResourcesListChanged, ResourcesRead,
    ResourcesTemplatesList, ResourcesUpdated, RootsList, SamplingCreateMessage, ToolsCall,
    ToolsList, ToolsListChanged,
};

pub(super) const RULES: Rules = Rules {
    lifecycle: Lifecycle::PerRequest,
    result_type: true,
    cache_hints: true,
    server_info_in_meta: true,
    server_requests: false,
    resource_not_found: -32602,
    mirrored_headers: true,
    http_sessions: false,
    early_close: false,
    status_follows_error: true,
    disconnect_cancels: true,
    ..v2025_11_25::RULES
};

/// `resultType` (SEP-2322), caching hints (SEP-2549), the parties' names in
/// `_meta` (SEP-2575), schemas and structured content of any kind (SEP-2106),
/// and tasks moved out of the core (SEP-2663).
pub(super) const CHANGES: &[Change] = &[
    Change { on: Part::Params(ToolsCall), up: &[Op::Forget("task")], down: RETRIED_DOWN },
    Change {
        on: Part::Result(ToolsCall),
        up: &[TYPE, NO_TASK],
        down: &[COMPLETE_ONLY, NO_TYPE, NO_SERVER, Op::Unstructure(NOT_AN_OBJECT)],
    },
    Change::down(Part::Params(PromptsGet), RETRIED_DOWN),
    Change { on: Part::Result(PromptsGet), up: COMPLETE, down: TYPED },
    Change::down(Part::Params(CompletionComplete), REQUEST_DOWN),
    Change { on: Part::Result(CompletionComplete), up: COMPLETE, down: TYPED },
    Change::down(Part::Params(ToolsList), REQUEST_DOWN),
    Change {
        on: Part::Result(ToolsList),
        up: &[Op::In("tools", &[Op::Each(TOOL_UP)]), TYPE, TTL, SCOPE],
        down: &[
            Op::In("tools", &[Op::Each(TOOL_DOWN)]),
            COMPLETE_ONLY,
            NO_TYPE,
            NO_SERVER,
            NO_TTL,
            NO_SCOPE,
        ],
    },
    Change::down(Part::Params(PromptsList), REQUEST_DOWN),
    Change { on: Part::Result(PromptsList), up: HINTS, down: HINTED },
    Change::down(Part::Params(ResourcesList), REQUEST_DOWN),
    Change { on: Part::Result(ResourcesList), up: HINTS, down: HINTED },
    Change::down(Part::Params(ResourcesTemplatesList), REQUEST_DOWN),
    Change { on: Part::Result(ResourcesTemplatesList), up: HINTS, down: HINTED },
    Change::down(Part::Params(ResourcesRead), RETRIED_DOWN),
    Change { on: Part::Result(ResourcesRead), up: HINTS, down: HINTED },
    Change { on: Part::Params(SamplingCreateMessage), up: SAMPLING_UP, down: SAMPLING_DOWN },
    Change {
        on: Part::Result(SamplingCreateMessage),
        up: &[NO_TASK],
        down: &[Op::In("content", BLOCKS_DOWN)],
    },
    Change { on: Part::Params(ElicitationCreate), up: ELICITATION_UP, down: ELICITATION_DOWN },
    Change::up(Part::Result(ElicitationCreate), &[NO_TASK, Op::Forget("_meta")]),
    Change::up(Part::Params(RootsList), &[Op::In("_meta", &[Op::Forget("progressToken")])]),
    Change::up(Part::Result(RootsList), &[Op::Forget("_meta")]),
    Change {
        on: Part::Params(Cancelled),
        up: &[Op::Require("requestId")],
        down: NOTIFICATION_DOWN,
    },
    Change::down(Part::Params(Progress), NOTIFICATION_DOWN),
    Change::down(Part::Params(Message), NOTIFICATION_DOWN),
    Change::down(Part::Params(ToolsListChanged), NOTIFICATION_DOWN),
    Change::down(Part::Params(PromptsListChanged), NOTIFICATION_DOWN),
    Change::down(Part::Params(ResourcesListChanged), NOTIFICATION_DOWN),
    Change::down(Part::Params(ResourcesUpdated), NOTIFICATION_DOWN),
    // The handshake is gone, but what it says of the parties is still said.
    Change::down(Part::Params(Initialize), &[Op::In("capabilities", CLIENT_DOWN)]),
    Change {
        on: Part::Result(Initialize),
        up: &[Op::In("capabilities", SERVER_UP)],
        down: &[Op::In("capabilities", SERVER_DOWN)],
    },
    Change { on: Part::ClientCapabilities, up: CLIENT_UP, down: CLIENT_DOWN },
    Change { on: Part::ServerCapabilities, up: SERVER_UP, down: SERVER_DOWN },
    Change::up(Part::Error(ToolsCall), &[URL_ERROR]),
    Change::up(Part::Error(PromptsGet), &[URL_ERROR]),
    Change {
        on: Part::Error(ResourcesRead),
        up: &[URL_ERROR, Op::Swap { name: "code", from: "-32002", to: "-32602", given: ANY }],
        down: &[Op::Swap { name: "code", from: "-32602", to: "-32002", given: OF_A_RESOURCE }],
    },
];

// Whatever stood there before there were types said nothing of this.
const TYPE: Op = Op::Put("resultType", "\"complete\"");
// A server that gives no hint has said nothing about keeping its answer.
const TTL: Op = default("ttlMs", "0");
const SCOPE: Op = default("cacheScope", "\"private\"");
const COMPLETE: &[Op] = &[TYPE];
const HINTS: &[Op] = &[TYPE, TTL, SCOPE];

const COMPLETE_ONLY: Op = Op::RefuseIf("resultType", NOT_COMPLETE);
const NO_TYPE: Op = Op::Drop("resultType");
const NO_SERVER: Op = Op::In("_meta", &[Op::Drop("io.modelcontextprotocol/serverInfo")]);
const NO_TTL: Op = Op::Forget("ttlMs");
const NO_SCOPE: Op = Op::Forget("cacheScope");
const TYPED: &[Op] = &[COMPLETE_ONLY, NO_TYPE, NO_SERVER];
const HINTED: &[Op] = &[COMPLETE_ONLY, NO_TYPE, NO_SERVER, NO_TTL, NO_SCOPE];

// What a session says once, each request says here.
const REQUEST_DOWN: &[Op] = &[NO_REQUEST_META];
const NO_REQUEST_META: Op = Op::In(
    "_meta",
    &[
        Op::Drop("io.modelcontextprotocol/protocolVersion"),
        Op::Drop("io.modelcontextprotocol/clientInfo"),
        Op::Drop("io.modelcontextprotocol/clientCapabilities"),
        Op::Drop("io.modelcontextprotocol/logLevel"),
    ],
);
// A retry that is taken for a first try would do things twice.
const RETRIED_DOWN: &[Op] = &[NO_REQUEST_META, refuse("inputResponses"), refuse("requestState")];
const NOTIFICATION_DOWN: &[Op] =
    &[Op::In("_meta", &[Op::Drop("io.modelcontextprotocol/subscriptionId")])];

const TOOL_UP: &[Op] = &[Op::Forget("execution")];
const TOOL_DOWN: &[Op] = &[
    Op::ForgetIf("outputSchema", OF_NO_OBJECT),
    Op::In("inputSchema", SCHEMA_DOWN),
    Op::In("outputSchema", SCHEMA_DOWN),
];
const SCHEMA_DOWN: &[Op] = &[Op::In("properties", &[Op::Each(&[Op::Rebuild(OBJECT_SCHEMAS)])])];
const BLOCKS_DOWN: &[Op] = &[Op::Items(&[Op::Unstructure(NOT_AN_OBJECT)])];

const SAMPLING_UP: &[Op] =
    &[Op::Forget("task"), Op::Forget("_meta"), Op::In("tools", &[Op::Each(TOOL_UP)])];
const SAMPLING_DOWN: &[Op] = &[
    Op::In("tools", &[Op::Each(TOOL_DOWN)]),
    Op::In("messages", &[Op::Each(&[Op::In("content", BLOCKS_DOWN)])]),
];

// The id of an elicitation by URL served its completion notice, which is gone;
// any opaque text will do where one is required.
const ELICITATION_UP: &[Op] =
    &[Op::Forget("task"), Op::Forget("_meta"), Op::Forget("elicitationId")];
const ELICITATION_DOWN: &[Op] =
    &[Op::Add(Addition { name: "elicitationId", value: Source::Of("url"), given: &["url"] })];

const CLIENT_UP: &[Op] = &[Op::Forget("tasks"), Op::In("roots", &[Op::Forget("listChanged")])];
const CLIENT_DOWN: &[Op] = &[Op::Forget("extensions")];
const SERVER_UP: &[Op] = &[Op::Forget("tasks")];
const SERVER_DOWN: &[Op] = &[Op::Forget("extensions")];

// This revision answers `input_required` instead, which is the bridge's work.
const URL_ERROR: Op = Op::RefuseIf("code", URL_ELICITATION);
