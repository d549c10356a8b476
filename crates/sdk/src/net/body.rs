//! The body of a response, as it arrives.

use core::fmt;
use core::future::Future;
use core::task::{Context, Poll, ready};
use core::time::Duration;
use std::future::poll_fn;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use hyper::body::{Body as _, Frame, Incoming};

use super::connection::Connection;
use super::error::{NetError, NetErrorKind};
use super::gather::Gather;
use super::pool::Host;

/// The body of a response: a stream of chunks, cut where the network cut them.
///
/// Dropping it before its end closes the connection; read to its end, the connection is kept
/// for the next request.
pub struct Body {
    incoming: Incoming,
    /// None once the body is read and the connection is given back.
    connection: Option<Box<Connection>>,
    host: Arc<Host>,
    read_timeout: Option<Duration>,
    /// How it is coded, if that cannot be undone.
    coding: Option<Box<str>>,
}

/// How a body is coded, where it is: `Content-Encoding` other than `identity`.
pub(super) fn coding(headers: &HeaderMap) -> Option<Box<str>> {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    let coding = codings.find(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))?;
    let coding = String::from_utf8_lossy(coding.as_bytes());
    Some(coding[..coding.floor_char_boundary(CODING)].into())
}

/// The longest name of a coding that is repeated, in bytes.
const CODING: usize = 40;

impl Body {
    pub(super) fn new(
        incoming: Incoming,
        coding: Option<Box<str>>,
        connection: Box<Connection>,
        host: Arc<Host>,
        read_timeout: Option<Duration>,
    ) -> Self {
        let mut body = Self { incoming, connection: Some(connection), host, read_timeout, coding };
        body.release();
        body
    }

    /// Gives the connection back if the whole body has been read.
    fn release(&mut self) {
        if self.incoming.is_end_stream()
            && let Some(connection) = self.connection.take_if(|connection| connection.is_free())
        {
            self.host.give_back(connection);
        }
    }

    fn poll_frame(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Some(connection) = &mut self.connection else { return Poll::Ready(None) };
        let frame = ready!(connection.poll_frame(&mut self.incoming, cx));
        match frame {
            // Of a body without a length only this says that it is over.
            None => {
                if let Some(connection) = self.connection.take() {
                    self.host.give_back(connection);
                }
            }
            Some(_) => self.release(),
        }
        Poll::Ready(frame)
    }

    /// Waits for the next chunk; `None` is the end of the body. A chunk is never empty and may
    /// end anywhere, also inside a character. Safe to cancel: no bytes are lost.
    ///
    /// # Errors
    ///
    /// [`NetErrorKind::Body`] if the connection breaks or the chunked encoding is malformed,
    /// [`NetErrorKind::Timeout`] after [`read_timeout`](super::Options::read_timeout), and
    /// [`NetErrorKind::Coding`] if the server has coded what was asked for as it is.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, NetError> {
        loop {
            let next = within(self.read_timeout, poll_fn(|cx| self.poll_frame(cx))).await;
            let next = next.map_err(|silence| silence.of(self.host.name()))?;
            let Some(frame) = next else { return Ok(None) };
            if let Some(coding) = &self.coding {
                let detail = format!("Content-Encoding {coding:?}, which was not asked for");
                return Err(NetError::plain(NetErrorKind::Coding, self.host.name(), detail));
            }
            let frame = frame
                .map_err(|error| NetError::new(NetErrorKind::Body, self.host.name(), error))?;
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
        let announced = self.incoming.size_hint().lower();
        if usize::try_from(announced).map_or(true, |announced| announced > limit) {
            return Err(self.too_large(limit));
        }
        let mut gather = Gather::new(announced);
        while let Some(chunk) = self.chunk().await? {
            if chunk.len() > limit - gather.len() {
                return Err(self.too_large(limit));
            }
            gather.push(chunk);
        }
        Ok(gather.finish())
    }

    fn too_large(&self, limit: usize) -> NetError {
        NetError::plain(
            NetErrorKind::TooLarge,
            self.host.name(),
            format!("more than the {limit} bytes allowed"),
        )
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("host", &self.host.name()).finish_non_exhaustive()
    }
}

/// A server was silent for so long.
pub(super) struct Silence(Duration);

impl Silence {
    pub(super) fn of(self, host: &str) -> NetError {
        NetError::plain(NetErrorKind::Timeout, host, format!("silent for {:?}", self.0))
    }
}

/// Bounds a wait for the server by `limit`, if there is one.
pub(super) async fn within<F: Future>(
    limit: Option<Duration>,
    wait: F,
) -> Result<F::Output, Silence> {
    let Some(limit) = limit else { return Ok(wait.await) };
    tokio::time::timeout(limit, wait).await.map_err(|_| Silence(limit))
}
