//! 2026-07-28: stateless; every request says what it speaks.

use super::change::{Change, Op};
use super::rules::{Lifecycle, Rules};
use super::translate::Part;
use super::v2025_11_25;
use crate::method::Method::{
    CompletionComplete, PromptsGet, PromptsList, ResourcesList, ResourcesRead,
    ResourcesTemplatesList, ToolsCall, ToolsList,
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
    status_follows_error: true,
    disconnect_cancels: true,
    ..v2025_11_25::RULES
};

/// `resultType` (SEP-2322), caching hints (SEP-2549), the server's name in
/// `_meta`, and tasks moved out of the core (so `execution` left the tool).
pub(super) const CHANGES: &[Change] = &[
    Change { on: Part::Result(ToolsCall), up: COMPLETE, down: TYPED },
    Change { on: Part::Result(PromptsGet), up: COMPLETE, down: TYPED },
    Change { on: Part::Result(CompletionComplete), up: COMPLETE, down: TYPED },
    Change { on: Part::Result(ToolsList), up: TOOLS_UP, down: HINTED },
    Change { on: Part::Result(PromptsList), up: HINTS, down: HINTED },
    Change { on: Part::Result(ResourcesList), up: HINTS, down: HINTED },
    Change { on: Part::Result(ResourcesTemplatesList), up: HINTS, down: HINTED },
    Change { on: Part::Result(ResourcesRead), up: HINTS, down: HINTED },
];

const COMPLETE: &[Op] = &[Op::Default("resultType", "\"complete\"")];
const TYPED: &[Op] = &[
    Op::Untype,
    Op::Drop(&["_meta", "io.modelcontextprotocol/serverInfo"]),
];
// A server that gives no hint has said nothing about keeping its answer.
const HINTS: &[Op] = &[
    Op::Default("resultType", "\"complete\""),
    Op::Default("ttlMs", "0"),
    Op::Default("cacheScope", "\"private\""),
];
const HINTED: &[Op] = &[
    Op::Untype,
    Op::Forget(&["ttlMs"]),
    Op::Forget(&["cacheScope"]),
    Op::Drop(&["_meta", "io.modelcontextprotocol/serverInfo"]),
];
const TOOLS_UP: &[Op] = &[
    Op::Forget(&["tools", "*", "execution"]),
    Op::Default("resultType", "\"complete\""),
    Op::Default("ttlMs", "0"),
    Op::Default("cacheScope", "\"private\""),
];
