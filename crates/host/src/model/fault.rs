//! What providers say when they refuse: one reader for every shape of error object.

use serde::Deserialize;
use serde_json::Value;

use super::ModelErrorKind;

/// The longest provider message that is repeated, in characters.
const MESSAGE_CHARS: usize = 600;

/// A failure inside an answer, before the driver adds provider and host.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) kind: ModelErrorKind,
    pub(super) message: String,
    /// The request's parameter that the provider objects to, if it names one.
    pub(super) param: Option<String>,
}

impl Fault {
    pub(super) fn protocol(message: impl Into<String>) -> Self {
        Self { kind: ModelErrorKind::Protocol, message: message.into(), param: None }
    }

    /// Reads the body of an answer with an error status.
    pub(super) fn from_answer(status: u16, body: &[u8]) -> Self {
        let object = serde_json::from_slice::<Value>(body).ok();
        let said = object.as_ref().and_then(Said::in_body).unwrap_or_else(|| Said {
            message: shorten(&String::from_utf8_lossy(body)),
            ..Said::default()
        });
        said.into_fault(Some(status))
    }

    /// Reads an error object that came inside a stream or in place of an answer; `None` if
    /// `object` holds none.
    pub(super) fn in_object(object: &Value) -> Option<Self> {
        Said::in_body(object).map(|said| said.into_fault(None))
    }
}

/// What an error object says, whatever its shape.
#[derive(Debug, Default)]
struct Said {
    message: String,
    class: String,
    code: String,
    param: Option<String>,
}

/// The members of an error object, as OpenAI, Anthropic and their imitators write them.
#[derive(Deserialize)]
struct ErrorObject {
    message: Option<Value>,
    detail: Option<Value>,
    r#type: Option<Value>,
    code: Option<Value>,
    param: Option<Value>,
}

impl Said {
    /// Finds the error in `{"error": {…}}`, `{"error": "…"}`, `{"object": "error", "message": …}`,
    /// `{"type": "error", "message": …}` and `{"detail": …}`.
    fn in_body(body: &Value) -> Option<Self> {
        match body.get("error") {
            Some(Value::String(message)) => {
                return Some(Self { message: shorten(message), ..Self::default() });
            }
            Some(error @ Value::Object(_)) => return Self::from_object(error),
            _ => {}
        }
        let marked = ["object", "type"].iter().any(|key| body.get(key) == Some(&"error".into()));
        let bare = body.get("detail").is_some() && body.as_object()?.len() == 1;
        if (marked && body.get("message").is_some()) || bare {
            Self::from_object(body)
        } else {
            None
        }
    }

    fn from_object(object: &Value) -> Option<Self> {
        let object = ErrorObject::deserialize(object).ok()?;
        let message = object.message.or(object.detail).unwrap_or_default();
        Some(Self {
            message: shorten(&plain(&message)),
            class: object.r#type.as_ref().map(plain).unwrap_or_default(),
            code: object.code.as_ref().map(plain).unwrap_or_default(),
            param: object.param.as_ref().and_then(Value::as_str).map(str::to_owned),
        })
    }

    fn into_fault(self, status: Option<u16>) -> Fault {
        let status = status.or_else(|| self.code.parse().ok());
        let kind = kind_of(&self, status);
        Fault { kind, message: self.message, param: self.param }
    }
}

/// A few telling words first, then the statuses that mean one thing, then the named class.
fn kind_of(said: &Said, status: Option<u16>) -> ModelErrorKind {
    let message = said.message.to_lowercase();
    if NO_TOOLS.iter().any(|words| message.contains(words)) {
        return ModelErrorKind::NoTools;
    }
    if said.code == "insufficient_quota" || message.contains("credit balance is too low") {
        return ModelErrorKind::Quota;
    }
    match status {
        Some(401 | 403) => return ModelErrorKind::Auth,
        Some(402) => return ModelErrorKind::Quota,
        Some(429) => return ModelErrorKind::RateLimited,
        Some(408 | 500..=599) => return ModelErrorKind::Overloaded,
        _ => {}
    }
    let named = |(class, _): &&(&str, ModelErrorKind)| *class == said.class || *class == said.code;
    match CLASSES.iter().find(named) {
        Some((_, kind)) => *kind,
        None if status.is_some() => ModelErrorKind::BadRequest,
        // An unknown error in the middle of a stream is the provider's own.
        None => ModelErrorKind::Overloaded,
    }
}

/// How Ollama, vLLM, llama.cpp and OpenRouter say that a model cannot call tools.
const NO_TOOLS: &[&str] = &[
    "does not support tools",
    "--enable-auto-tool-choice",
    "tools param requires --jinja",
    "no endpoints found that support tool use",
];

/// Error types and codes with a meaning of their own.
const CLASSES: &[(&str, ModelErrorKind)] = &[
    ("authentication_error", ModelErrorKind::Auth),
    ("permission_error", ModelErrorKind::Auth),
    ("invalid_api_key", ModelErrorKind::Auth),
    ("billing_error", ModelErrorKind::Quota),
    ("rate_limit_error", ModelErrorKind::RateLimited),
    ("rate_limit_exceeded", ModelErrorKind::RateLimited),
    ("invalid_request_error", ModelErrorKind::BadRequest),
    ("BadRequestError", ModelErrorKind::BadRequest),
    ("not_found_error", ModelErrorKind::BadRequest),
    ("request_too_large", ModelErrorKind::BadRequest),
    ("overloaded_error", ModelErrorKind::Overloaded),
    ("api_error", ModelErrorKind::Overloaded),
    ("server_error", ModelErrorKind::Overloaded),
    ("timeout_error", ModelErrorKind::Overloaded),
];

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// One line of bounded length; a web page is named, not repeated.
pub(super) fn shorten(text: &str) -> String {
    let text = text.trim();
    if text.starts_with('<') {
        return "a web page came back; is the base URL right?".to_owned();
    }
    let mut line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(MESSAGE_CHARS + 1)
        .collect();
    if line.chars().count() > MESSAGE_CHARS {
        line.pop();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use ModelErrorKind as Kind;

    #[test]
    fn every_shape_of_error_is_read() {
        let cases: &[(u16, &str, Kind, &str)] = &[
            (
                401,
                r#"{"error":{"message":"bad key","type":"invalid_request_error","code":"invalid_api_key"}}"#,
                Kind::Auth,
                "bad key",
            ),
            (
                401,
                r#"{"type":"error","error":{"type":"authentication_error","message":"no"}}"#,
                Kind::Auth,
                "no",
            ),
            (
                429,
                r#"{"error":{"message":"pay","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                Kind::Quota,
                "pay",
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to go on"}}"#,
                Kind::Quota,
                "Your credit balance is too low to go on",
            ),
            (
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#,
                Kind::Overloaded,
                "busy",
            ),
            (
                400,
                r#"{"error":"registry.example/x does not support tools"}"#,
                Kind::NoTools,
                "registry.example/x does not support tools",
            ),
            (
                400,
                r#"{"object":"error","message":"too long","type":"BadRequestError","code":400}"#,
                Kind::BadRequest,
                "too long",
            ),
            (422, r#"{"detail":[{"loc":["body"]}]}"#, Kind::BadRequest, r#"[{"loc":["body"]}]"#),
            (
                502,
                "<html>Bad Gateway</html>",
                Kind::Overloaded,
                "a web page came back; is the base URL right?",
            ),
            (404, "page not found\n", Kind::BadRequest, "page not found"),
            (503, "", Kind::Overloaded, ""),
        ];
        for (status, body, kind, message) in cases {
            let fault = Fault::from_answer(*status, body.as_bytes());
            assert_eq!((&fault.kind, fault.message.as_str()), (kind, *message), "{body}");
        }
    }

    #[test]
    fn a_message_is_shortened_and_made_visible() {
        let said = shorten(&format!("\u{1b}[31m{}", "x".repeat(2 * MESSAGE_CHARS)));
        assert_eq!(said.chars().count(), MESSAGE_CHARS + 1);
        assert!(!said.contains('\u{1b}'));
    }

    #[test]
    fn an_ordinary_object_holds_no_error() {
        for body in [r#"{"choices":[],"error":null}"#, r#"{"detail":"x","id":"y"}"#, "[]"] {
            assert!(Fault::in_object(&serde_json::from_str(body).unwrap()).is_none(), "{body}");
        }
    }
}
