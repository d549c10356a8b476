//! Which revision a request is made in, and the handshake of sessions.

use super::batch::Place;
use super::{ServerOutput, ServerPeer, Session, ask};
use crate::method::Method;
use crate::peer::brief;
use crate::revision::{Part, Revision};
use crate::rpc::{self, Field, Id, Message};
use crate::types::{LogLevel, RpcError};
use alloc::format;
use alloc::vec::Vec;
use bytes::Bytes;
use serde::Serialize;

impl ServerPeer {
    /// Which revision a request is made in, by what it says or by the session.
    pub(super) fn revision_of(&self, message: &Message) -> Result<Revision, RpcError> {
        let stateless = self.identity.newest(false).is_some();
        if stateless && message.field(Field::MetaProtocolVersion).is_some() {
            return self.modern_revision(message);
        }
        if message.method() == Method::Initialize {
            return Ok(Revision::NEWEST_HANDSHAKE);
        }
        if let Some(session) = &self.session {
            let early = matches!(message.method(), Method::Ping | Method::LoggingSetLevel);
            if session.ready || early {
                return Ok(session.revision);
            }
            return Err(RpcError::new(
                RpcError::INVALID_REQUEST,
                "the session is not ready: send notifications/initialized first",
            ));
        }
        if message.method() == Method::Ping {
            return Ok(Revision::NEWEST_HANDSHAKE);
        }
        let how = match (stateless, self.identity.newest(true)) {
            (true, Some(_)) => {
                "send initialize first, or put io.modelcontextprotocol/protocolVersion into _meta"
            }
            (true, None) => "put io.modelcontextprotocol/protocolVersion into _meta",
            (false, _) => "send initialize first",
        };
        Err(RpcError::invalid_params(format!(
            "no protocol version: {how}; this server speaks {}",
            self.identity.supported().join(", "),
        )))
    }

    pub(super) fn initialize(
        &mut self,
        place: Place,
        message: &Message,
        id: Id,
    ) -> Result<(), (Id, RpcError)> {
        if self.session.is_some() {
            let error = RpcError::new(
                RpcError::INVALID_REQUEST,
                "this session is initialized already; open another connection instead",
            );
            return Err((id, error));
        }
        let Some(asked) = message.text(Field::ProtocolVersion) else {
            let error = RpcError::invalid_params("initialize needs params.protocolVersion");
            return Err((id, error));
        };
        let known = Revision::from_date(&asked);
        let spoken = known.filter(|r| r.is_legacy() && self.identity.speaks(*r));
        let Some(revision) = spoken.or(self.identity.newest(true)) else {
            let text = "this server has no sessions: every request says what it speaks";
            return Err((id, self.unsupported(&asked, text)));
        };
        let version = format!("\"protocolVersion\":\"{revision}\"");
        let said = Bytes::copy_from_slice(&self.identity.initialize);
        let said = match self.older(said, Part::Result(Method::Initialize), revision) {
            Ok(said) => said,
            Err(error) => return Err((id, error)),
        };
        let client = ask::Client::of(message);
        self.session = Some(Session { client, revision, ready: false, log: LogLevel::Info });
        self.out.push_back(ServerOutput::Opened(revision));
        let mut out = Vec::new();
        rpc::result_response_with(&mut out, &id, &said, version.as_bytes());
        self.send(place, out);
        Ok(())
    }

    pub(super) fn set_level(
        &mut self,
        place: Place,
        message: &Message,
        id: Id,
    ) -> Result<(), (Id, RpcError)> {
        let level = log_level(message, Field::Level);
        let (Some(session), Some(level)) = (&mut self.session, level) else {
            return Err((id, RpcError::invalid_params("params.level is not a log level")));
        };
        session.log = level;
        self.out.push_back(ServerOutput::LevelSet(level));
        self.reply(place, &id, b"{}");
        Ok(())
    }

    /// The revision that a request with per-request metadata names.
    fn modern_revision(&self, message: &Message) -> Result<Revision, RpcError> {
        let Some(asked) = message.text(Field::MetaProtocolVersion) else {
            return Err(RpcError::invalid_params("the protocol version in _meta must be a string"));
        };
        let level = message.field(Field::MetaLogLevel);
        if level.is_some() && log_level(message, Field::MetaLogLevel).is_none() {
            return Err(RpcError::invalid_params("the log level in _meta is none of the eight"));
        }
        let known = Revision::from_date(&asked);
        let Some(revision) = known.filter(|r| !r.is_legacy() && self.identity.speaks(*r)) else {
            let text = format!("protocol version {:?} is not supported per request", {
                brief(asked.as_bytes())
            });
            return Err(self.unsupported(&asked, &text));
        };
        let capabilities = message.field(Field::MetaClientCapabilities);
        if capabilities.is_none_or(|json| json.first() != Some(&b'{')) {
            return Err(RpcError::invalid_params(
                "_meta needs io.modelcontextprotocol/clientCapabilities, an object",
            ));
        }
        Ok(revision)
    }

    /// The error for a revision that the server does not speak, or not in this
    /// way; it names those that it does.
    fn unsupported(&self, asked: &str, text: &str) -> RpcError {
        #[derive(Serialize)]
        struct Data<'a> {
            supported: Vec<&'static str>,
            requested: &'a str,
        }
        let data = Data { supported: self.identity.supported(), requested: asked };
        RpcError::new(RpcError::UNSUPPORTED_VERSION, text).with_data(&data)
    }
}

pub(super) fn log_level(message: &Message, field: Field) -> Option<LogLevel> {
    message.text(field).and_then(|name| LogLevel::from_name(&name))
}
