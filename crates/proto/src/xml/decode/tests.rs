//! The decoder as a whole.

mod cases;
mod data;
mod forms;
mod hostile;
mod shown;

use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, fs};

use super::*;

/// Everything found in `text`, with neighbouring pieces of text joined.
fn decode_pieces<'a>(pieces: impl IntoIterator<Item = &'a str>, finish: Finish) -> Vec<Decoded> {
    let mut decoder = Decoder::new(Limits::default());
    let mut found = Vec::new();
    let mut take = |decoder: &mut Decoder| {
        while let Some(decoded) = decoder.next() {
            match (found.last_mut(), decoded) {
                (Some(Decoded::Text(before)), Decoded::Text(text)) => before.push_str(&text),
                (_, decoded) => found.push(decoded),
            }
        }
    };
    for piece in pieces {
        decoder.push(piece);
        take(&mut decoder);
    }
    decoder.finish(finish);
    take(&mut decoder);
    found
}

fn decode(text: &str) -> Vec<Decoded> {
    decode_pieces([text], Finish::Ended)
}

/// One line for each thing found that is not text.
fn outline(found: &[Decoded]) -> Vec<String> {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".to_string());
    found
        .iter()
        .filter_map(|decoded| match decoded {
            Decoded::Text(_) => None,
            Decoded::Call(call) => {
                Some(format!("{}/{} {}", name(&call.server), call.tool, call.arguments.get()))
            }
            Decoded::Resource { server, uri } => Some(format!("{} {uri}", name(server))),
            Decoded::NotRun(refused) => Some(refused.to_string()),
        })
        .collect()
}

fn found(text: &str) -> Vec<String> {
    outline(&decode(text))
}

fn text_of(found: &[Decoded]) -> String {
    found
        .iter()
        .filter_map(|d| if let Decoded::Text(text) = d { Some(text.as_str()) } else { None })
        .collect()
}

fn one_call(text: &str) -> Call {
    match <[Decoded; 1]>::try_from(decode(text)) {
        Ok([Decoded::Call(call)]) => call,
        other => panic!("{text}: {other:?}"),
    }
}

/// A request of `docs/write`.
fn call(arguments: &str) -> String {
    format!(
        "<use_mcp_tool>\n<server_name>docs</server_name>\n<tool_name>write</tool_name>\n\
         <arguments>\n{arguments}\n</arguments>\n</use_mcp_tool>"
    )
}

fn case(path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/handed/");
    fs::read_to_string(format!("{root}{path}")).unwrap()
}
