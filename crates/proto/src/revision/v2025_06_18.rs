//! 2025-06-18: structured tool output, resource links, elicitation, titles; no
//! batches any more.

use super::change::{ANY, Change, Op};
use super::rebuild::LINK_AS_TEXT;
use super::rules::Rules;
use super::translate::Part;
use super::v2025_03_26;
use crate::method::Method::{
    CompletionComplete, Initialize, PromptsGet, PromptsList, ResourcesList, ResourcesRead,
    ResourcesTemplatesList, RootsList, SamplingCreateMessage, ToolsCall, ToolsList,
};

pub(super) const RULES: Rules =
    Rules { batching: false, version_header: true, ..v2025_03_26::RULES };

pub(super) const CHANGES: &[Change] = &[
    Change::down(
        Part::Result(ToolsCall),
        &[Op::In("content", &[Op::Each(BLOCK_DOWN)]), Op::Unstructure(ANY)],
    ),
    Change::down(Part::Result(PromptsGet), MESSAGES_DOWN),
    Change::down(Part::Params(SamplingCreateMessage), MESSAGES_DOWN),
    Change::down(Part::Result(SamplingCreateMessage), &[Op::In("content", BLOCK_DOWN)]),
    Change::down(
        Part::Result(ToolsList),
        &[Op::In(
            "tools",
            &[Op::Each(&[Op::Forget("title"), Op::Forget("outputSchema"), Op::Forget("_meta")])],
        )],
    ),
    Change::down(
        Part::Result(PromptsList),
        &[Op::In(
            "prompts",
            &[Op::Each(&[
                Op::Forget("title"),
                Op::Forget("_meta"),
                Op::In("arguments", &[Op::Each(&[Op::Forget("title")])]),
            ])],
        )],
    ),
    Change::down(Part::Result(ResourcesList), &[Op::In("resources", &[Op::Each(RESOURCE_DOWN)])]),
    Change::down(
        Part::Result(ResourcesTemplatesList),
        &[Op::In("resourceTemplates", &[Op::Each(RESOURCE_DOWN)])],
    ),
    Change::down(
        Part::Result(ResourcesRead),
        &[Op::In("contents", &[Op::Each(&[Op::Forget("_meta")])])],
    ),
    Change::down(Part::Result(RootsList), &[Op::In("roots", &[Op::Each(&[Op::Forget("_meta")])])]),
    Change::down(
        Part::Params(CompletionComplete),
        &[Op::Forget("context"), Op::In("ref", &[Op::Forget("title")])],
    ),
    Change::down(
        Part::Params(Initialize),
        &[Op::In("capabilities", CLIENT_DOWN), Op::In("clientInfo", INFO_DOWN)],
    ),
    Change::down(Part::Result(Initialize), &[Op::In("serverInfo", INFO_DOWN)]),
    Change::down(Part::ClientCapabilities, CLIENT_DOWN),
    Change::down(Part::Implementation, INFO_DOWN),
];

const MESSAGES_DOWN: &[Op] = &[Op::In("messages", &[Op::Each(&[Op::In("content", BLOCK_DOWN)])])];
const BLOCK_DOWN: &[Op] = &[
    Op::Rebuild(LINK_AS_TEXT),
    Op::Forget("_meta"),
    Op::In("annotations", ANNOTATIONS_DOWN),
    Op::In("resource", &[Op::Forget("_meta")]),
];
const RESOURCE_DOWN: &[Op] =
    &[Op::Forget("title"), Op::Forget("_meta"), Op::In("annotations", ANNOTATIONS_DOWN)];
const ANNOTATIONS_DOWN: &[Op] = &[Op::Forget("lastModified")];
const CLIENT_DOWN: &[Op] = &[Op::Forget("elicitation")];
const INFO_DOWN: &[Op] = &[Op::Forget("title")];
