//! One connection, which is driven by whoever waits for it.
//!
//! It has no task of its own: the future of an exchange and then the [`Body`](super::Body) of its
//! answer poll it where they stand. So a request costs no way to another task and back, and a
//! reader that stops makes the server wait.

use core::future::Future;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};
use std::future::poll_fn;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::{Body as _, Frame, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::bell::Bell;

/// What requests and answers travel on.
pub(super) type Wire = MaybeHttpsStream<TokioIo<TcpStream>>;

/// A request as it is sent.
pub(super) type Prepared = Request<Full<Bytes>>;

/// An open connection to one host.
pub(super) struct Connection {
    requests: SendRequest<Full<Bytes>>,
    /// What was asked, until it is given to the wire.
    request: Option<Prepared>,
    bell: Bell,
    /// None once the connection has ended.
    wire: Option<http1::Connection<Wire, Full<Bytes>>>,
}

/// Why there is no answer: with the request, if certainly nothing of it was sent.
pub(super) type Unanswered = TrySendError<Prepared>;

impl Connection {
    /// Begins to speak HTTP on a stream that was just opened.
    pub(super) async fn begin(stream: Wire) -> hyper::Result<Box<Self>> {
        let (requests, wire) = http1::handshake(stream).await?;
        Ok(Box::new(Self { requests, request: None, bell: Bell::new(), wire: Some(wire) }))
    }

    /// Whether the next request can go out: the last exchange is over on both sides.
    pub(super) fn is_free(&self) -> bool {
        self.wire.is_some() && self.requests.is_ready()
    }

    /// Lets it notice that the server has closed it meanwhile; true while it can be used.
    pub(super) fn lives(&mut self) -> bool {
        drive(&mut self.wire, &mut Context::from_waker(Waker::noop()));
        self.is_free()
    }

    /// Takes a request, which goes out when its answer is waited for.
    pub(super) fn ask(&mut self, request: Prepared) {
        self.request = Some(request);
    }

    /// Waits for the answer to what was asked.
    pub(super) async fn answer(&mut self) -> Result<Response<Incoming>, Unanswered> {
        let request = self.request.take().unwrap_or_default();
        let mut answer = pin!(self.requests.try_send_request(request));
        poll_fn(|cx| {
            self.bell.look(cx, |cx| {
                drive(&mut self.wire, cx);
                answer.as_mut().poll(cx)
            })
        })
        .await
    }

    /// Waits for the next part of the body of an answer.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        self.bell.look(cx, |cx| {
            drive(&mut self.wire, cx);
            Pin::new(body).poll_frame(cx)
        })
    }
}

/// Reads and writes what is possible. How a connection ended is told to whoever waits for an
/// answer or a body, so it is not kept.
fn drive(wire: &mut Option<http1::Connection<Wire, Full<Bytes>>>, cx: &mut Context<'_>) {
    if let Some(open) = wire
        && Pin::new(open).poll(cx).is_ready()
    {
        // Dropping it gives a request back that it has not taken.
        *wire = None;
    }
}
