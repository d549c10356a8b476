//! Answers of the transport itself.

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};

use carrick_proto::http::{AccessDenied, HeaderMismatch};
use carrick_proto::rpc::{self, Id, ScanError};
use carrick_proto::types::RpcError;

use super::body::Answer;
use super::identify::Denied;

/// Why a request is not served: an HTTP status and a JSON-RPC error.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    id: Option<Id>,
    error: RpcError,
    /// What authorization would help.
    challenge: Option<HeaderValue>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, text: impl Into<String>) -> Self {
        let error = RpcError::new(RpcError::INVALID_REQUEST, text);
        Self { status, id: None, error, challenge: None }
    }

    pub(super) fn bad(text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, text)
    }

    /// Names the request that is refused.
    pub(super) fn of(mut self, id: Option<&Id>) -> Self {
        self.id = id.cloned();
        self
    }

    pub(super) fn with_code(mut self, code: i64) -> Self {
        self.error.code = code;
        self
    }
}

impl From<AccessDenied> for Refusal {
    fn from(denied: AccessDenied) -> Self {
        let status = StatusCode::from_u16(denied.status()).unwrap_or(StatusCode::FORBIDDEN);
        Self::new(status, denied.to_string())
    }
}

impl From<Denied> for Refusal {
    fn from(denied: Denied) -> Self {
        let Denied { status, challenge, text } = denied;
        Self { challenge, ..Self::new(status, text) }
    }
}

impl From<HeaderMismatch> for Refusal {
    fn from(mismatch: HeaderMismatch) -> Self {
        Self::bad(mismatch.to_string()).with_code(HeaderMismatch::CODE)
    }
}

impl From<ScanError> for Refusal {
    fn from(error: ScanError) -> Self {
        Self::bad(error.kind.to_string()).with_code(error.kind.code()).of(error.id.as_ref())
    }
}

impl From<Refusal> for Response<Answer> {
    fn from(refusal: Refusal) -> Self {
        let Refusal { status, id, error, challenge } = refusal;
        let mut body = Vec::new();
        rpc::error_response(&mut body, id.as_ref(), error.code, &error.message, None);
        let mut response = json(status, body.into());
        if let Some(challenge) = challenge {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}

/// A JSON answer. One that says "not now" says when to come back as well.
pub(super) fn json(status: StatusCode, body: Bytes) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static(carrick_proto::http::RETRY_AFTER));
    }
    response
}

/// An answer without a body.
pub(super) fn empty(status: StatusCode) -> Response<Answer> {
    let mut response = Response::new(Answer::Whole(Bytes::new()));
    *response.status_mut() = status;
    response
}

/// 405, naming what the endpoint takes.
pub(super) fn method_not_allowed(sessions: bool) -> Response<Answer> {
    let mut response = empty(StatusCode::METHOD_NOT_ALLOWED);
    let allowed = if sessions { "POST, GET, DELETE" } else { "POST" };
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
