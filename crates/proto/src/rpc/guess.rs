//! The id of a response that cannot be read.

use super::Id;
use super::loose::members;

/// Longest id that is looked at, in bytes.
const LONGEST: usize = 256;

/// The request that a broken frame was meant to answer, as far as that shows: the
/// first `id` on the outermost level of what looks like an object, if no `method`
/// stands there.
///
/// The bytes may be anything: not JSON, not UTF-8, nested without end.
pub(super) fn answered(bytes: &[u8]) -> Option<Id> {
    let mut id = None;
    for (name, value) in members(bytes) {
        match name {
            b"method" => return None,
            b"id" if id.is_none() && value.text.len() <= LONGEST => id = Id::read(value.text),
            _ => {}
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn f13_the_id_of_a_broken_response_is_found() {
        let deep = "[".repeat(100_000);
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"text":"x}]}}"#,
            r#" { "result" : { "a" : nul , "b" : [1,] } , "id" : 7 , "jsonrpc":"2.0" "#,
            r#"{"result":{"text":"a \" b \\"},"id":7}}"#,
            r#"{"id":7,"result":"#,
            r#"{"id":7"#,
            &format!(r#"{{"id":7,"result":{deep}"#),
            &format!(r#"{{"result":{deep}{},"id":7}}"#, "]".repeat(100_000)),
        ] {
            let found = answered(text.as_bytes());
            assert_eq!(found, Some(Id::Number(7)), "{}", &text[..text.len().min(80)]);
        }
        assert_eq!(
            answered(b"{\"id\":\"\xc3\xa9\",\"result\":\"\xff\"}"),
            Some(Id::Text("é".into()))
        );
        for text in [
            "",
            "{",
            "[{\"id\":7}",
            r#"{"id":7,"method":"x","#,
            r#"{"params":{"id":7}"#,
            r#"{"id":{"id":7}"#,
            r#"{"id":1.5,"result":"#,
            r#"{"id"7}"#,
            "log: {\"id\":7}",
        ] {
            assert_eq!(answered(text.as_bytes()), None, "{text}");
        }
        let long = format!(r#"{{"id":"{}","result":"#, "x".repeat(1000));
        assert_eq!(answered(long.as_bytes()), None);
        let _: String = long;
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = answered(&bytes);
            let shaped: Vec<u8> = [&b"{\"a\":"[..], &bytes, b",\"id\":1}"].concat();
            let _ = answered(&shaped);
        }
    }
}
