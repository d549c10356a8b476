//! Writing messages: appends to a buffer, no value tree in between.

use super::Id;
use super::json::plain_len;
use alloc::vec::Vec;

/// Appends a request; `params` is JSON or empty for none.
pub fn request(out: &mut Vec<u8>, id: &Id, method: &str, params: &[u8]) {
    push_id(out, id);
    push_method(out, method);
    push_params(out, params);
}

/// Appends a request up to its parameters, which are to follow with a `}`.
pub(crate) fn request_start(out: &mut Vec<u8>, id: &Id, method: &str) {
    push_id(out, id);
    push_method(out, method);
    out.extend_from_slice(br#","params":"#);
}

/// Appends a notification; `params` is JSON or empty for none.
pub fn notification(out: &mut Vec<u8>, method: &str, params: &[u8]) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0""#);
    push_method(out, method);
    push_params(out, params);
}

/// Appends a response with `result`, a JSON object.
pub fn result_response(out: &mut Vec<u8>, id: &Id, result: &[u8]) {
    result_response_with(out, id, result, b"");
}

/// Appends a response whose result gets more members in front.
///
/// `members` is `"name":value` pairs joined by commas, or empty; `result` is a
/// JSON object that has none of them.
pub fn result_response_with(out: &mut Vec<u8>, id: &Id, result: &[u8], members: &[u8]) {
    out.reserve(result.len() + members.len() + 64);
    open_result(out, id);
    match result {
        [b'{', rest @ ..] if !members.is_empty() => {
            out.push(b'{');
            out.extend_from_slice(members);
            if rest.trim_ascii_start() != b"}" {
                out.push(b',');
            }
            out.extend_from_slice(rest);
        }
        _ => out.extend_from_slice(result),
    }
    out.push(b'}');
}

/// Appends a response up to its result.
pub(crate) fn open_result(out: &mut Vec<u8>, id: &Id) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
    out.extend_from_slice(br#","result":"#);
}

/// Appends an error response; `data` is JSON. Without an id when none could be read.
pub fn error_response(
    out: &mut Vec<u8>,
    id: Option<&Id>,
    code: i64,
    message: &str,
    data: Option<&[u8]>,
) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","#);
    if let Some(id) = id {
        out.extend_from_slice(br#""id":"#);
        id.write(out);
        out.push(b',');
    }
    out.extend_from_slice(br#""error":{"code":"#);
    super::id::write_integer(code, out);
    out.extend_from_slice(br#","message":""#);
    push_escaped(out, message);
    out.push(b'"');
    if let Some(data) = data {
        out.extend_from_slice(br#","data":"#);
        out.extend_from_slice(data);
    }
    out.extend_from_slice(b"}}");
}

/// Appends a response with `error`, an error object as JSON.
pub(crate) fn error_response_of(out: &mut Vec<u8>, id: &Id, error: &[u8]) {
    out.reserve(error.len() + 64);
    push_id(out, id);
    out.extend_from_slice(br#","error":"#);
    out.extend_from_slice(error);
    out.push(b'}');
}

/// Appends text as the inside of a JSON string.
pub fn push_escaped(out: &mut Vec<u8>, text: &str) {
    let mut rest = text.as_bytes();
    loop {
        let (plain, special) = rest.split_at(plain_len(rest));
        out.extend_from_slice(plain);
        let Some((&byte, after)) = special.split_first() else { return };
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => {
                const HEX: &[u8; 16] = b"0123456789abcdef";
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
        rest = after;
    }
}

fn push_id(out: &mut Vec<u8>, id: &Id) {
    out.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    id.write(out);
}

fn push_method(out: &mut Vec<u8>, method: &str) {
    out.extend_from_slice(br#","method":""#);
    push_escaped(out, method);
    out.push(b'"');
}

fn push_params(out: &mut Vec<u8>, params: &[u8]) {
    if !params.is_empty() {
        out.extend_from_slice(br#","params":"#);
        out.extend_from_slice(params);
    }
    out.push(b'}');
}
