//! What becomes of single shapes, in full text.

use super::*;

use Method::{
    Cancelled, CompletionComplete, ElicitationCreate, Initialize, Progress, PromptsGet,
    PromptsList, ResourcesList, ResourcesRead, RootsList, RootsListChanged, SamplingCreateMessage,
    ToolsCall, ToolsList,
};
use Revision::{
    V2024_11_05 as A, V2025_03_26 as B, V2025_06_18 as C, V2025_11_25 as D, V2026_07_28 as E,
};

/// Translates, and compares the text and the losses.
#[track_caller]
fn becomes(part: Part, from: Revision, to: Revision, before: &str, after: &str, lost: &[&str]) {
    let (found, losses) = translate(json(before), part, from, to).unwrap();
    assert_eq!(text(&found), after);
    assert_eq!(paths(&losses), lost);
}

#[track_caller]
fn refuses(part: Part, from: Revision, to: Revision, before: &str, why: &str) {
    let error = translate(json(before), part, from, to).unwrap_err();
    assert_eq!(error.to_string(), why);
}

#[test]
fn blocks_that_the_target_has_no_type_for_become_text() {
    let part = Part::Result(ToolsCall);
    let audio = r#"{"content":[{"type":"audio","data":"UklGRg==","mimeType":"audio/wav","annotations":{"priority":1.0}}]}"#;
    becomes(
        part,
        B,
        A,
        audio,
        r#"{"content":[{"type":"text","text":"[audio of type audio/wav, 6 bytes, left out]","annotations":{"priority":1.0}}]}"#,
        &["content.*"],
    );
    becomes(part, D, B, audio, audio, &[]);
    let link = r#"{"content":[{"type":"text","text":"a"}, {"uri":"file:///a","name":"a","description":"The \"a\"","type":"resource_link","annotations":{"audience":["user"],"lastModified":"2025-01-01T00:00:00Z"},"_meta":{}} ]}"#;
    becomes(
        part,
        C,
        A,
        link,
        r#"{"content":[{"type":"text","text":"a"}, {"type":"text","text":"a: file:///a\nThe \"a\"","annotations":{"audience":["user"]}} ]}"#,
        &["content.*", "content.*.annotations.lastModified"],
    );
    // What no revision knows stays.
    let video = r#"{"content":[{"type":"video","data":1e2}]}"#;
    becomes(part, C, A, video, video, &[]);
}

#[test]
fn structured_content_stays_as_text_where_nothing_else_says_it() {
    let part = Part::Result(ToolsCall);
    becomes(
        part,
        C,
        B,
        r#"{"content":[],"structuredContent":{"a":1.0,"b":"\u0041\n"},"isError":false}"#,
        r#"{"content":[{"type":"text","text":"{\"a\":1.0,\"b\":\"\\u0041\\n\"}"}],"isError":false}"#,
        &["structuredContent"],
    );
    becomes(
        part,
        C,
        B,
        r#"{"structuredContent":{"a":1}}"#,
        r#"{"content":[{"type":"text","text":"{\"a\":1}"}]}"#,
        &["structuredContent"],
    );
    becomes(
        part,
        C,
        B,
        r#"{"structuredContent":{"a":1},"content":[{"type":"text","text":"one"}]}"#,
        r#"{"content":[{"type":"text","text":"one"}]}"#,
        &["structuredContent"],
    );
    // Anything but an object has a place in the newest revision only.
    becomes(
        part,
        E,
        D,
        r#"{"resultType":"complete","content":[],"structuredContent":[1,2]}"#,
        r#"{"content":[{"type":"text","text":"[1,2]"}]}"#,
        &["structuredContent"],
    );
    let object = r#"{"content":[],"structuredContent":{"a":[1]}}"#;
    becomes(part, E, C, object, object, &[]);
}

#[test]
fn d044_lists_keep_only_what_their_revision_names() {
    let tools = r#"{"resultType":"complete","ttlMs":5,"cacheScope":"public","tools":[{"name":"a","title":"A","icons":[{"src":"data:,"}],"annotations":{"readOnlyHint":true},"inputSchema":{"type":"object","properties":{"any":true,"none":false,"x":{"type":"number","title":"X"}}},"outputSchema":{"type":"object","properties":{"any":true}},"_meta":{"k":1},"x-own":1e0}],"nextCursor":""}"#;
    let part = Part::Result(ToolsList);
    becomes(
        part,
        E,
        A,
        tools,
        r#"{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"any":{},"none":{"not":{}},"x":{"type":"number","title":"X"}}},"x-own":1e0}],"nextCursor":""}"#,
        &[
            "ttlMs",
            "cacheScope",
            "tools.*.icons",
            "tools.*.title",
            "tools.*.outputSchema",
            "tools.*._meta",
            "tools.*.annotations",
        ],
    );
    becomes(
        part,
        E,
        D,
        r#"{"tools":[{"name":"b","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}}]}"#,
        r#"{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}"#,
        &["tools.*.outputSchema"],
    );
    becomes(
        Part::Result(PromptsList),
        D,
        B,
        r#"{"prompts":[{"name":"p","title":"P","icons":[],"arguments":[{"name":"q","title":"Q"}]}]}"#,
        r#"{"prompts":[{"name":"p","arguments":[{"name":"q"}]}]}"#,
        &["prompts.*.icons", "prompts.*.title", "prompts.*.arguments.*.title"],
    );
    becomes(
        Part::Result(ResourcesList),
        C,
        A,
        r#"{"resources":[{"uri":"u:1","name":"r","title":"R","size":7,"annotations":{"lastModified":"2025"},"_meta":{}}]}"#,
        r#"{"resources":[{"uri":"u:1","name":"r","size":7,"annotations":{}}]}"#,
        &["resources.*.title", "resources.*.annotations.lastModified", "resources.*._meta"],
    );
    becomes(
        Part::Result(ResourcesRead),
        D,
        B,
        r#"{"contents":[{"uri":"u:1","text":"t","_meta":{}}],"_meta":{"k":1}}"#,
        r#"{"contents":[{"uri":"u:1","text":"t"}],"_meta":{"k":1}}"#,
        &["contents.*._meta"],
    );
    becomes(
        Part::Result(RootsList),
        D,
        E,
        r#"{"roots":[{"uri":"file:///a"}],"_meta":{}}"#,
        r#"{"roots":[{"uri":"file:///a"}]}"#,
        &["_meta"],
    );
}

#[test]
fn messages_of_several_blocks_become_several_messages() {
    let part = Part::Params(SamplingCreateMessage);
    becomes(
        part,
        D,
        C,
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"_meta":{}}, {"role":"assistant","content":{"type":"text","text":"c"}},{"role":"user","content":[]}],"maxTokens":1e2}"#,
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"a"}},{"role":"user","content":{"type":"text","text":"b"}},{"role":"assistant","content":{"type":"text","text":"c"}},{"role":"user","content":{"type":"text","text":""}}],"maxTokens":1e2}"#,
        &["messages.*._meta"],
    );
    becomes(
        part,
        E,
        C,
        r#"{"messages":[{"role":"user","content":[{"type":"tool_result","toolUseId":"1","content":[],"structuredContent":[1]}]}],"maxTokens":1,"toolChoice":{"mode":"none"}}"#,
        r#"{"messages":[{"role":"user","content":{"type":"text","text":"{\"type\":\"tool_result\",\"toolUseId\":\"1\",\"content\":[{\"type\":\"text\",\"text\":\"[1]\"}]}"}}],"maxTokens":1}"#,
        &["messages.*.content.*.structuredContent", "messages.*.content", "toolChoice"],
    );
    refuses(
        part,
        D,
        C,
        r#"{"messages":[],"maxTokens":1,"tools":[{"name":"a","inputSchema":{}}]}"#,
        "tools is there; the other revision cannot say that: [{\"name\":\"a\",\"inputSchema\":{}}]",
    );
}

#[test]
fn a_models_answer_of_several_blocks_becomes_their_words() {
    let part = Part::Result(SamplingCreateMessage);
    let answer =
        |content: &str| alloc::format!(r#"{{"role":"assistant","content":{content},"model":"m"}}"#);
    let one = answer(r#"{"type":"text","text":"a"}"#);
    becomes(part, D, C, &answer(r#"[{"type":"text","text":"a"}]"#), &one, &[]);
    becomes(part, D, C, &one, &one, &[]);
    becomes(
        part,
        E,
        A,
        &answer(
            r#"[{"type":"text","text":"a"},{"type":"image","data":"AAAA","mimeType":"image/png"}]"#,
        ),
        &answer(r#"{"type":"text","text":"a\n[image of type image/png, 3 bytes, left out]"}"#),
        &["content"],
    );
    let used = r#"{"type":"tool_use","id":"1","name":"a","input":{}}"#;
    for content in [used.into(), alloc::format!("[{used}]")] {
        let error = translate(json(&answer(&content)), part, D, C).unwrap_err();
        assert!(matches!(error, Untranslatable::Value { path, .. } if path == "content"));
    }
}

#[test]
fn elicitations_become_the_older_forms() {
    let part = Part::Params(ElicitationCreate);
    becomes(
        part,
        E,
        C,
        r#"{"mode":"form","message":"m","requestedSchema":{"$schema":"x","type":"object","properties":{"a":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}],"default":"r"},"b":{"type":"boolean","default":true},"c":{"type":"string","enum":["x"]}},"required":["a"]}}"#,
        r#"{"message":"m","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]},"b":{"type":"boolean","default":true},"c":{"type":"string","enum":["x"]}},"required":["a"]}}"#,
        &["requestedSchema.$schema", "requestedSchema.properties.*.default"],
    );
    refuses(
        part,
        D,
        C,
        r#"{"message":"m","requestedSchema":{"properties":{"a":{"type":"array","items":{}}}}}"#,
        "requestedSchema.properties.* has no older form; the other revision cannot say that: {\"type\":\"array\",\"items\":{}}",
    );
    let url = r#"{"mode":"url","message":"m","url":"https://a.example/b"}"#;
    refuses(part, E, C, url, "mode is not `form`; the other revision cannot say that: \"url\"");
    let with_id = r#"{"elicitationId":"https://a.example/b","mode":"url","message":"m","url":"https://a.example/b"}"#;
    becomes(part, E, D, url, with_id, &[]);
    becomes(part, D, E, with_id, url, &["elicitationId"]);
    let listed = r#"{"action":"accept","content":{"a":["x"]}}"#;
    let error = translate(json(listed), Part::Result(ElicitationCreate), D, C).unwrap_err();
    assert!(matches!(error, Untranslatable::Value { path, .. } if path == "content.*"));
}

#[test]
fn capabilities_never_come_to_promise_more() {
    let part = Part::ClientCapabilities;
    becomes(
        part,
        E,
        C,
        r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true},"extensions":{"a/b":{}}}"#,
        r#"{"elicitation":{},"sampling":{},"roots":{"listChanged":true}}"#,
        &["extensions", "elicitation.url", "sampling.tools"],
    );
    becomes(
        part,
        D,
        C,
        r#"{"elicitation":{"url":{}},"tasks":{}}"#,
        "{}",
        &["elicitation.url", "elicitation", "tasks"],
    );
    becomes(
        part,
        D,
        E,
        r#"{"roots":{"listChanged":true}}"#,
        r#"{"roots":{}}"#,
        &["roots.listChanged"],
    );
    // Completion needed no capability in the first revision.
    let part = Part::ServerCapabilities;
    let first = r#"{"prompts":{},"tools":{}}"#;
    let declared = r#"{"completions":{},"prompts":{},"tools":{}}"#;
    becomes(part, A, E, first, declared, &[]);
    becomes(part, E, A, declared, first, &[]);
    becomes(part, A, E, r#"{"tools":{}}"#, r#"{"tools":{}}"#, &[]);
    becomes(
        Part::Result(Initialize),
        E,
        A,
        r#"{"protocolVersion":"2024-11-05","capabilities":{"extensions":{},"completions":{},"tools":{}},"serverInfo":{"name":"n","version":"1","title":"N","description":"d","websiteUrl":"https://a.example"}}"#,
        r#"{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}"#,
        &[
            "capabilities.extensions",
            "serverInfo.description",
            "serverInfo.websiteUrl",
            "serverInfo.title",
        ],
    );
}

#[test]
fn requests_lose_the_keys_that_a_session_says_otherwise() {
    let part = Part::Params(ToolsCall);
    becomes(
        part,
        E,
        A,
        r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":1,"traceparent":"t"},"name":"a","arguments":{"n":1e400}}"#,
        r#"{"_meta":{"progressToken":1,"traceparent":"t"},"name":"a","arguments":{"n":1e400}}"#,
        &[],
    );
    becomes(part, D, E, r#"{"name":"a","task":{"ttl":1}}"#, r#"{"name":"a"}"#, &["task"]);
    refuses(
        part,
        E,
        D,
        r#"{"name":"a","requestState":"s"}"#,
        "requestState is there; the other revision cannot say that: \"s\"",
    );
    becomes(
        Part::Params(CompletionComplete),
        C,
        B,
        r#"{"ref":{"type":"ref/prompt","name":"p","title":"P"},"argument":{},"context":{"arguments":{}}}"#,
        r#"{"ref":{"type":"ref/prompt","name":"p"},"argument":{}}"#,
        &["ref.title", "context"],
    );
}

#[test]
fn notifications_keep_what_the_target_has() {
    becomes(
        Part::Params(Progress),
        E,
        A,
        r#"{"progressToken":1,"progress":0.50,"message":"half"}"#,
        r#"{"progressToken":1,"progress":0.50}"#,
        &["message"],
    );
    let part = Part::Params(Cancelled);
    refuses(part, D, E, r#"{"reason":"r"}"#, "the other revision needs requestId, which is absent");
    let tagged = r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"requestId":1}"#;
    becomes(part, E, B, tagged, r#"{"_meta":{},"requestId":1}"#, &[]);
    refuses(
        Part::Params(RootsListChanged),
        D,
        E,
        "{}",
        "the other revision has no method \"notifications/roots/list_changed\"",
    );
}

#[test]
fn errors_change_their_codes() {
    let part = Part::Error(ResourcesRead);
    let old = r#"{"code":-32002,"message":"no","data":{"uri":"u:1"}}"#;
    let new = r#"{"code":-32602,"message":"no","data":{"uri":"u:1"}}"#;
    becomes(part, A, E, old, new, &[]);
    becomes(part, E, A, new, old, &[]);
    let other = r#"{"code":-32602,"message":"bad cursor"}"#;
    becomes(part, E, A, other, other, &[]);
    let url = r#"{"code":-32042,"message":"go there","data":{"elicitations":[]}}"#;
    becomes(Part::Error(PromptsGet), D, C, url, url, &[]);
    refuses(
        Part::Error(PromptsGet),
        D,
        E,
        url,
        "code is -32042 (URL elicitation required); the other revision cannot say that: -32042",
    );
}

#[test]
fn a_quick_look_never_misses_what_a_change_names() {
    let part = Part::Result(ToolsCall);
    let plain = br#"{"content":[{"type":"text","text":"the \"structuredContent\" of it"}]}"#;
    assert!(!is_touched(plain, part, E, D));
    assert!(!is_touched(plain, part, E, C));
    assert!(is_touched(plain, part, D, E));
    assert!(is_touched(br#"{"content":[],"structuredContent":[]}"#, part, E, D));
    let link = br#"{"content":[{"type":"resource_link","uri":"u:1","name":"n","icons":[]}]}"#;
    assert!(!is_touched(link, part, E, D));
    assert!(is_touched(link, part, E, C));
}
