//! Servers on this machine: where they are, and which model they have.

use core::time::Duration;

use bytes::Bytes;
use carrick::net::HttpClient;
use http::header::{ACCEPT, AUTHORIZATION};
use http::{HeaderValue, Request};
use serde::Deserialize;

use crate::model::fault::Fault;
use crate::model::{Secret, url};

/// How long a server is waited for that was asked for.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Ollama's port.
const OLLAMA_PORT: &str = "11434";

/// The longest list of models that is read, in bytes.
const LIST_BYTES: usize = 4 << 20;

/// The base URL for `OLLAMA_HOST`, which may lack the scheme, the port or the host, and may
/// name the address a server listens on (`0.0.0.0`), which is no address to call.
pub(super) fn ollama_url(host: &str) -> String {
    let host = host.trim().trim_end_matches('/');
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (authority, path) = match rest.split_once('/') {
        Some((authority, path)) => (authority, format!("/{path}")),
        None => (rest, String::new()),
    };
    // The last colon begins a port unless it stands inside the brackets of an IPv6 address.
    let (name, port) = match authority.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, Some(port)),
        _ => (authority, None),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        name => name,
    };
    match port.filter(|port| !port.is_empty()) {
        Some(port) => format!("{scheme}://{name}:{port}{path}"),
        // A written scheme means its own port, as Ollama has it.
        None if host.contains("://") => format!("{scheme}://{name}{path}"),
        None => format!("{scheme}://{name}:{OLLAMA_PORT}{path}"),
    }
}

/// The first chat model that a server lists at `/v1/models`, or what went wrong.
pub(super) async fn first_model(
    client: &HttpClient,
    base: &str,
    key: Option<&Secret>,
    limit: Duration,
) -> Result<String, String> {
    let asked = tokio::time::timeout(limit, list(client, base, key));
    asked.await.map_err(|_| format!("no answer within {limit:?}"))?
}

async fn list(client: &HttpClient, base: &str, key: Option<&Secret>) -> Result<String, String> {
    let uri = url::endpoint(base, "models")?;
    let mut request = Request::new(Bytes::new());
    *request.uri_mut() = uri;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(key) = key {
        let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose()))
            .map_err(|_| "the key holds characters that no key has".to_owned())?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    let response = client.send(request).await.map_err(|error| error.to_string())?;
    let status = response.status();
    let body = response.into_body().collect(LIST_BYTES).await.map_err(|error| error.to_string())?;
    if !status.is_success() {
        let said = Fault::from_answer(status.as_u16(), &body).message;
        return Err(format!("HTTP {status}: {said}"));
    }
    let models: Models =
        serde_json::from_slice(&body).map_err(|error| format!("not a list of models: {error}"))?;
    // Ollama lists embedding models too, which cannot talk.
    let talks = |model: &Listed| !model.id.to_lowercase().contains("embed");
    let first = models.data.unwrap_or_default().into_iter().find(talks);
    first.map(|model| model.id).ok_or_else(|| "the list holds no chat model".to_owned())
}

#[derive(Deserialize)]
struct Models {
    /// Ollama says `null` when it has none.
    data: Option<Vec<Listed>>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_host_is_read_as_ollama_reads_it() {
        for (host, expected) in [
            ("", "http://127.0.0.1:11434"),
            ("0.0.0.0", "http://127.0.0.1:11434"),
            ("0.0.0.0:8000", "http://127.0.0.1:8000"),
            (":8000", "http://127.0.0.1:8000"),
            ("gpu.lan", "http://gpu.lan:11434"),
            ("gpu.lan:80/", "http://gpu.lan:80"),
            ("[::1]", "http://[::1]:11434"),
            ("[::]:9", "http://[::1]:9"),
            ("http://gpu.lan", "http://gpu.lan"),
            ("https://x.com:1/ollama/", "https://x.com:1/ollama"),
        ] {
            assert_eq!(ollama_url(host), expected, "{host}");
        }
    }
}
