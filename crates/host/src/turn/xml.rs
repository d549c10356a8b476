//! A round with a model that asks for tools in text.

use super::calls::Target;
use super::content::within;
use super::{Done, Event, Round, State, Turn, TurnError, Wanted, outcome, own, prompt};
use crate::dialect::{
    Content, Dialect, Outcome, ResourceSummary, ServerSummary, Status, ToolSummary, fit, render,
    teach,
};
use crate::model::{Block, Event as Said, Message, Model, Request, Role, StopReason};
use crate::registry::ServerTools;
use carrick::proto::xml::decode::{
    Call, Decoded, Decoder, Finish, Form, Forms, Limits, NotRun, Reason, Shown,
};
use futures_util::StreamExt;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Said once to a model that has only shown how to ask.
const ONLY_SHOWN: &str = "\nIf you meant to show the form and not to use it, you are done: give \
your answer once more as it is to be read.\n";

/// Bytes of a request that is only shown which are part of the answer.
const EXCERPT: usize = 64 << 10;

/// What one block in the text asks for, as it was written.
struct Asked {
    /// Whether the text shows the request and does not make it.
    shown: bool,
    server: Option<String>,
    tool: Option<String>,
    uri: Option<String>,
}

/// One answer of the model, taken apart.
#[derive(Default)]
struct Heard {
    /// All of it, blocks included.
    raw: String,
    /// What stands outside of blocks.
    text: String,
    asked: Vec<(Asked, Wanted)>,
    stop: Option<StopReason>,
}

impl Turn<'_> {
    pub(super) async fn xml_round(
        &self,
        model: &Arc<dyn Model>,
        state: &mut State,
    ) -> Result<Round, TurnError> {
        let request = Request::new(prompt::taught(&self.lesson()), state.messages.clone());
        let heard = self.hear(model, &request, state).await?;
        let shows = heard.asked.iter().all(|(asked, _)| asked.shown);
        if shows && (heard.asked.is_empty() || std::mem::replace(&mut state.told_shown, true)) {
            let stop = heard.stop.unwrap_or(StopReason::End);
            return Ok(Round::Answered { text: heard.text, stop });
        }
        state.push(Role::Assistant, vec![Block::Text(heard.raw)]);
        let (asked, wanted): (Vec<_>, Vec<_>) = heard.asked.into_iter().unzip();
        let done = self.run(state, wanted).await?;
        let outcomes: Vec<Outcome> =
            asked.into_iter().zip(done).map(|(asked, done)| self.outcome(asked, done)).collect();
        let mut text = render(Dialect::Xml, &outcomes);
        if shows {
            text.push_str(ONLY_SHOWN);
        }
        state.messages.push(Message::user(text));
        Ok(Round::Called)
    }

    fn outcome(&self, asked: Asked, done: Done) -> Outcome {
        let status = if done.ran { Status::Success } else { Status::NotRun };
        let Asked { server, tool, uri, .. } = asked;
        let mut outcome = outcome(None, server, tool, uri, status, done.received);
        let long = outcome.structured.take_if(|json| json.get().len() > self.limits.shown);
        // The text beside it usually says the same.
        if let (true, Some(json)) = (outcome.content.is_empty(), long) {
            outcome.content.push(Content::Text(json.get().to_owned()));
        }
        outcome.content = within(outcome.content, self.limits.shown);
        outcome
    }

    fn lesson(&self) -> String {
        let servers: Vec<ServerSummary> = self
            .catalog
            .servers
            .iter()
            .map(|server| ServerSummary {
                name: server.server.clone(),
                instructions: prompt::instructions(server).unwrap_or_default(),
                has_resources: server.has_resources(),
                resources: resources(server),
            })
            .collect();
        let tools: Vec<ToolSummary> = self
            .catalog
            .tools()
            .map(|(server, tool)| ToolSummary {
                server: server.into(),
                name: tool.name.clone(),
                description: tool.description.clone().unwrap_or_default(),
                input_schema: tool.input_schema.get().into(),
            })
            .chain(own::taught(self.catalog))
            .collect();
        teach(&servers, &tools)
    }

    async fn hear(
        &self,
        model: &Arc<dyn Model>,
        request: &Request,
        state: &mut State,
    ) -> Result<Heard, TurnError> {
        let mut heard = Heard::default();
        let mut limits = Limits::default();
        limits.excerpt = EXCERPT;
        // What it was not taught may be data that it repeats.
        let mut decoder = Decoder::of(Forms::Taught, limits);
        let mut stream = model.stream(request);
        while let Some(said) = stream.next().await {
            match said? {
                Said::Text(text) => {
                    heard.raw.push_str(&text);
                    decoder.push(&text);
                    self.take(&mut decoder, &mut heard, state);
                }
                Said::Usage(usage) => state.add(usage),
                Said::Stop(stop) => heard.stop = Some(stop),
                _ => {}
            }
        }
        let cut = matches!(heard.stop, Some(StopReason::MaxTokens));
        decoder.finish(if cut { Finish::Cut } else { Finish::Ended });
        self.take(&mut decoder, &mut heard, state);
        Ok(heard)
    }

    fn take(&self, decoder: &mut Decoder, heard: &mut Heard, state: &State) {
        while let Some(decoded) = decoder.next() {
            let id = format!("call_{}", state.calls as usize + heard.asked.len() + 1);
            match decoded {
                Decoded::Text(text) => self.say(heard, text),
                Decoded::Call(call) => heard.asked.push(self.call_asked(id, call)),
                Decoded::Resource { server, uri } => {
                    heard.asked.push(self.resource_asked(id, server, uri));
                }
                Decoded::NotRun(mut refused) => {
                    // What is only shown is part of what the model says. All but this has
                    // come as text already.
                    if refused.reason == Reason::Shown(Shown::Prose) {
                        self.say(heard, std::mem::take(&mut refused.raw));
                    }
                    heard.asked.push(refused_asked(id, refused));
                }
                _ => {}
            }
        }
    }

    fn say(&self, heard: &mut Heard, text: String) {
        heard.text.push_str(&text);
        self.frontend.event(&Event::Text { text });
    }

    fn call_asked(&self, id: String, call: Call) -> (Asked, Wanted) {
        let server = call.server.as_deref();
        if let Some(own) = own::taught_call(self.catalog, server, &call.tool, &call.arguments) {
            let (target, arguments) = match own {
                Ok((target, arguments)) => (Ok(target), arguments),
                Err(error) => (Err(error), call.arguments),
            };
            let asked =
                Asked { shown: false, server: call.server, tool: Some(call.tool), uri: None };
            return (asked, Wanted { id, target, arguments });
        }
        let target = self.catalog.resolve(call.server.as_deref(), &call.tool);
        let arguments = match (&target, call.form) {
            (Ok(tool), Form::Function) => match self.catalog.find(&tool.server, &tool.tool) {
                Some(tool) => fit(&call.arguments, tool.input_schema.get()),
                None => call.arguments,
            },
            _ => call.arguments,
        };
        let target = match target {
            Ok(tool) => Ok(Target::Tool(tool.clone())),
            Err(unknown) => Err(format!("not run: {unknown}")),
        };
        let asked = Asked { shown: false, server: call.server, tool: Some(call.tool), uri: None };
        (asked, Wanted { id, target, arguments })
    }

    fn resource_asked(&self, id: String, server: Option<String>, uri: String) -> (Asked, Wanted) {
        let names: Vec<&str> = self.catalog.servers.iter().map(|s| s.server.as_str()).collect();
        let target = match &server {
            Some(server) if names.contains(&server.as_str()) => {
                Ok(Target::Resource { server: server.clone(), uri: uri.clone() })
            }
            Some(server) => Err(format!(
                "not run: there is no server {server:?}; there are {}",
                names.join(", ")
            )),
            None => Err("not run: name the server in <server_name>".to_owned()),
        };
        let asked = Asked { shown: false, server, tool: None, uri: Some(uri) };
        (asked, Wanted { id, target, arguments: nothing() })
    }
}

/// What the server lists, and the templates of what it does not.
fn resources(server: &ServerTools) -> Vec<ResourceSummary> {
    let offers = &server.offers;
    let listed = offers.resources.iter().map(|resource| ResourceSummary {
        uri: resource.uri.clone(),
        name: resource.name.clone(),
        description: resource.description.clone().unwrap_or_default(),
    });
    let templates = offers.templates.iter().map(|template| ResourceSummary {
        uri: template.uri_template.clone(),
        name: template.name.clone(),
        description: template.description.clone().unwrap_or_default(),
    });
    listed.chain(templates).collect()
}

fn refused_asked(id: String, refused: NotRun) -> (Asked, Wanted) {
    let target = Err(refused.to_string());
    let shown = matches!(refused.reason, Reason::Shown(_));
    let asked = Asked { shown, server: refused.server, tool: refused.tool, uri: refused.uri };
    (asked, Wanted { id, target, arguments: nothing() })
}

fn nothing() -> Box<RawValue> {
    RawValue::from_string("{}".into()).unwrap_or_default()
}
