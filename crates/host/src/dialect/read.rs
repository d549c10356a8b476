//! Finds tool requests in a model's output.

mod native;
#[cfg(test)]
mod tests;

use carrick::proto::xml::decode::{
    Decoded, Decoder, Finish, Form, Forms, Limits, NotRun, Reason, Shown,
};
use serde_json::value::RawValue;

use super::{Ask, Dialect, RouteItem};

/// Members that only a message with tool requests has; JSON that holds one and is broken
/// is worth an error.
const TELLING: [&str; 4] = ["\"tool_calls\"", "\"tool_use\"", "\"function_call\"", "\"tool_name\""];

/// Finds the tool requests in `text`, in order.
///
/// Text that is JSON as a whole (one value, or several in a row) is read as
///
/// - an OpenAI chat completion, one of its messages, or the array of its `tool_calls`;
/// - a response of the OpenAI Responses API, its `output`, or one `function_call` item;
/// - an Anthropic message, its `content`, or one `tool_use` block;
/// - the plain form `{"tool_calls":[{"name":…,"arguments":{…}}]}`, or its array.
///
/// Where such a message holds no native call, its text is searched, as is all text that
/// is not JSON, for the XML form and its neighbours in tags. So the form of the whole
/// text decides: JSON among other text is data that a model repeats as often as a
/// request, and is not run. Of several values in a row, only those after the last one
/// that is not a model's count: those before it have been answered. What was recognised
/// and must not be run is among the result as [`Ask::Refused`].
pub fn read(text: &str) -> Vec<RouteItem> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if !text.starts_with(['{', '[']) {
        return read_text(text, Finish::Ended);
    }
    let values: Result<Vec<&RawValue>, _> =
        serde_json::Deserializer::from_str(text).into_iter().collect();
    let error = match values {
        Ok(values) => return native::read_values(&values),
        Err(error) => error,
    };
    let items = read_text(text, Finish::Ended);
    // One value that is broken or cut off was meant to be the whole input.
    let whole = || {
        let mut values = serde_json::Deserializer::from_str(text).into_iter::<&RawValue>();
        values.next().is_some_and(|first| first.is_err())
    };
    if items.iter().all(is_shown_form)
        && TELLING.iter().any(|member| text.contains(member))
        && (items.is_empty() || whole())
    {
        let reason = Reason::Malformed(format!("the message is not JSON: {error}"));
        return vec![refused(Dialect::Plain, None, NotRun::new(reason))];
    }
    items
}

/// Whether this is JSON that is not run because it is not the whole input.
fn is_shown_form(item: &RouteItem) -> bool {
    matches!(&item.ask, Ask::Refused(NotRun { reason: Reason::Shown(Shown::Form), .. }))
}

/// Requests in prose.
fn read_text(text: &str, finish: Finish) -> Vec<RouteItem> {
    let mut decoder = Decoder::of(Forms::Tagged, Limits::default());
    decoder.push(text);
    decoder.finish(finish);
    std::iter::from_fn(|| decoder.next()).filter_map(RouteItem::from_decoded).collect()
}

impl RouteItem {
    /// What a decoder found, as an item; `None` for text.
    pub fn from_decoded(decoded: Decoded) -> Option<Self> {
        Some(match decoded {
            Decoded::Call(call) => Self {
                dialect: if call.form == Form::Json { Dialect::Plain } else { Dialect::Xml },
                id: call.id,
                ask: Ask::Call {
                    server: call.server,
                    tool: call.tool,
                    arguments: call.arguments,
                    form: call.form,
                },
            },
            Decoded::Resource { server, uri } => {
                Self { dialect: Dialect::Xml, id: None, ask: Ask::Resource { server, uri } }
            }
            Decoded::NotRun(not_run) => {
                let plain = not_run.raw.starts_with('{');
                let dialect = if plain { Dialect::Plain } else { Dialect::Xml };
                refused(dialect, not_run.id.clone(), not_run)
            }
            _ => return None,
        })
    }
}

fn refused(dialect: Dialect, id: Option<String>, not_run: NotRun) -> RouteItem {
    RouteItem { dialect, id, ask: Ask::Refused(not_run) }
}
