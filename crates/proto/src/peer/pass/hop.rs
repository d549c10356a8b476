//! What requests that pass through say of the hop that they take.

use super::{Caller, moved};
use crate::revision::Revision;
use crate::rpc::{Cursor, Field, Id, JsonError, Message, Named, Span, member, of_meta};
use alloc::vec::Vec;

/// The members of `_meta` that belong to one hop.
const HOP: [(Field, &str); 5] = [
    (Field::MetaProgressToken, "progressToken"),
    (Field::MetaProtocolVersion, "io.modelcontextprotocol/protocolVersion"),
    (Field::MetaClientInfo, "io.modelcontextprotocol/clientInfo"),
    (Field::MetaClientCapabilities, "io.modelcontextprotocol/clientCapabilities"),
    (Field::MetaLogLevel, "io.modelcontextprotocol/logLevel"),
];

/// Where `_meta` lies in parameters, and the values in it that belong to one hop.
#[derive(Default)]
pub(in crate::peer) struct MetaAt {
    meta: Option<Span>,
    members: [Option<Span>; HOP.len()],
}

impl MetaAt {
    /// In the body of a message that was not changed.
    pub(in crate::peer) fn of_message(message: &Message) -> Self {
        let start = message.body_span().map_or(0, Span::start);
        let at = |field| message.span(field).map(|span| moved(span, start));
        Self { meta: at(Field::Meta), members: HOP.map(|(field, _)| at(field)) }
    }

    /// In parameters that have no message any more.
    pub(in crate::peer) fn of_text(params: &[u8]) -> Self {
        let mut found = Self::default();
        let Some(meta) = member(params, "_meta") else { return found };
        found.meta = Some(meta.value);
        // What is not an object has no members.
        let _ = found.read(params, meta.value);
        found
    }

    fn read(&mut self, params: &[u8], meta: Span) -> Result<(), JsonError> {
        let mut cursor = Cursor::scanned(&params[meta.range()]);
        let mut more = cursor.open(b'{', b'}')?;
        while more {
            let key = cursor.key()?;
            let name = cursor.name(key);
            let value = cursor.value()?;
            let known = HOP.iter().position(|(field, _)| of_meta(&name) == Named::Field(*field));
            if let Some(at) = known {
                self.members[at] =
                    Some(Span::new(meta.start() + value.start(), meta.start() + value.end()));
            }
            more = cursor.more(b'}')?;
        }
        Ok(())
    }
}

/// What the next hop is told in `_meta`, in the order of [`HOP`]; none leaves
/// what is there.
#[derive(Clone, Copy, Default)]
pub(in crate::peer) struct HopMeta<'a>([Option<Said<'a>>; HOP.len()]);

#[derive(Clone, Copy)]
enum Said<'a> {
    Number(u64),
    /// One of the protocol's own words.
    Word(&'static str),
    Json(&'a str),
}

impl Said<'_> {
    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Number(number) => Id::Number(number as i64).write(out),
            Self::Word(word) => {
                out.push(b'"');
                out.extend_from_slice(word.as_bytes());
                out.push(b'"');
            }
            Self::Json(text) => out.extend_from_slice(text.as_bytes()),
        }
    }
}

impl<'a> HopMeta<'a> {
    /// What a request says on the way to a server of `to`; `token` is ours, for
    /// a call whose sender gave one.
    pub(in crate::peer) fn new(
        token: Option<u64>,
        from: Revision,
        to: Revision,
        caller: &'a Caller,
    ) -> Self {
        let token = token.map(Said::Number);
        if to.is_legacy() || from == to {
            return Self([token, None, None, None, None]);
        }
        let version = Some(Said::Word(to.date()));
        if !from.is_legacy() {
            return Self([token, version, None, None, None]);
        }
        let info = caller.info.as_deref().map(Said::Json);
        let capabilities = Some(Said::Json(caller.capabilities.as_deref().unwrap_or("{}")));
        let log = caller.log.map(|level| Said::Word(level.name()));
        Self([token, version, info, capabilities, log])
    }

    /// About how much it adds.
    pub(in crate::peer) fn len(&self) -> usize {
        let said =
            self.0.iter().zip(HOP).filter_map(|(said, (_, name))| Some((*said.as_ref()?, name)));
        said.map(|(said, name)| match said {
            Said::Json(text) => name.len() + text.len() + 4,
            Said::Number(_) | Said::Word(_) => name.len() + 24,
        })
        .sum()
    }

    /// Appends `params` with this in their `_meta` and more members in front.
    ///
    /// `extra` is `"name":value` pairs joined by commas, or empty.
    pub(in crate::peer) fn write(
        &self,
        params: &[u8],
        at: &MetaAt,
        extra: &[u8],
        out: &mut Vec<u8>,
    ) {
        let mut from = Rest { text: params, at: 0 };
        let is_new = self.fresh(at).next().is_some();
        if !extra.is_empty() || (is_new && at.meta.is_none()) {
            let open = params.iter().position(|byte| *byte == b'{').unwrap_or_default();
            from.copy(open + 1, out);
            out.extend_from_slice(extra);
            if is_new && at.meta.is_none() {
                if !extra.is_empty() {
                    out.push(b',');
                }
                out.extend_from_slice(b"\"_meta\":{");
                self.push_fresh(at, out);
                out.push(b'}');
            }
            from.go_on_with_members(out);
        }
        match at.meta {
            Some(meta) if params.get(meta.start()) == Some(&b'{') => {
                if is_new {
                    from.copy(meta.start() + 1, out);
                    self.push_fresh(at, out);
                    from.go_on_with_members(out);
                }
                self.replace(&mut from, at, out);
            }
            // A `_meta` that is no object says nothing that could be kept.
            Some(meta) if is_new => {
                from.copy(meta.start(), out);
                out.push(b'{');
                self.push_fresh(at, out);
                out.push(b'}');
                from.at = meta.end();
            }
            _ => {}
        }
        from.copy(params.len(), out);
    }

    /// The members that are not there yet.
    fn fresh(&self, at: &MetaAt) -> impl Iterator<Item = (&'static str, Said<'a>)> {
        let all = self.0.iter().zip(&at.members).zip(HOP);
        all.filter_map(|((said, place), (_, name))| {
            place.is_none().then_some(())?;
            Some((name, (*said)?))
        })
    }

    fn push_fresh(&self, at: &MetaAt, out: &mut Vec<u8>) {
        for (n, (name, said)) in self.fresh(at).enumerate() {
            if n > 0 {
                out.push(b',');
            }
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            said.write(out);
        }
    }

    /// Writes what is there already anew, each in its place.
    fn replace(&self, from: &mut Rest<'_>, at: &MetaAt, out: &mut Vec<u8>) {
        let mut places = [None; HOP.len()];
        for ((place, span), said) in places.iter_mut().zip(&at.members).zip(&self.0) {
            *place = span.zip(*said);
        }
        places.sort_unstable_by_key(|place| place.map(|(span, _)| span.start()));
        for (span, said) in places.into_iter().flatten() {
            from.copy(span.start(), out);
            said.write(out);
            from.at = span.end();
        }
    }
}

/// What is still to be copied of some text.
struct Rest<'a> {
    text: &'a [u8],
    at: usize,
}

impl Rest<'_> {
    fn copy(&mut self, to: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.text[self.at..to]);
        self.at = to;
    }

    /// Puts a comma behind new members, if others follow.
    fn go_on_with_members(&self, out: &mut Vec<u8>) {
        if self.text[self.at..].trim_ascii_start().first() != Some(&b'}') {
            out.push(b',');
        }
    }
}
