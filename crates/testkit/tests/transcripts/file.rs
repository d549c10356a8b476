//! The format of a transcript, and how JSON is compared with it.

use carrick::proto::revision::Revision;
use serde_json::{Value, json};

/// Stands for any value.
const ANY: &str = "…";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Server,
    Client,
}

pub(crate) struct Transcript {
    pub(crate) name: String,
    pub(crate) guards: String,
    pub(crate) side: Side,
    pub(crate) steps: Vec<Step>,
}

pub(crate) struct Step {
    /// Where in the file, from 1.
    pub(crate) line: usize,
    pub(crate) what: What,
}

pub(crate) enum What {
    /// The client says this; kept as text, since it may be broken on purpose.
    ClientSays(String),
    ServerSays(String),
    Do(String),
}

impl Transcript {
    pub(crate) fn parse(name: &str, text: &str) -> Result<Self, String> {
        let mut lines = (1..).zip(text.lines()).peekable();
        let mut header = |key: &str| {
            let value = lines.next().and_then(|(_, line)| line.strip_prefix(key));
            value.map(|value| value.trim().to_owned()).ok_or(format!("no `{key}`"))
        };
        let guards = header("guards:")?;
        let side = match header("side:")?.as_str() {
            "server" => Side::Server,
            "client" => Side::Client,
            _ => return Err("`side:` is `server` or `client`".into()),
        };
        let mut steps = Vec::new();
        while let Some((line, text)) = lines.next() {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            let mut text = text.to_owned();
            while let Some((_, more)) = lines.next_if(|(_, more)| more.starts_with(' ')) {
                text.push_str(more);
            }
            steps.push(Step {
                line,
                what: what(side, &text).map_err(|e| format!("line {line}: {e}"))?,
            });
        }
        if steps.is_empty() {
            return Err("nothing is said".into());
        }
        Ok(Self { name: name.into(), guards, side, steps })
    }

    /// Where something does not fit, and what this would have guarded.
    pub(crate) fn at(&self, step: &Step) -> String {
        format!("{}:{} (guards: {})", self.name, step.line, self.guards)
    }
}

fn what(side: Side, text: &str) -> Result<What, String> {
    let (mark, rest) = text.split_at_checked(1).unwrap_or_default();
    let rest = rest.trim().replace("$META", &meta().to_string());
    let expected = match (mark, side) {
        (">", Side::Client) | ("<", Side::Server) => true,
        (">" | "<", _) => false,
        ("@", _) => return Ok(What::Do(rest)),
        _ => return Err(format!("{mark:?} is none of > < @ #")),
    };
    if expected {
        serde_json::from_str::<Value>(&rest).map_err(|e| e.to_string())?;
    }
    Ok(if mark == ">" { What::ClientSays(rest) } else { What::ServerSays(rest) })
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": Revision::NEWEST.date(),
        "io.modelcontextprotocol/clientInfo": { "name": "transcript", "version": "0" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// Whether `found` is what `expected` describes.
pub(crate) fn fits(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::String(any), _) if any == ANY => true,
        (Value::Object(expected), Value::Object(found)) => {
            let open = expected.contains_key(ANY);
            let named = expected.iter().filter(|(name, _)| *name != ANY);
            let all = named
                .clone()
                .all(|(name, value)| found.get(name).is_some_and(|there| fits(value, there)));
            all && (open || named.count() == found.len())
        }
        (Value::Array(expected), Value::Array(found)) => {
            expected.len() == found.len() && expected.iter().zip(found).all(|(e, f)| fits(e, f))
        }
        _ => expected == found,
    }
}
