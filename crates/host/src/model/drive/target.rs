//! Where a provider is, how it is called there, and how its failures are told.

use core::time::Duration;

use bytes::Bytes;
use carrick::net::{HttpClient, NetError, NetErrorKind};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Request, Uri};

use crate::model::error::Failure;
use crate::model::fault::Fault;
use crate::model::{ModelError, ModelErrorKind, Secret, url};

/// Bounds of one request to a model.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Limits {
    /// The longest single event of an answer, in bytes. Default: 8 MiB.
    pub event_bytes: usize,
    /// The longest whole answer, in bytes as received. Default: 64 MiB.
    pub answer_bytes: usize,
    /// How often a request is sent again after 429, 5xx or "overloaded". Default: 3.
    pub retries: u32,
    /// The longest wait before sending again; if the provider asks for more, the error is
    /// given out instead. Default: 30 s.
    pub longest_wait: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            event_bytes: 8 << 20,
            answer_bytes: 64 << 20,
            retries: 3,
            longest_wait: Duration::from_secs(30),
        }
    }
}

/// How to reach a provider.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The HTTP client, shared with others. Its read timeout bounds how long a model may be
    /// silent; local models can take minutes before the first word.
    pub client: HttpClient,
    /// The provider's base URL, with or without `/v1` and a slash at the end.
    pub base_url: String,
    /// The key, if the provider wants one.
    pub key: Option<Secret>,
    /// Bounds of each request.
    pub limits: Limits,
}

/// Where a provider is and how it is called there.
#[derive(Debug)]
pub(in crate::model) struct Target {
    pub(in crate::model) provider: &'static str,
    /// What to do when it cannot be reached, and when it refuses the key.
    pub(in crate::model) advice: Advice,
    uri: Uri,
    headers: HeaderMap,
    key: Option<Secret>,
    pub(super) client: HttpClient,
    pub(super) limits: Limits,
}

/// Words for the user, by provider.
#[derive(Clone, Copy, Debug)]
pub(in crate::model) struct Advice {
    pub(in crate::model) unreachable: &'static str,
    pub(in crate::model) auth: &'static str,
}

impl Target {
    /// `authorize` makes the header that carries the key.
    pub(in crate::model) fn new(
        provider: &'static str,
        advice: Advice,
        connection: Connection,
        path: &str,
        authorize: impl FnOnce(&Secret) -> (&'static str, String),
    ) -> Result<Self, ModelError> {
        let refuse = |host: String, kind, message: String| {
            ModelError::from(Failure {
                kind,
                provider,
                host,
                status: None,
                message,
                advice: "",
                retry_after: None,
                source: None,
            })
        };
        let uri = url::endpoint(&connection.base_url, path).map_err(|problem| {
            refuse(
                "base URL".to_owned(),
                ModelErrorKind::BadRequest,
                format!("the base URL is {problem}"),
            )
        })?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        if let Some(key) = &connection.key {
            let (name, value) = authorize(key);
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                let message = "the key holds characters that no key has".to_owned();
                refuse(url::host(&uri), ModelErrorKind::Auth, message)
            })?;
            value.set_sensitive(true);
            headers.insert(name, value);
        }
        let Connection { client, key, limits, .. } = connection;
        Ok(Self { provider, advice, uri, headers, key, client, limits })
    }

    pub(in crate::model) fn with_header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(name, HeaderValue::from_static(value));
        self
    }

    pub(in crate::model) fn host(&self) -> String {
        url::host(&self.uri)
    }

    pub(super) fn request(&self, body: Bytes) -> Request<Bytes> {
        let mut request = Request::new(body);
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = self.headers.clone();
        request
    }

    pub(super) fn failure(&self, fault: Fault) -> Failure {
        let advice = match fault.kind {
            ModelErrorKind::Auth => self.advice.auth,
            ModelErrorKind::Quota => "add credit with the provider, or use another model",
            ModelErrorKind::NoTools => "use the XML dialect (--dialect xml) or another model",
            ModelErrorKind::Unreachable => self.advice.unreachable,
            _ => "",
        };
        Failure {
            kind: fault.kind,
            provider: self.provider,
            host: self.host(),
            status: None,
            // Some servers repeat the key they refuse.
            message: match &self.key {
                Some(key) => fault.message.replace(key.expose(), "[key]"),
                None => fault.message,
            },
            advice,
            retry_after: None,
            source: None,
        }
    }

    pub(super) fn error(&self, fault: Fault) -> ModelError {
        self.failure(fault).into()
    }

    pub(super) fn net_error(&self, source: NetError) -> ModelError {
        let kind = match source.kind() {
            NetErrorKind::TooLarge => ModelErrorKind::Protocol,
            NetErrorKind::InvalidUrl => ModelErrorKind::BadRequest,
            _ => ModelErrorKind::Unreachable,
        };
        let failure = self.failure(Fault { kind, message: source.to_string(), param: None });
        Failure { source: Some(source), ..failure }.into()
    }
}
