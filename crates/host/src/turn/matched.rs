//! A turn without a model: the built-in matcher.

use super::calls::{Calls, Target};
use super::event::Tokens;
use super::{Done, Event, Frontend, TurnError, Wanted};
use crate::matcher::{Context, Index, Proposal, Proposals, ToolView};
use crate::registry::{Catalog, Registry};
use carrick_policy::Policy;
use carrick_policy::names::ToolRef;
use serde_json::value::to_raw_value;

/// The matcher's name where a model's stands.
const NAME: &str = "builtin:match";

/// A tool that the matcher proposes for a question.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proposed {
    /// The tool.
    pub tool: ToolRef,
    /// What the question gives it.
    pub proposal: Proposal,
}

/// Why the matcher gave no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MatchError {
    /// No tool has enough in common with the question.
    #[error("no tool fits the question")]
    NoTool,
    /// The best tool lacks arguments, or others fit as well.
    #[error("{0}")]
    Unclear(String),
    /// The call could not be permitted or made.
    #[error(transparent)]
    Turn(#[from] TurnError),
}

/// The tools that may answer `question`, best first, with each told as an event.
pub fn propose(
    catalog: &Catalog,
    frontend: &dyn Frontend,
    question: &str,
    context: &Context,
) -> Vec<Proposed> {
    let tools: Vec<_> = catalog.tools().collect();
    let views: Vec<ToolView<'_>> = tools
        .iter()
        .map(|(server, tool)| {
            let description = tool.description.as_deref().unwrap_or_default();
            ToolView::new(server, &tool.name, description, tool.input_schema.get())
        })
        .collect();
    let Proposals { best, .. } = Index::new(&views).propose(question, context);
    best.into_iter()
        .map(|proposal| {
            let (server, tool) = tools[proposal.tool];
            frontend.event(&Event::Proposal {
                server: server.into(),
                tool: tool.name.clone(),
                arguments: proposal.arguments.clone(),
                missing: proposal.missing.iter().map(|m| m.name.clone()).collect(),
                score: proposal.score,
                confident: proposal.confident,
            });
            let tool = ToolRef { server: server.into(), tool: tool.name.clone() };
            Proposed { tool, proposal }
        })
        .collect()
}

/// Finds the tool for `question`, runs it where that is clear and permitted,
/// and gives its raw result.
///
/// # Errors
/// When no tool fits, when it is not clear which or with what, and when the
/// call may not run.
pub async fn ask_matcher(
    registry: &Registry,
    catalog: &Catalog,
    policy: &Policy,
    frontend: &dyn Frontend,
    question: &str,
    context: &Context,
) -> Result<Done, MatchError> {
    let proposed = propose(catalog, frontend, question, context);
    let Some(best) = proposed.first() else { return Err(MatchError::NoTool) };
    let best = if best.proposal.confident {
        best
    } else {
        let chosen = frontend.choose(&proposed).await.and_then(|at| proposed.get(at));
        chosen
            .filter(|chosen| chosen.proposal.complete)
            .ok_or_else(|| MatchError::Unclear(unclear(&proposed)))?
    };
    let calls = Calls { registry, catalog, policy, frontend };
    let arguments = to_raw_value(&best.proposal.arguments).unwrap_or_default();
    let target = Ok(Target::Tool(best.tool.clone()));
    let wanted = Wanted { id: "call_1".into(), target, arguments };
    let mut done = calls.run(vec![wanted]).await?;
    let Some(done) = done.pop() else { return Err(MatchError::NoTool) };
    if done.ran {
        frontend.event(&Event::Answer {
            text: done.received.text(),
            model: NAME.into(),
            usage: Tokens::default(),
        });
    }
    Ok(done)
}

fn unclear(proposed: &[Proposed]) -> String {
    let Some(best) = proposed.first() else { return String::new() };
    let missing: Vec<String> = best
        .proposal
        .missing
        .iter()
        .map(|m| match m.description.is_empty() {
            true => m.name.clone(),
            false => format!("{} ({})", m.name, m.description),
        })
        .collect();
    if missing.is_empty() && proposed.len() == 1 {
        return format!("{} may be meant, but the question does not say so clearly", best.tool);
    }
    if missing.is_empty() {
        let names: Vec<String> = proposed.iter().map(|p| p.tool.to_string()).collect();
        return format!("it is not clear which tool is meant: {}", names.join(", "));
    }
    format!("{} is missing: {}", best.tool, missing.join(", "))
}
