//! Resources as functions.

use super::talk::{NEW, Talk};
use super::*;
use crate::server::Resource;
use crate::{resource, resources};
use carrick_proto::types::CacheHints;
use std::time::Duration;

/// A text.
#[resource("f://text", mime_type = "text/plain", title = "The text")]
async fn text(prefix: State<String>) -> String {
    format!("{} text", *prefix)
}

#[resource("f://bytes", name = "some bytes")]
async fn bytes() -> Vec<u8> {
    vec![0, 255, 1]
}

#[resource("f://folder", mime_type = "text/plain")]
async fn folder() -> Vec<ResourceContents> {
    vec![
        ResourceContents::text("f://folder/a", "a").mime_type("text/x-own"),
        ResourceContents::text("f://folder/b", "b"),
    ]
}

/// A note of a day.
#[resource("notes://{folder}/{day}.md", mime_type = "text/markdown")]
async fn note(day: u8, folder: String) -> Result<String, ToolError> {
    if folder == "locked" {
        return Err(ToolError::new("locked"));
    }
    Ok(format!("{folder} {day}"))
}

#[resource("notes://{any}/today.md")]
async fn today(any: String) -> Result<String, RpcError> {
    if any == "none" {
        return Err(not_found("notes://none/today.md"));
    }
    Ok(format!("today of {any}"))
}

fn server() -> Server {
    let kept = Resource::new("f://kept", "kept", async || "x")
        .cache(CacheHints::public(Duration::from_secs(9)));
    Server::builder("test", "1")
        .state("pre".to_owned())
        .resource_functions(resources![text, bytes, folder, note, today])
        .resource(kept)
        .resources(Shelf)
        .cache(Cacheable::Resources, CacheHints::public(Duration::from_secs(5)))
        .cache(Cacheable::ResourceContents, CacheHints::private(Duration::from_secs(1)))
        .build()
}

#[tokio::test]
async fn functions_and_a_source_are_listed_together() {
    let mut talk = Talk::with(&server(), NEW).await;
    let list = talk.result("resources/list", json!({})).await;
    let uris: Vec<&Value> =
        list["resources"].as_array().unwrap().iter().map(|r| &r["uri"]).collect();
    assert_eq!(uris, ["f://bytes", "f://folder", "f://kept", "f://text", "demo://ok"]);
    assert_eq!((&list["ttlMs"], &list["cacheScope"]), (&json!(5000), &json!("public")));
    assert_eq!(
        list["resources"][3],
        json!({ "uri": "f://text", "name": "text", "title": "The text",
            "description": "A text.", "mimeType": "text/plain" })
    );
    assert_eq!(list["resources"][0]["name"], "some bytes");
    let list = talk.result("resources/templates/list", json!({})).await;
    let templates: Vec<&Value> =
        list["resourceTemplates"].as_array().unwrap().iter().map(|r| &r["uriTemplate"]).collect();
    assert_eq!(templates, ["demo://{name}", "notes://{any}/today.md", "notes://{folder}/{day}.md"]);
    assert_eq!(list["ttlMs"], 0);
}

#[tokio::test]
async fn what_functions_return_is_what_is_read() {
    for revision in ["2024-11-05", NEW] {
        let mut talk = Talk::with(&server(), revision).await;
        let mut read = async |uri: &str| {
            let result = talk.result("resources/read", json!({ "uri": uri })).await;
            (result["contents"].clone(), result)
        };
        let (contents, result) = read("f://text").await;
        assert_eq!(
            contents,
            json!([{ "uri": "f://text", "mimeType": "text/plain", "text": "pre text" }])
        );
        assert_eq!(result.get("ttlMs").is_some(), revision == NEW);
        if revision == NEW {
            assert_eq!(
                (&result["ttlMs"], &result["cacheScope"]),
                (&json!(1000), &json!("private"))
            );
            let (_, kept) = read("f://kept").await;
            assert_eq!((&kept["ttlMs"], &kept["cacheScope"]), (&json!(9000), &json!("public")));
        }
        assert_eq!(read("f://bytes").await.0, json!([{ "uri": "f://bytes", "blob": "AP8B" }]));
        let (contents, _) = read("f://folder").await;
        assert_eq!(
            [&contents[0]["uri"], &contents[0]["mimeType"]],
            [&json!("f://folder/a"), &json!("text/x-own")]
        );
        assert_eq!(contents[1]["mimeType"], "text/plain");
        assert_eq!(
            read("notes://a%2Fb/7.md").await.0,
            json!([{ "uri": "notes://a%2Fb/7.md", "mimeType": "text/markdown", "text": "a/b 7" }])
        );
        // Two templates fit: the one that says more of the URI reads it.
        assert_eq!(read("notes://x/today.md").await.0[0]["text"], "today of x");
        assert_eq!(read("demo://ok").await.0[0]["text"], "fine");
    }
}

#[tokio::test]
async fn d068_what_cannot_be_read_has_the_code_of_its_revision() {
    for (revision, missing) in [("2025-11-25", -32002), (NEW, -32602)] {
        let mut talk = Talk::with(&server(), revision).await;
        for (uri, code) in [
            ("f://nothing", missing),
            ("notes://a/7", missing),
            ("notes://a/x.md", missing),
            ("notes://none/today.md", missing),
            ("notes://locked/1.md", -32603),
        ] {
            assert_eq!(talk.code("resources/read", json!({ "uri": uri })).await, code, "{uri}");
        }
        assert_eq!(talk.code("resources/read", json!({ "uri": 7 })).await, -32602);
        let bare = Server::builder("test", "1").resource_functions(resources![bytes]).build();
        let mut talk = Talk::with(&bare, revision).await;
        let answer = talk.ask("resources/read", json!({ "uri": "f://nothing" })).await;
        assert_eq!(answer["error"]["code"], missing);
        assert_eq!(answer["error"]["data"]["uri"], "f://nothing");
    }
}

#[tokio::test]
async fn d064_a_long_uri_is_soon_found_to_fit_nothing() {
    let mut talk = Talk::with(&server(), NEW).await;
    let uri = format!("notes://{}X/", "ann,".repeat(5000));
    assert_eq!(talk.code("resources/read", json!({ "uri": uri })).await, -32602);
    let star = Resource::template("/team{/m*}", "team", async || "x");
    assert!(matches!(star, Err(TemplateError::Expression(_))));
}

#[tokio::test]
async fn d099_what_is_hidden_in_an_escape_is_decoded_once() {
    // What a function makes of it is its own affair; it sees what it is.
    let mut talk = Talk::with(&server(), NEW).await;
    for (name, seen) in [("%2e%2e", ".."), ("%252e", "%2e"), ("a%5Cb", "a\\b"), ("%00", "\0")] {
        let uri = format!("notes://{name}/today.md");
        let result = talk.result("resources/read", json!({ "uri": uri })).await;
        assert_eq!(result["contents"][0]["text"], format!("today of {seen}"));
    }
    for uri in ["notes://../../today.md", "notes://a/../today.md", "notes://a/%2e/today.md"] {
        assert_eq!(talk.code("resources/read", json!({ "uri": uri })).await, -32602);
    }
}
