//! A message of the model for a server.

use crate::model::{Block, Event, Image, Message, Model, Request, Role, StopReason};
use carrick::types::{ContentBlock, CreateMessage, CreateMessageResult, Role as Speaker, RpcError};
use carrick_policy::visible;
use futures_util::StreamExt;

/// The longest answer, in the model's tokens; a server that wants a longer one gets this.
const MAX_TOKENS: u32 = 8192;

/// Texts longer than this many characters are shown by head and tail.
const LONG: usize = 2000;
const HEAD: usize = 1200;
const TAIL: usize = 400;

/// What the model is sent. Only text and pictures are: the host declares no
/// more.
pub(super) fn request(ask: &CreateMessage) -> Result<Request, RpcError> {
    if ask.uses_tools() {
        return Err(RpcError::invalid_params("this client does not offer sampling with tools"));
    }
    if ask.messages.is_empty() {
        return Err(RpcError::invalid_params("there is no message"));
    }
    let mut messages = Vec::with_capacity(ask.messages.len());
    for message in &ask.messages {
        let role = match message.role {
            Speaker::User => Role::User,
            Speaker::Assistant => Role::Assistant,
        };
        let content: Result<Vec<Block>, RpcError> =
            message.content.blocks().iter().map(block).collect();
        messages.push(Message { role, content: content? });
    }
    let system = ask.system_prompt.clone().unwrap_or_default();
    let mut request = Request::new(system, messages);
    let wanted = u32::try_from(ask.max_tokens).unwrap_or(u32::MAX);
    request.max_tokens = wanted.clamp(1, MAX_TOKENS);
    request.temperature = ask.temperature.map(|temperature| temperature as f32);
    Ok(request)
}

fn block(block: &ContentBlock) -> Result<Block, RpcError> {
    match block {
        ContentBlock::Text { text, .. } => Ok(Block::Text(text.clone())),
        ContentBlock::Image { data, mime_type, .. } => {
            Ok(Block::Image(Image { mime: mime_type.clone(), base64: data.clone() }))
        }
        _ => Err(RpcError::invalid_params("only text and pictures can be sent to the model")),
    }
}

/// What a person must see before the model is sent it. A server cannot forge
/// a line of it: each line of its texts is marked.
pub(super) fn describe(ask: &CreateMessage) -> String {
    let mut shown = String::new();
    if let Some(system) = &ask.system_prompt {
        part(&mut shown, "instructions", system);
    }
    for message in &ask.messages {
        let who = match message.role {
            Speaker::User => "user",
            Speaker::Assistant => "assistant",
        };
        for block in message.content.blocks() {
            match block {
                ContentBlock::Text { text, .. } => part(&mut shown, who, text),
                ContentBlock::Image { data, mime_type, .. } => {
                    let bytes = data.len() / 4 * 3;
                    let kind = visible(mime_type);
                    shown.push_str(&format!("{who}: a picture, {kind}, about {bytes} bytes\n"));
                }
                _ => shown.push_str(&format!("{who}: something that cannot be shown\n")),
            }
        }
    }
    let tokens = ask.max_tokens.min(u64::from(MAX_TOKENS));
    shown.push_str(&format!("at most {tokens} tokens of an answer, which goes to the server\n"));
    shown
}

fn part(shown: &mut String, who: &str, text: &str) {
    shown.push_str(&format!("{who}:\n"));
    let length = text.chars().count();
    let cut = |nth| text.char_indices().nth(nth).map_or(text.len(), |(at, _)| at);
    let (head, tail) = match length > LONG {
        true => (&text[..cut(HEAD)], &text[cut(length - TAIL)..]),
        false => (text, ""),
    };
    lines(shown, head);
    if length > LONG {
        let hidden = length - HEAD - TAIL;
        shown.push_str(&format!("  [{hidden} of {length} characters are not shown]\n"));
        lines(shown, tail);
    }
}

fn lines(shown: &mut String, text: &str) {
    for line in text.split('\n') {
        shown.push_str(&format!("  | {}\n", visible(line)));
    }
}

/// Asks the model; fails with words for the person. The answer ends before the first
/// of the stop sequences.
pub(super) async fn answer(
    model: &dyn Model,
    request: &Request,
    stops: &[String],
) -> Result<CreateMessageResult, String> {
    let (mut text, mut reason) = (String::new(), None);
    let mut stream = model.stream(request);
    while let Some(event) = stream.next().await {
        match event.map_err(|error| error.to_string())? {
            Event::Text(piece) => text.push_str(&piece),
            Event::Stop(stop) => reason = Some(stop),
            _ => {}
        }
        if let Some(at) = first(&text, stops) {
            // Dropping the stream ends the model's work.
            text.truncate(at);
            reason = Some(StopReason::Other("stopSequence".into()));
            break;
        }
    }
    let reason = match reason {
        Some(StopReason::End | StopReason::ToolUse) => "endTurn".to_owned(),
        Some(StopReason::MaxTokens) => "maxTokens".to_owned(),
        Some(StopReason::Refusal) => return Err("it refused to answer".into()),
        Some(StopReason::Other(other)) => other,
        None => return Err("its answer did not end".into()),
    };
    let mut result = CreateMessageResult::text(text, model.name());
    result.stop_reason = Some(reason);
    Ok(result)
}

fn first(text: &str, stops: &[String]) -> Option<usize> {
    stops.iter().filter(|stop| !stop.is_empty()).filter_map(|stop| text.find(&**stop)).min()
}
