//! Answers that hold no response: what status, headers and body say of the reason.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, Uri};
use serde::Deserialize;

use carrick_proto::http::{Field, MediaType, Verdict, probe_verdict};
use carrick_proto::peer::LaneEnd;
use carrick_proto::text::excerpt;

use crate::net::Body;

use super::headers::{resolve, same_origin};
use super::{Link, retry};

/// Longest part of an error's body that is read as text, in bytes.
pub(super) const ERROR_TEXT: usize = 4 * 1024;

/// Longest part of foreign text in a message, in bytes.
const SHOWN: usize = 200;

/// What the head of an answer says.
pub(super) struct Facts {
    status: u16,
    challenge: Option<String>,
    pub(super) media: MediaType,
    content_type: Option<String>,
    redirect: Option<String>,
    later: Option<Duration>,
}

impl Facts {
    /// Of the answer to a message that was sent to `url`.
    pub(super) fn of(response: &Response<Body>, url: &Uri) -> Self {
        let status = response.status().as_u16();
        let content_type = response.headers().get(CONTENT_TYPE).map(shown);
        let redirected = matches!(status, 300..=399);
        Self {
            status,
            challenge: matches!(status, 401 | 403).then(|| challenge(response)).flatten(),
            media: media_type(response),
            content_type,
            redirect: redirected.then(|| redirect(response, url)).flatten(),
            later: retry::asked_for(response),
        }
    }

    /// How the exchange ended. `is_first` says that nobody has ever answered at this address.
    pub(super) fn end(self, body: &[u8], is_first: bool) -> LaneEnd {
        let fall_back = probe_verdict(self.status, self.media, body) == Verdict::FallBack;
        let mut reasons: Vec<String> = self.reason(is_first).into_iter().collect();
        match said(self.media, body) {
            // A page that the wrong address has says nothing.
            Some(_) if self.status < 400 => {}
            Some(said) => reasons.insert(0, said),
            None => {}
        }
        let body = reasons.join("; ");
        LaneEnd::Status { status: self.status, challenge: self.challenge, body, fall_back }
    }

    /// What the status means here, and what to do.
    fn reason(&self, is_first: bool) -> Option<String> {
        match self.status {
            200..=299 if self.media != MediaType::Other => {
                Some("what came is not the response to this request".into())
            }
            200..=299 => Some(match &self.content_type {
                Some(named) => format!(
                    "the answer is of the type {named:?}, where application/json or \
                     text/event-stream must be; is this the address of an MCP server?"
                ),
                None => "the answer names no type (Content-Type), where application/json or \
                         text/event-stream must be"
                    .into(),
            }),
            300..=399 => self.redirect.clone(),
            404 if is_first => {
                Some("nothing speaks MCP at this path; most servers use /mcp".into())
            }
            405 if is_first => Some(
                "nothing takes messages at this path; most servers use /mcp, and the address of \
                 an event stream is one of type sse"
                    .into(),
            ),
            429 | 503 => {
                self.later.map(|later| format!("it asks to come back in {} s", later.as_secs()))
            }
            _ => None,
        }
    }
}

/// Reads an answer whose status says that the exchange failed: how it ended, and the body, if it
/// is JSON.
pub(super) async fn refusal(
    link: &Link,
    response: Response<Body>,
    url: &Uri,
    is_first: bool,
) -> (LaneEnd, Bytes) {
    let facts = Facts::of(&response, url);
    let read = match facts.media {
        MediaType::Json => response.into_body().collect(link.options.max_message_bytes).await,
        _ => text_of(response).await,
    };
    match read {
        Ok(body) if facts.media == MediaType::Json => (facts.end(&body, is_first), body),
        Ok(text) => (facts.end(&text, is_first), Bytes::new()),
        Err(error) => {
            // The status still says most.
            let facts = Facts { media: MediaType::Other, ..facts };
            (facts.end(error.to_string().as_bytes(), is_first), Bytes::new())
        }
    }
}

pub(super) fn media_type(response: &Response<Body>) -> MediaType {
    let values = response.headers().get_all(CONTENT_TYPE);
    MediaType::of(Field::from_values(values.iter().map(HeaderValue::as_bytes)))
}

/// The start of a body that is only shown to people.
///
/// # Errors
///
/// When nothing of it can be read.
pub(super) async fn text_of(response: Response<Body>) -> Result<Bytes, crate::net::NetError> {
    let mut body = response.into_body();
    let mut text = Vec::new();
    while text.len() < ERROR_TEXT {
        match body.chunk().await {
            Ok(Some(chunk)) => text.extend_from_slice(&chunk),
            Err(error) if text.is_empty() => return Err(error),
            Ok(None) | Err(_) => break,
        }
    }
    text.truncate(ERROR_TEXT);
    Ok(text.into())
}

/// Foreign text, cut between two characters.
fn brief(text: &str) -> String {
    excerpt(text, SHOWN).into_owned()
}

fn shown(value: &HeaderValue) -> String {
    brief(&String::from_utf8_lossy(value.as_bytes()))
}

fn challenge(response: &Response<Body>) -> Option<String> {
    let values = response.headers().get_all(WWW_AUTHENTICATE);
    let all: Vec<_> = values.iter().filter_map(|value| value.to_str().ok()).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

/// Where a redirect leads, and why it was not followed.
fn redirect(response: &Response<Body>, url: &Uri) -> Option<String> {
    let location = response.headers().get(LOCATION)?;
    let target = location.to_str().ok().and_then(|location| resolve(url, location));
    let Some(target) = target else {
        return Some(format!("the server redirects to {:?}, which is no address", shown(location)));
    };
    let named = brief(&address(&target));
    Some(match same_origin(&target, url) {
        true => format!("the server redirects to {named}; use that address"),
        false => format!(
            "the server redirects to {named}, where the headers of this one would go; if you \
             trust it, use that address"
        ),
    })
}

/// An address without what may be a secret.
fn address(uri: &Uri) -> String {
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{}://{host}{}", uri.scheme_str().unwrap_or("http"), uri.path())
}

/// What the body of an error says for people: the message of JSON, the first line of text, and
/// nothing of a page.
fn said(media: MediaType, body: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&body[..body.len().min(ERROR_TEXT)]);
    let text = text.trim();
    if media == MediaType::Json || text.starts_with(['{', '[']) {
        return message(body).map(|message| brief(message.trim()));
    }
    if text.starts_with('<') || media == MediaType::EventStream {
        return None;
    }
    text.lines().next().map(brief)
}

/// The message in an error's JSON, in the shapes that servers give it.
fn message(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Shapes {
        error: Option<Inner>,
        error_description: Option<String>,
        message: Option<String>,
        detail: Option<Inner>,
    }
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Inner {
        Text(String),
        Object { message: String },
        Other(serde::de::IgnoredAny),
    }
    let text = |inner| match inner {
        Inner::Text(text) | Inner::Object { message: text } => Some(text),
        Inner::Other(_) => None,
    };
    let Shapes { error, error_description, message, detail } = serde_json::from_slice(body).ok()?;
    error_description.or(message).or(error.and_then(text)).or(detail.and_then(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f28_of_a_body_only_what_is_meant_for_people_is_said() {
        let json = |body: &str| said(MediaType::Json, body.as_bytes());
        assert_eq!(json(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#), None);
        assert_eq!(json(r#"{"error":{"code":-1,"message":"no"}}"#).as_deref(), Some("no"));
        assert_eq!(json(r#"{"error":"invalid_token"}"#).as_deref(), Some("invalid_token"));
        let described = r#"{"error":"invalid_token","error_description":"expired"}"#;
        assert_eq!(json(described).as_deref(), Some("expired"));
        assert_eq!(json(r#"{"detail":"Not Found"}"#).as_deref(), Some("Not Found"));
        assert_eq!(json(r#"{"error":7,"message":"m"}"#).as_deref(), Some("m"));
        assert_eq!(json("[1]"), None);
        assert_eq!(json("{"), None);
        let text = |body: &str| said(MediaType::Other, body.as_bytes());
        assert_eq!(text("<html>no</html>"), None);
        assert_eq!(text(r#"{"result":{}}"#), None, "JSON of any type");
        assert_eq!(text("busy\nstack\n").as_deref(), Some("busy"));
        assert_eq!(text(" \n"), None);
    }

    #[test]
    fn f47_foreign_text_is_cut_between_characters() {
        let text = "é".repeat(150);
        let cut = brief(&text);
        assert_eq!(cut, "é".repeat(100) + "…");
        assert_eq!(brief(&"é".repeat(100)), "é".repeat(100));
        let odd = format!("a{text}");
        assert_eq!(brief(&odd), format!("a{}…", "é".repeat(99)));
        assert!(
            !said(MediaType::Other, "界".repeat(3000).as_bytes()).unwrap().contains('\u{fffd}')
        );
    }

    #[test]
    fn f28_an_address_is_named_without_secrets() {
        let uri: Uri = "https://u:p@h.example:8/a/b?token=x".parse().unwrap();
        assert_eq!(address(&uri), "https://h.example:8/a/b");
    }
}
