//! A round with a model that calls tools natively.

use super::calls::Target;
use super::{Done, Event, Round, State, Turn, TurnError, Wanted, own, prompt};
use crate::model::{
    Block, BrokenCall, Event as Said, Model, Request, Role, StopReason, ToolCall, ToolSpec,
};
use carrick_policy::names::ToolRef;
use futures_util::StreamExt;
use serde_json::value::RawValue;
use std::sync::Arc;

/// One answer of the model, taken apart.
#[derive(Default)]
struct Heard {
    text: String,
    blocks: Vec<Block>,
    calls: Vec<Result<ToolCall, BrokenCall>>,
    stop: Option<StopReason>,
}

impl Turn<'_> {
    pub(super) async fn native_round(
        &self,
        model: &Arc<dyn Model>,
        state: &mut State,
    ) -> Result<Round, TurnError> {
        let mut request = Request::new(prompt::native(self.catalog), state.messages.clone());
        request.tools = self.specs();
        let heard = self.listen(model, &request, state).await?;
        if heard.calls.is_empty() {
            let stop = heard.stop.unwrap_or(StopReason::End);
            return Ok(Round::Answered { text: heard.text, stop });
        }
        let wanted = heard.calls.iter().map(|call| self.wanted(call)).collect();
        state.push(Role::Assistant, heard.blocks);
        let done = self.run(state, wanted).await?;
        let results = done.into_iter().zip(&heard.calls);
        let results = results.map(|(done, call)| self.result_block(done, call)).collect();
        state.push(Role::User, results);
        Ok(Round::Called)
    }

    async fn listen(
        &self,
        model: &Arc<dyn Model>,
        request: &Request,
        state: &mut State,
    ) -> Result<Heard, TurnError> {
        let mut heard = Heard::default();
        let mut stream = model.stream(request);
        while let Some(said) = stream.next().await {
            match said? {
                Said::Text(text) => {
                    self.frontend.event(&Event::Text { text: text.clone() });
                    heard.text.push_str(&text);
                    match heard.blocks.last_mut() {
                        Some(Block::Text(last)) => last.push_str(&text),
                        _ => heard.blocks.push(Block::Text(text)),
                    }
                }
                Said::Opaque(opaque) => heard.blocks.push(Block::Opaque(opaque)),
                Said::ToolCall(call) => {
                    heard.blocks.push(Block::ToolCall(call.clone()));
                    heard.calls.push(Ok(call));
                }
                Said::BrokenCall(call) => {
                    let ToolCall { id, name, arguments } = whole(&call);
                    heard.blocks.push(Block::ToolCall(ToolCall { id, name, arguments }));
                    heard.calls.push(Err(call));
                }
                Said::Usage(usage) => state.add(usage),
                Said::Stop(stop) => heard.stop = Some(stop),
                _ => {}
            }
        }
        Ok(heard)
    }

    /// The tools on offer, and the host's own.
    fn specs(&self) -> Vec<ToolSpec> {
        let mut specs: Vec<ToolSpec> = self
            .catalog
            .tools()
            .filter_map(|(server, tool)| {
                let tool_ref = ToolRef { server: server.into(), tool: tool.name.clone() };
                Some(ToolSpec {
                    name: self.catalog.names.exposed(&tool_ref)?.to_owned(),
                    description: tool.description.clone().unwrap_or_default(),
                    input_schema: tool.input_schema.clone(),
                })
            })
            .collect();
        specs.extend(own::specs(self.catalog));
        specs
    }

    fn wanted(&self, call: &Result<ToolCall, BrokenCall>) -> Wanted {
        match call {
            Err(broken) => {
                let ToolCall { id, arguments, .. } = whole(broken);
                Wanted { id, target: Err(format!("not run: {}", broken.problem)), arguments }
            }
            Ok(call) => own::wanted(call).unwrap_or_else(|| Wanted {
                id: call.id.clone(),
                target: self.target(call),
                arguments: call.arguments.clone(),
            }),
        }
    }

    fn target(&self, call: &ToolCall) -> Result<Target, String> {
        match self.catalog.resolve(None, &call.name) {
            Ok(tool) => Ok(Target::Tool(tool.clone())),
            Err(unknown) => Err(format!("not run: {unknown}")),
        }
    }

    fn result_block(&self, done: Done, call: &Result<ToolCall, BrokenCall>) -> Block {
        let name = match call {
            Ok(call) => call.name.clone(),
            Err(broken) => broken.name.clone(),
        };
        Block::ToolResult {
            call_id: done.id,
            name,
            is_error: done.received.is_error,
            content: done.received.parts(self.limits.shown),
        }
    }
}

/// A broken call as the history can hold it.
fn whole(broken: &BrokenCall) -> ToolCall {
    ToolCall {
        id: broken.id.clone(),
        name: broken.name.clone(),
        arguments: RawValue::from_string("{}".into()).unwrap_or_default(),
    }
}
