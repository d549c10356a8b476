//! Lists of which an entry nests deeper than any message may.

use super::Limits;
use super::loose::{Loose, elements, members};
use crate::text::excerpt_of;
use alloc::string::String;
use alloc::vec::Vec;
use bytes::Bytes;

/// Levels around an entry that count with it: the list.
const AROUND: u32 = 1;

/// A list's answer without the entries that nest too deeply for it to be read, and what
/// those are called: one bad entry does not cost the others. None when that is not what
/// is the matter with it.
///
/// What comes back has not been checked: it goes through a scan, as any message does.
pub fn without_deep_entries(message: &[u8], limits: Limits) -> Option<(Bytes, Vec<String>)> {
    let most = limits.depth.min(Limits::default().depth).saturating_sub(AROUND);
    let (_, result) = members(message).find(|(name, _)| *name == b"result")?;
    let (mut out, mut names) = (Vec::with_capacity(message.len()), Vec::new());
    let mut copied = 0;
    for (_, list) in members(result.text).filter(|(_, value)| value.text.starts_with(b"[")) {
        let (deep, good): (Vec<_>, Vec<_>) =
            elements(list.text).partition(|entry| entry.depth > most);
        if deep.is_empty() {
            continue;
        }
        names.extend(deep.into_iter().map(name_of));
        let start = list.text.as_ptr() as usize - message.as_ptr() as usize;
        out.extend_from_slice(&message[copied..start]);
        out.push(b'[');
        out.extend_from_slice(&good.iter().map(|entry| entry.text).collect::<Vec<_>>().join(&b','));
        out.push(b']');
        copied = start + list.text.len();
    }
    out.extend_from_slice(&message[copied..]);
    (!names.is_empty()).then(|| (out.into(), names))
}

/// What an entry is called, for a person: its name, or its address.
fn name_of(entry: Loose<'_>) -> String {
    let is_name = |name: &[u8]| matches!(name, b"name" | b"uri" | b"uriTemplate");
    let found = members(entry.text).find(|(name, _)| is_name(name));
    found.map_or_else(|| "(no name)".into(), |(_, name)| excerpt_of(name.text, 200))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rpc::{Scanned, scan};
    use alloc::format;
    use proptest::prelude::*;

    fn tool(name: &str, levels: usize) -> String {
        let (open, close) = ("{\"not\":".repeat(levels - 1), "}".repeat(levels - 1));
        format!(r#"{{"inputSchema":{open}{{}}{close}, "name":"{name}" }}"#)
    }

    #[test]
    fn f45_one_deep_entry_is_left_out_of_a_list() {
        let list = |tools: &[String]| {
            format!(
                r#"{{ "jsonrpc":"2.0","result":{{"tools":[ {} ] ,"nextCursor":"x"}}, "id":1}}"#,
                tools.join(" , ")
            )
        };
        let good = list(&[tool("a", 126), tool("b", 1)]);
        assert!(scan(Bytes::from(good.clone()), Limits::default()).is_ok());
        assert!(without_deep_entries(good.as_bytes(), Limits::default()).is_none());
        for tools in [
            [tool("deep", 127), tool("a", 1), tool("b", 126)],
            [tool("a", 1), tool("deep", 1000), tool("b", 1)],
            [tool("a", 1), tool("b", 2), tool("deep", 200_000)],
        ] {
            let text = list(&tools);
            assert!(scan(Bytes::from(text.clone()), Limits::default()).is_err());
            let (bytes, names) = without_deep_entries(text.as_bytes(), Limits::default()).unwrap();
            assert_eq!(names, ["\"deep\""]);
            let Ok(Scanned::One(message)) = scan(bytes, Limits::default()) else { panic!() };
            let body: serde_json::Value = message.body().unwrap().read().unwrap();
            assert_eq!(body["tools"].as_array().unwrap().len(), 2);
            assert_eq!(body["nextCursor"], "x");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let limits = Limits { depth: 4, ..Limits::default() };
            let _ = without_deep_entries(&bytes, limits);
            for start in [&b"{\"result\":{\"tools\":["[..], b"{\"result\":{\"a\":[[[["] {
                let _ = without_deep_entries(&[start, &bytes].concat(), limits);
            }
        }
    }
}
