//! Messages from clients.

use std::pin::pin;

use bytes::Bytes;
use futures_util::FutureExt;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use tokio::time::timeout;

use carrick_proto::http::{
    Field as Header, MediaType, MirroredBody, MirroredHeaders, MirroredName, error_status, name,
};
use carrick_proto::method::Method;
use carrick_proto::peer::Lane;
use carrick_proto::revision::Revision;
use carrick_proto::rpc::{self, Field, Kind, Message, ScanError, Scanned};
use carrick_proto::types::RpcError;

use crate::net::Gather;
use crate::server::TransportKind;

use super::super::header;
use super::body::{Answer, Events, Source};
use super::budget::{COUNTED, Full, Purse, Share};
use super::conversation::{Conversation, Frame, Said};
use super::endpoint::{Endpoint, event_stream};
use super::headers::Headers;
use super::mailbox::Outgoing;
use super::origin::Origin;
use super::refusal::{Refusal, empty, json};
use super::session::{First, InUse, NoSession, Session};

/// The lane of a request that is its own conversation.
const ONLY: Lane = Lane::Exchange(0);

impl Endpoint {
    pub(super) async fn post(
        &self,
        origin: &Origin<'_>,
        headers: &Headers<'_>,
        body: Incoming,
    ) -> Result<Response<Answer>, Refusal> {
        check_content(headers)?;
        let accept = headers.accept();
        if !accept.json || !accept.event_stream {
            let text = "Accept must allow application/json and text/event-stream";
            return Err(Refusal::new(StatusCode::NOT_ACCEPTABLE, text));
        }
        let purse = self.purse(origin, headers);
        let bytes = self.read(body, &purse).await?;
        let message = match rpc::scan(bytes, self.options.limits)? {
            Scanned::One(message) => message,
            Scanned::Batch(messages) => {
                return match purse.full() {
                    Some(full) => Err(self.overloaded(full)),
                    None => self.batch(origin, headers, messages).await,
                };
            }
        };
        let id = message.id().cloned();
        if message.kind() == Kind::Request
            && let Some(full) = purse.full()
        {
            return Err(self.overloaded(full).of(id.as_ref()));
        }
        let answered = if self.is_stateless(headers, &message) {
            self.stateless(origin, headers, message).await
        } else {
            self.in_session(origin, headers, message).await
        };
        answered.map_err(|refusal| refusal.of(id.as_ref()))
    }

    /// What a message is counted by: the part of its session, if it is of one.
    fn purse(&self, origin: &Origin<'_>, headers: &Headers<'_>) -> Purse {
        let session = match headers.session_id {
            Header::One(id) => self.sessions.find(id, origin.principal()),
            Header::Absent | Header::Repeated => None,
        };
        session.map_or_else(|| self.budget.whole(), |session| session.purse.clone())
    }

    pub(super) async fn read(&self, body: Incoming, purse: &Purse) -> Result<Bytes, Refusal> {
        let limit = self.options.max_body_bytes;
        let too_large = || {
            let text = format!("a body may have at most {limit} bytes (max_body_bytes)");
            Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, text)
        };
        // What says itself that it is too large need not be waited for.
        if body.size_hint().lower() > limit as u64 {
            return Err(too_large());
        }
        let mut read = pin!(gather(body, limit, purse.share()));
        // A body that is there already needs no timer.
        let read = match read.as_mut().now_or_never() {
            Some(now) => Ok(now),
            None => timeout(self.options.read_timeout, read).await,
        };
        match read {
            Ok(Ok(Read::All(body))) => Ok(body),
            Ok(Ok(Read::TooLarge)) => Err(too_large()),
            Ok(Ok(Read::NoRoom(full))) => Err(self.overloaded(full)),
            Ok(Err(error)) => Err(Refusal::bad(format!("the body could not be read: {error}"))),
            Err(_) => {
                Err(Refusal::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time"))
            }
        }
    }

    /// There is no memory for more.
    fn overloaded(&self, full: Full) -> Refusal {
        if matches!(full, Full::All(_)) {
            self.sessions.relieve();
        }
        let text = format!("{full}; read what has been answered, or try again later");
        Refusal::new(StatusCode::SERVICE_UNAVAILABLE, text).with_code(RpcError::OVERLOADED)
    }

    /// Whether a message brings its own metadata, or should.
    fn is_stateless(&self, headers: &Headers<'_>, message: &Message) -> bool {
        let modern =
            |date: &str| Revision::from_date(date).is_some_and(|revision| !revision.is_legacy());
        let claimed = message.field(Field::MetaProtocolVersion).map(|_| "");
        let header = headers.protocol_version;
        !self.options.sessions || carrick_proto::http::is_stateless(header, claimed, modern)
    }

    /// A message that is its own conversation.
    async fn stateless(
        &self,
        origin: &Origin<'_>,
        headers: &Headers<'_>,
        message: Message,
    ) -> Result<Response<Answer>, Refusal> {
        let version = message.text(Field::MetaProtocolVersion);
        let mirrored = headers.mirrored();
        match message.kind() {
            Kind::Request => {}
            Kind::Notification => {
                // None has an effect here: closing a stream is what cancels.
                mirrored.check_version(version.as_deref())?;
                return Ok(empty(StatusCode::ACCEPTED));
            }
            Kind::Result | Kind::Error => {
                return Err(Refusal::bad("this revision takes no responses from clients"));
            }
        }
        if mirrored.version == Header::Absent && version.is_none() {
            let spoken: Vec<_> = Revision::ALL.iter().map(|revision| revision.date()).collect();
            let text = format!(
                "header {} is missing; this server speaks {}",
                name::PROTOCOL_VERSION,
                spoken.join(", ")
            );
            return Err(Refusal::bad(text).with_code(RpcError::HEADER_MISMATCH));
        }
        let method = message.method_name();
        let name = mirrored_member(&message);
        let name = match &name {
            None => MirroredName::NotMirrored,
            Some(None) => MirroredName::Missing,
            Some(Some(name)) => MirroredName::Is(name),
        };
        mirrored.check(&MirroredBody { version: version.as_deref(), method: &method, name })?;
        self.check_params(headers, &message)?;
        if version.is_none() {
            let text = "_meta needs io.modelcontextprotocol/protocolVersion, a string";
            return Err(Refusal::bad(text).with_code(RpcError::INVALID_PARAMS));
        }
        Ok(self.converse(origin, message).await)
    }

    /// Compares mirrored arguments with those of the call.
    fn check_params(&self, headers: &Headers<'_>, message: &Message) -> Result<(), Refusal> {
        if message.method() != Method::ToolsCall {
            return Ok(());
        }
        let tool = message.text(Field::Name).and_then(|tool| self.service.mirrored(&tool));
        let Some(params) = tool else { return Ok(()) };
        let arguments = message.field(Field::Arguments).unwrap_or(b"null");
        // Arguments that are no object are for the tool to refuse.
        if arguments.first() != Some(&b'{') && arguments != b"null" {
            return Ok(());
        }
        for param in &*params {
            param.check(headers.field(param.header.as_str()), arguments)?;
        }
        Ok(())
    }

    /// Answers a request that is its own conversation. When the client goes, it
    /// is dropped, and the handler with it.
    async fn converse(&self, origin: &Origin<'_>, message: Message) -> Response<Answer> {
        let complete = message
            .field(Field::MetaClientCapabilities)
            .is_some_and(|capabilities| capabilities.first() == Some(&b'{'));
        let limits = self.options.limits;
        let (service, info) = (&*self.service, origin.stateless());
        let mut conversation = Box::new(Conversation::new(
            service,
            info,
            limits,
            self.options.max_calls,
            self.budget.whole(),
        ));
        if message.method() == Method::SubscriptionsListen {
            self.listeners.add(conversation.signals());
        }
        conversation.take(ONLY, origin.frame(Scanned::One(message)));
        let first = origin.socket.lull.within(self.options.quiet, conversation.next()).await;
        let first = match first {
            Some(Said::Message(_, message)) if message.is_last() => {
                return whole(message, |code| error_status(code, true, complete));
            }
            Some(Said::Message(_, message)) => Some(message),
            _ => None,
        };
        let mut events =
            Events::new(Source::Request(conversation), self.options.keep_alive, &self.budget);
        if let Some(message) = &first {
            events.begin_with(0, message);
        }
        event_stream(events.into_answer())
    }

    /// A message of a session, or the one that opens it.
    async fn in_session(
        &self,
        origin: &Origin<'_>,
        headers: &Headers<'_>,
        message: Message,
    ) -> Result<Response<Answer>, Refusal> {
        let version = headers.protocol_version;
        if headers.session_id == Header::Absent
            && message.method() == Method::Initialize
            && message.kind() == Kind::Request
        {
            return self.initialize(origin, version, message);
        }
        let session = self.session(origin, headers)?;
        if message.kind() != Kind::Request {
            let ready = message.method() == Method::Initialized;
            return self.unanswered(&session, origin.frame(Scanned::One(message)), ready).await;
        }
        self.answered(origin, &session, Scanned::One(message)).await
    }

    /// Several messages at once, in a session that has such frames.
    async fn batch(
        &self,
        origin: &Origin<'_>,
        headers: &Headers<'_>,
        messages: Vec<Result<Message, ScanError>>,
    ) -> Result<Response<Answer>, Refusal> {
        let refused = || Refusal::bad("send one message at a time");
        if headers.session_id == Header::Absent {
            return Err(refused());
        }
        let session = self.session(origin, headers)?;
        if !session.batching() {
            return Err(refused());
        }
        let asks = |message: &Result<Message, ScanError>| {
            message.as_ref().map_or(true, |message| message.kind() == Kind::Request)
        };
        let readies = |message: &Message| message.method() == Method::Initialized;
        let ready = messages.iter().flatten().any(readies);
        if !messages.is_empty() && !messages.iter().any(asks) {
            let frame = origin.frame(Scanned::Batch(messages));
            return self.unanswered(&session, frame, ready).await;
        }
        if ready {
            session.client_is_ready();
        }
        self.answered(origin, &session, Scanned::Batch(messages)).await
    }

    /// A frame that asks for nothing.
    async fn unanswered(
        &self,
        session: &Session,
        frame: Frame,
        ready: bool,
    ) -> Result<Response<Answer>, Refusal> {
        let taken = session.take(Lane::Connection, frame).await;
        if ready {
            session.client_is_ready();
        }
        if taken { Ok(empty(StatusCode::ACCEPTED)) } else { Err(ended()) }
    }

    /// A frame that asks for something.
    async fn answered(
        &self,
        origin: &Origin<'_>,
        session: &InUse,
        messages: Scanned,
    ) -> Result<Response<Answer>, Refusal> {
        // What can be resumed is a stream, however quick the answer is: one that
        // is lost on its way could not be asked for again otherwise.
        let resumable = self.sessions.resumable();
        let mut reader =
            match session.ask(origin.frame(messages), resumable).await.ok_or_else(ended)? {
                First::Answer(message) => {
                    return Ok(whole(message, |code| error_status(code, false, true)));
                }
                First::Stream(reader) => reader,
            };
        let first = match resumable {
            true => None,
            false => origin.socket.lull.within(self.options.quiet, reader.next()).await,
        };
        let first = match first {
            Some(Some((_, message))) if message.is_last() => {
                session.lanes.discard(reader.stream());
                return Ok(whole(message, |code| error_status(code, false, true)));
            }
            Some(None) if reader.paused().is_none() => return Err(ended()),
            first => first.flatten(),
        };
        let source = Source::Lane { reader, session: session.clone() };
        let mut events = Events::new(source, self.options.keep_alive, &self.budget);
        events.prime(0);
        if let Some((number, message)) = &first {
            events.begin_with(*number, message);
        }
        Ok(event_stream(events.into_answer()))
    }

    /// Opens a session, unless the engine refuses the handshake.
    fn initialize(
        &self,
        origin: &Origin<'_>,
        version: Header<'_>,
        message: Message,
    ) -> Result<Response<Answer>, Refusal> {
        if version != Header::Absent {
            let headers = MirroredHeaders { version, method: version, name: version };
            headers.check_version(message.text(Field::ProtocolVersion).as_deref())?;
        }
        let full = || {
            Refusal::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "as many sessions are in use as may be open (max_sessions)",
            )
        };
        if !self.sessions.make_room() {
            return Err(full());
        }
        let limits = self.options.limits;
        let (service, info) = (&*self.service, origin.session(TransportKind::Http));
        let mut conversation = Box::new(Conversation::new(
            service,
            info,
            limits,
            self.options.max_calls,
            self.budget.part(self.options.max_session_bytes),
        ));
        conversation.take(ONLY, origin.frame(Scanned::One(message)));
        // The engine itself answers the handshake, at once.
        let Some(Said::Message(_, answer)) = conversation.next().now_or_never() else {
            let text = "the handshake was not answered";
            return Err(Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, text));
        };
        let refused = answer.error.is_some();
        let mut response = whole(answer, |code| error_status(code, false, true));
        if refused || conversation.session().is_none() {
            return Ok(response);
        }
        let session = self.sessions.open(conversation).map_err(|why| match why {
            NoSession::Full => full(),
            NoSession::NoEntropy => Refusal::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "the system gives no random numbers for a session id",
            ),
        })?;
        if let Ok(id) = HeaderValue::from_str(&session.id().to_string()) {
            response.headers_mut().insert(&header::SESSION_ID, id);
        }
        Ok(response)
    }
}

/// What a body came to.
enum Read {
    All(Bytes),
    /// More than its limit.
    TooLarge,
    /// There is no memory for it now.
    NoRoom(Full),
}

/// All of a body. It is counted as it comes: what is only announced takes no memory.
async fn gather(mut body: Incoming, limit: usize, mut share: Share) -> hyper::Result<Read> {
    let mut gather = Gather::new(body.size_hint().lower());
    while let Some(frame) = body.frame().await.transpose()? {
        // Trailers carry nothing that is used here.
        let Ok(chunk) = frame.into_data() else { continue };
        if chunk.len() > limit - gather.len() {
            return Ok(Read::TooLarge);
        }
        let len = gather.len() + chunk.len();
        if len >= COUNTED
            && let Err(full) = share.grow(len)
        {
            return Ok(Read::NoRoom(full));
        }
        gather.push(chunk);
    }
    Ok(Read::All(share.of(gather.finish())))
}

/// Refuses a body that is not JSON, or is compressed: it would be taken for
/// broken JSON.
pub(super) fn check_content(headers: &Headers<'_>) -> Result<(), Refusal> {
    if MediaType::of(headers.content_type) != MediaType::Json {
        let text = "the body must be application/json";
        return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text));
    }
    if !headers.encoded {
        return Ok(());
    }
    let text = "a body may have no Content-Encoding here";
    Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text))
}

/// The member that `Mcp-Name` mirrors, if the method has one; `Some(None)` when
/// the body lacks it.
fn mirrored_member(message: &Message) -> Option<Option<std::borrow::Cow<'_, str>>> {
    let member = match message.method() {
        Method::ToolsCall | Method::PromptsGet => Field::Name,
        Method::ResourcesRead => Field::Uri,
        Method::TasksGet | Method::TasksCancel => Field::TaskId,
        _ => return None,
    };
    Some(message.text(member))
}

fn whole(message: Outgoing, status: impl FnOnce(i64) -> u16) -> Response<Answer> {
    let status = message.error.map_or(200, status);
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    json(status, message.bytes)
}

fn ended() -> Refusal {
    Refusal::new(StatusCode::NOT_FOUND, "the session has ended")
}
