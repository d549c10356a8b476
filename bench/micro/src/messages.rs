//! What the peers of a measured program say: prepared bytes, so that they cost next to nothing.

use std::sync::OnceLock;

use carrick_proto::revision::Revision;
use limits::{Answers, Era};

/// A revision with sessions, and the one without.
pub const SESSION: Revision = Revision::V2025_11_25;
pub const MODERN: Revision = Revision::V2026_07_28;

/// Whether a conversation of this revision opens a session.
pub fn has_session(revision: Revision) -> bool {
    revision != MODERN
}

/// What is said first; nothing where there is no session to open.
pub fn opening(revision: Revision) -> Vec<String> {
    if !has_session(revision) {
        return Vec::new();
    }
    let initialize = format!(
        r#"{{"jsonrpc":"2.0","id":"open","method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"micro","version":"0.0.0"}}}}}}"#
    );
    vec![initialize, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.into()]
}

/// A call of `echo`; the id is part of it.
pub fn echo(revision: Revision, text: &str) -> String {
    let meta = if has_session(revision) {
        String::new()
    } else {
        format!(
            r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"{revision}","io.modelcontextprotocol/clientInfo":{{"name":"micro","version":"0.0.0"}},"io.modelcontextprotocol/clientCapabilities":{{}}}},"#
        )
    };
    let text = serde_json::Value::from(text);
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{meta}"name":"echo","arguments":{{"message":{text}}}}}}}"#
    )
}

/// Text of this many bytes; one in 80 needs an escape in JSON, as the load generators have it.
pub fn text(size: usize) -> String {
    const LINE: &str =
        "The quick brown fox jumps over the lazy dog and then it runs back home 0123456\n";
    let mut text = LINE.repeat(size / LINE.len() + 1);
    text.truncate(size);
    text
}

/// Appends what a server of `revision` answers: the least that still echoes. Nothing for a
/// notification.
pub fn answer(revision: Revision, message: &[u8], out: &mut Vec<u8>) {
    static LEGACY: OnceLock<Answers> = OnceLock::new();
    static MODERN: OnceLock<Answers> = OnceLock::new();
    let (answers, era) = match has_session(revision) {
        true => (&LEGACY, Era::Legacy),
        false => (&MODERN, Era::Modern),
    };
    answers.get_or_init(|| Answers::new(Some(era), None)).answer(message, out);
}
