//! The body of a response, as it arrives.

use core::fmt;
use core::future::Future;
use core::time::Duration;

use bytes::{Bytes, BytesMut};
use http::uri::Authority;
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::error::{NetError, NetErrorKind};

/// The body of a response: a stream of chunks, cut where the network cut them.
///
/// Dropping it before its end closes the connection; read to its end, the connection is kept
/// for the next request.
pub struct Body {
    incoming: Incoming,
    host: Authority,
    read_timeout: Option<Duration>,
}

impl Body {
    pub(super) fn new(incoming: Incoming, host: Authority, read_timeout: Option<Duration>) -> Self {
        Self { incoming, host, read_timeout }
    }

    /// Waits for the next chunk; `None` is the end of the body. A chunk is never empty and may
    /// end anywhere, also inside a character. Safe to cancel: no bytes are lost.
    ///
    /// # Errors
    ///
    /// [`NetErrorKind::Body`] if the connection breaks or the chunked encoding is malformed,
    /// [`NetErrorKind::Timeout`] after [`read_timeout`](super::Options::read_timeout).
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        loop {
            let next = within(self.read_timeout, self.incoming.frame(), self.host.as_str()).await?;
            let Some(frame) = next else { return Ok(None) };
            let frame = frame
                .map_err(|error| NetError::new(NetErrorKind::Body, self.host.as_str(), error))?;
            // Trailers carry nothing that any caller here uses.
            match frame.into_data() {
                Ok(data) if !data.is_empty() => return Ok(Some(data)),
                _ => {}
            }
        }
    }

    /// Reads the whole body, at most `limit` bytes of it.
    ///
    /// # Errors
    ///
    /// As [`chunk`](Self::chunk); [`NetErrorKind::TooLarge`] as soon as the body, or the length
    /// it announces, exceeds `limit`.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, NetError> {
        let announced = hyper::body::Body::size_hint(&self.incoming).lower();
        if usize::try_from(announced).map_or(true, |announced| announced > limit) {
            return Err(self.too_large(limit));
        }
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        if first.len() > limit {
            return Err(self.too_large(limit));
        }
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut whole = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(chunk) = next {
            if chunk.len() > limit - whole.len() {
                return Err(self.too_large(limit));
            }
            whole.extend_from_slice(&chunk);
            next = self.chunk().await?;
        }
        Ok(whole.freeze())
    }

    fn too_large(&self, limit: usize) -> NetError {
        NetError::plain(
            NetErrorKind::TooLarge,
            self.host.as_str(),
            format!("more than the {limit} bytes allowed"),
        )
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("host", &self.host).finish_non_exhaustive()
    }
}

/// Bounds a wait for the server by `limit`, if there is one.
pub(super) async fn within<F: Future>(
    limit: Option<Duration>,
    wait: F,
    host: &str,
) -> Result<F::Output, NetError> {
    let Some(limit) = limit else { return Ok(wait.await) };
    tokio::time::timeout(limit, wait)
        .await
        .map_err(|_| NetError::plain(NetErrorKind::Timeout, host, format!("silent for {limit:?}")))
}
