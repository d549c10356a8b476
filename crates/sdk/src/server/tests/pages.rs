//! Lists in pages.

use super::talk::{NEW, Talk};
use super::*;
use std::num::NonZeroUsize;

/// A source of five resources, in pages of two, whose second cursor is empty.
struct Paged;

impl ResourceSource for Paged {
    fn list(
        &self,
        cursor: Option<&str>,
        _: &CallInfo,
    ) -> BoxFuture<'_, Result<ListResourcesResult, RpcError>> {
        let (from, next) = match cursor {
            None => (0, Some("")),
            Some("") => (2, Some("last")),
            Some("last") => (4, None),
            Some(other) => return ready(Err(listing::unknown_cursor(other))).boxed(),
        };
        let some = (from..5).take(2).map(|n| Resource::new(format!("s://{n}"), "s"));
        let mut page = ListResourcesResult::from(some.collect::<Vec<_>>());
        page.next_cursor = next.map(str::to_owned);
        ready(Ok(page)).boxed()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &CallInfo,
    ) -> BoxFuture<'a, Result<ReadResourceResult, RpcError>> {
        ready(Err(not_found(uri))).boxed()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        ["c", "a", "b"].map(|name| ResourceTemplate::new(format!("{name}://{{x}}"), name)).into()
    }
}

fn paged(size: Option<usize>) -> Server {
    let mut builder = Server::builder("test", "1").resources(Paged);
    for n in 0..5 {
        builder = builder
            .tool(Tool::new(format!("t{n}"), async || "x".to_owned()))
            .prompt(Prompt::new(format!("p{n}"), async || "x"))
            .resource(crate::server::Resource::new(format!("f://{n}"), "f", async || "x"));
    }
    let family = crate::server::Resource::template("b://{x}", "ours", async || "x").unwrap();
    builder = builder.resource(family);
    if let Some(size) = size.and_then(NonZeroUsize::new) {
        builder = builder.page_size(size);
    }
    builder.build()
}

/// Walks a list to its end; the keys of each page.
async fn walk(talk: &mut Talk, method: &str, list: &str, key: &str) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut cursor: Option<Value> = None;
    loop {
        let params = match &cursor {
            Some(cursor) => json!({ "cursor": cursor }),
            None => json!({}),
        };
        let page = talk.result(method, params).await;
        let entries = page[list].as_array().unwrap();
        pages.push(entries.iter().map(|e| e[key].as_str().unwrap().to_owned()).collect());
        match page.get("nextCursor") {
            Some(next) => cursor = Some(next.clone()),
            None => return pages,
        }
        assert!(pages.len() < 20, "{pages:?}");
    }
}

#[tokio::test]
async fn lists_come_in_pages_of_the_size_that_is_set() {
    for revision in ["2024-11-05", NEW] {
        let mut talk = Talk::with(&paged(Some(2)), revision).await;
        let tools = walk(&mut talk, "tools/list", "tools", "name").await;
        assert_eq!(tools, [vec!["t0", "t1"], vec!["t2", "t3"], vec!["t4"]]);
        let prompts = walk(&mut talk, "prompts/list", "prompts", "name").await;
        assert_eq!(prompts, [vec!["p0", "p1"], vec!["p2", "p3"], vec!["p4"]]);
        // The source's pages follow, as it makes them.
        let resources = walk(&mut talk, "resources/list", "resources", "uri").await;
        assert_eq!(
            resources,
            [
                vec!["f://0", "f://1"],
                vec!["f://2", "f://3"],
                vec!["f://4"],
                vec!["s://0", "s://1"],
                vec!["s://2", "s://3"],
                vec!["s://4"],
            ]
        );
        let templates =
            walk(&mut talk, "resources/templates/list", "resourceTemplates", "uriTemplate").await;
        assert_eq!(templates, [vec!["a://{x}", "b://{x}"], vec!["c://{x}"]]);
    }
}

#[tokio::test]
async fn without_a_size_all_is_one_page_but_what_a_source_cuts() {
    let mut talk = Talk::with(&paged(None), NEW).await;
    assert_eq!(walk(&mut talk, "tools/list", "tools", "name").await.len(), 1);
    let resources = walk(&mut talk, "resources/list", "resources", "uri").await;
    let sizes: Vec<usize> = resources.iter().map(Vec::len).collect();
    assert_eq!(sizes, [7, 2, 1]);
    let list = talk.result("resources/templates/list", json!({})).await;
    assert_eq!(list["resourceTemplates"][1]["name"], "ours", "the function's counts");
}

#[tokio::test]
async fn d059_a_client_that_merges_pages_sees_every_entry_once() {
    for era in [Era::Legacy, Era::Modern] {
        for server in [paged(Some(2)), paged(None)] {
            let (ours, theirs) = memory();
            tokio::spawn(async move { serve(&server, theirs).await });
            let mut config = ClientConfig::new(Implementation::new("tests", "0"));
            config.era = Some(era);
            let client = Client::connect(ours, config, None).await.unwrap();
            assert_eq!(client.list_tools().await.unwrap().len(), 5);
            assert_eq!(client.list_prompts().await.unwrap().len(), 5);
            assert_eq!(client.list_resources().await.unwrap().len(), 10);
            assert_eq!(client.list_resource_templates().await.unwrap().len(), 3);
        }
    }
}

#[tokio::test]
async fn a_walk_goes_on_while_the_list_changes() {
    let server = paged(Some(2));
    let mut talk = Talk::with(&server, NEW).await;
    let page = talk.result("tools/list", json!({})).await;
    server.remove_tool("t1");
    server.add_tool(Tool::new("t1.5", async || "x".to_owned()));
    let next = talk.result("tools/list", json!({ "cursor": page["nextCursor"] })).await;
    let names: Vec<&Value> = next["tools"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, ["t1.5", "t2"]);
}

#[tokio::test]
async fn a_cursor_is_for_its_own_list_and_an_empty_string_is_one() {
    let mut talk = Talk::with(&paged(Some(2)), NEW).await;
    let page = talk.result("tools/list", json!({})).await;
    let of_tools = page["nextCursor"].clone();
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        for cursor in [json!(""), json!("x"), json!(7), json!({})] {
            assert_eq!(talk.code(method, json!({ "cursor": cursor })).await, -32602, "{method}");
        }
        if method != "tools/list" {
            assert_eq!(talk.code(method, json!({ "cursor": of_tools })).await, -32602, "{method}");
        }
    }
}
