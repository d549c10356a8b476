//! Any JSON at all goes through every translation without harm.

use super::*;
use alloc::format;
use proptest::prelude::*;

/// Names that changes are about, and some that none is.
const NAMES: [&str; 34] = [
    "content",
    "type",
    "text",
    "tools",
    "messages",
    "structuredContent",
    "annotations",
    "_meta",
    "resource",
    "icons",
    "title",
    "task",
    "taskId",
    "mode",
    "url",
    "form",
    "elicitation",
    "requestedSchema",
    "properties",
    "oneOf",
    "const",
    "inputSchema",
    "outputSchema",
    "capabilities",
    "prompts",
    "completions",
    "resultType",
    "requestId",
    "code",
    "data",
    "uri",
    "x",
    "\\u0074itle",
    "",
];

const STRINGS: [&str; 8] =
    ["audio", "resource_link", "tool_use", "text", "complete", "object", "array", "\\ud800"];

fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        prop::sample::select(&STRINGS[..]).prop_map(|text| format!("\"{text}\"")),
        prop::sample::select(&["0", "-32602", "-32002", "1e400", "true", "null", "[]", "{}"][..])
            .prop_map(String::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        let array = prop::collection::vec(inner.clone(), 0..4)
            .prop_map(|all| format!("[{}]", all.join(" , ")));
        let name = prop::sample::select(&NAMES[..]);
        let object = prop::collection::vec((name, inner), 0..5).prop_map(|members| {
            let members: Vec<String> =
                members.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
            format!("{{ {} }}", members.join(","))
        });
        prop_oneof![1 => array, 3 => object]
    })
}

fn any_part() -> impl Strategy<Value = Part> {
    let method = prop::sample::select(Method::ALL);
    prop_oneof![
        method.clone().prop_map(Part::Params),
        method.clone().prop_map(Part::Result),
        method.prop_map(Part::Error),
        Just(Part::ClientCapabilities),
        Just(Part::ServerCapabilities),
        Just(Part::Implementation),
    ]
}

proptest! {
    #[test]
    fn any_json_is_translated_or_refused(
        text in any_json(),
        part in any_part(),
        from in prop::sample::select(Revision::ALL),
        to in prop::sample::select(Revision::ALL),
    ) {
        let before = json(&text);
        let Ok((after, losses)) = translate(before.clone(), part, from, to) else { return Ok(()) };
        let whole = Json::parse(after.clone().into_bytes(), Limits::default());
        prop_assert!(whole.is_ok(), "{:?} from {}", after, text);
        let same = after.as_bytes().as_ptr() == before.as_bytes().as_ptr();
        prop_assert!(!same || (after.as_bytes() == text.as_bytes() && losses.is_empty()));
        // The quick look is for names without escapes.
        let escaped = text.contains("\\u0074itle");
        prop_assert!(same || escaped || is_touched(text.as_bytes(), part, from, to));
    }

    #[test]
    fn a_structured_result_is_always_said_in_some_way(
        value in any_json(),
        content in prop::sample::select(&["", r#""content":[],"#, r#""content": null ,"#][..]),
        to in prop::sample::select(Revision::ALL),
    ) {
        let text = format!("{{{content}\"structuredContent\":{value}}}");
        let (after, _) = translate(json(&text), Part::Result(Method::ToolsCall), NEW, to).unwrap();
        let after: serde_json::Map<String, serde_json::Value> = match after.read() {
            Ok(after) => after,
            // Numbers and text that this reader has no type for.
            Err(_) => return Ok(()),
        };
        if !after.contains_key("structuredContent") {
            let said = after["content"].as_array().and_then(|blocks| blocks[0]["text"].as_str());
            prop_assert_eq!(said, Some(&*value));
        }
    }
}
