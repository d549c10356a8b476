//! What changes while the server runs, and who hears of it.

use super::talk::{ID, NEW, Talk};
use super::*;
use crate::server::{Resource, ToolFault};
use std::sync::Mutex;

fn tool_named(name: &str) -> Tool {
    let name = name.to_owned();
    Tool::new(name.clone(), move || ready(name.clone()))
}

/// Adds a tool of this name to the server it runs in.
#[tool]
async fn learn(server: Server, name: String) -> String {
    server.add_tool(tool_named(&name));
    "learnt".into()
}

fn changing() -> Server {
    Server::builder("test", "1")
        .tools(tools![learn])
        .tools_may_change()
        .prompts_may_change()
        .resources_may_change()
        .resource_subscriptions()
        .build()
}

async fn names(talk: &mut Talk) -> Vec<String> {
    let list = talk.result("tools/list", json!({})).await;
    let name = |tool: &Value| tool["name"].as_str().unwrap().to_owned();
    list["tools"].as_array().unwrap().iter().map(name).collect()
}

#[tokio::test]
async fn what_is_declared_is_what_the_builder_says() {
    let plain = Server::builder("test", "1").tools(tools![learn]).resources(Shelf).build();
    let expected = json!({ "tools": {}, "resources": {}, "logging": {} });
    for revision in ["2025-11-25", NEW] {
        assert_eq!(Talk::with(&plain, revision).await.capabilities, expected);
        assert_eq!(
            Talk::with(&changing(), revision).await.capabilities,
            json!({
                "tools": { "listChanged": true }, "prompts": { "listChanged": true },
                "resources": { "listChanged": true, "subscribe": true }, "logging": {},
            })
        );
    }
    let mut talk = Talk::with(&plain, "2025-11-25").await;
    assert_eq!(talk.code("resources/subscribe", json!({ "uri": "demo://ok" })).await, -32601);
    plain.add_tool(tool_named("more"));
    // It is there, but no one is told who was not promised to be.
    assert_eq!(names(&mut talk).await, ["learn", "more"]);
    let mut talk = Talk::with(&plain, NEW).await;
    let all = json!({ "toolsListChanged": true, "resourceSubscriptions": ["demo://ok"] });
    assert_eq!(talk.listen(json!("l"), all).await, json!({}));
}

#[tokio::test]
async fn every_session_and_every_listen_hears_of_a_change() {
    let server = changing();
    let mut sessions = Vec::new();
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let mut talk = Talk::with(&server, revision).await;
        assert_eq!(names(&mut talk).await, ["learn"]);
        sessions.push(talk);
    }
    let mut modern = Talk::with(&server, NEW).await;
    let agreed = modern.listen(json!("l"), json!({ "toolsListChanged": true })).await;
    assert_eq!(agreed, json!({ "toolsListChanged": true }));

    server.add_tool(tool_named("more"));
    server.add_prompt(Prompt::new("p", async || "x"));
    for talk in &mut sessions {
        assert_eq!(talk.next().await["method"], "notifications/tools/list_changed");
        assert_eq!(talk.next().await["method"], "notifications/prompts/list_changed");
        assert_eq!(names(talk).await, ["learn", "more"]);
    }
    let told = modern.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(told["params"]["_meta"][ID], "l");
    assert_eq!(names(&mut modern).await, ["learn", "more"], "prompts were not asked for");

    assert!(server.remove_tool("more") && !server.remove_tool("more"));
    let told = modern.next().await;
    assert_eq!(told["method"], "notifications/tools/list_changed");
    assert_eq!(modern.code("tools/call", json!({ "name": "more" })).await, -32602);
}

#[tokio::test]
async fn resources_come_and_go_while_the_server_runs() {
    for revision in ["2025-11-25", NEW] {
        let server = changing();
        let mut talk = Talk::with(&server, revision).await;
        if revision == NEW {
            let agreed = talk.listen(json!("l"), json!({ "resourcesListChanged": true })).await;
            assert_eq!(agreed, json!({ "resourcesListChanged": true }));
        }
        let told = |talk: Value| assert_eq!(talk["method"], "notifications/resources/list_changed");
        let not_found = if revision == NEW { -32602 } else { -32002 };
        assert_eq!(talk.code("resources/read", json!({ "uri": "note://a" })).await, not_found);
        server.add_resource(Resource::new("note://a", "a", async || "of a"));
        told(talk.next().await);
        server.add_resource(
            Resource::template("notes://{name}", "all", async |_: Texts| "any").unwrap(),
        );
        told(talk.next().await);
        let list = talk.result("resources/list", json!({})).await;
        assert_eq!(list["resources"][0]["uri"], "note://a");
        let templates = talk.result("resources/templates/list", json!({})).await;
        assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "notes://{name}");
        for (uri, text) in [("note://a", "of a"), ("notes://x", "any")] {
            let read = talk.result("resources/read", json!({ "uri": uri })).await;
            assert_eq!(read["contents"][0]["text"], text);
        }
        assert!(server.remove_resource("note://a"));
        told(talk.next().await);
        assert!(server.remove_resource("notes://{name}"));
        told(talk.next().await);
        assert!(!server.remove_resource("note://a"), "it is gone");
        for uri in ["note://a", "notes://x"] {
            assert_eq!(talk.code("resources/read", json!({ "uri": uri })).await, not_found);
        }
        // What did not change was not told: this comes next.
        server.notify_resources_changed();
        told(talk.next().await);
    }
}

#[tokio::test]
async fn f45_a_tool_that_cannot_be_offered_is_left_out_alone() {
    let odd = |name: &str, schema: &str| {
        tool_named(name).input_schema(serde_json::from_str(schema).unwrap())
    };
    let builder = || {
        let tools = [odd("any", "true"), odd("text", r#"{"type":"string"}"#), tool_named("good")];
        Server::builder("test", "1").tools(tools).tool(tool_named("")).tools_may_change()
    };
    let error = builder().try_build().err().unwrap();
    assert_eq!((&*error.tool, &error.fault), ("", &ToolFault::NoName));
    let server = builder().build();
    let mut talk = Talk::with(&server, "2025-11-25").await;
    assert_eq!(names(&mut talk).await, ["good"]);
    let error = server.try_add_tool(odd("late", "{}")).unwrap_err();
    assert_eq!(error.fault, ToolFault::Input("{}".into()));
    server.add_tool(odd("late", "{}"));
    server.add_tool(tool_named("more"));
    assert_eq!(talk.next().await["method"], "notifications/tools/list_changed");
    assert_eq!(names(&mut talk).await, ["good", "more"]);
    let good = Server::builder("test", "1").tool(tool_named("good")).try_build();
    assert!(good.is_ok());
}

#[tokio::test]
async fn a_handler_changes_its_own_server() {
    for revision in ["2025-11-25", NEW] {
        let server = changing();
        let mut talk = Talk::with(&server, revision).await;
        if revision == NEW {
            talk.listen(json!("l"), json!({ "toolsListChanged": true })).await;
        }
        talk.begin(
            &json!("c"),
            "tools/call",
            json!({ "name": "learn", "arguments": { "name": "a" } }),
        );
        // What a handler changes is told before its answer.
        assert_eq!(talk.next().await["method"], "notifications/tools/list_changed");
        assert_eq!(talk.next().await["id"], "c");
        let result = talk.result("tools/call", json!({ "name": "a" })).await;
        assert_eq!(result["content"][0]["text"], "a");
    }
}

#[tokio::test]
async fn d056_changes_that_nobody_reads_add_up_to_one() {
    let server = changing();
    let mut talk = Talk::with(&server, "2025-11-25").await;
    // On one thread the server's loop has no turn before all have happened.
    for n in 0..1000 {
        server.add_tool(tool_named(&format!("tool-{n}")));
    }
    assert_eq!(talk.next().await["method"], "notifications/tools/list_changed");
    assert_eq!(names(&mut talk).await.len(), 1001);
}

#[tokio::test]
async fn an_ended_listen_hears_nothing_and_conversations_that_are_gone_are_forgotten() {
    let server = changing();
    let mut talk = Talk::with(&server, NEW).await;
    talk.listen(json!("l"), json!({ "toolsListChanged": true })).await;
    talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": "l" } }));
    assert_eq!(names(&mut talk).await, ["learn"]);
    server.add_tool(tool_named("more"));
    assert_eq!(names(&mut talk).await, ["learn", "more"]);
    assert_eq!(server.inner.hub.len(), 1);

    for _ in 0..100 {
        let _gone = Talk::with(&server, "2025-11-25").await;
    }
    // A request that needs no session, and does not listen, is no conversation.
    let _modern = Talk::with(&server, NEW).await;
    while server.inner.hub.len() > 1 {
        tokio::task::yield_now().await;
        server.notify_resource_updated("x://y");
    }
    assert_eq!(names(&mut talk).await, ["learn", "more"]);
}

/// A source that says who subscribes.
#[derive(Clone, Default)]
struct Watched(Arc<Mutex<Vec<String>>>);

impl Watched {
    fn now(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

impl ResourceSource for Watched {
    fn list(
        &self,
        _: Option<&str>,
        _: &CallInfo,
    ) -> BoxFuture<'_, Result<ListResourcesResult, RpcError>> {
        ready(Ok(ListResourcesResult::default())).boxed()
    }

    fn read<'a>(
        &'a self,
        uri: &'a str,
        _: &CallInfo,
    ) -> BoxFuture<'a, Result<ReadResourceResult, RpcError>> {
        ready(Err(not_found(uri))).boxed()
    }

    fn subscribe<'a>(&'a self, uri: &'a str, _: &CallInfo) -> BoxFuture<'a, Result<(), RpcError>> {
        async move {
            tokio::task::yield_now().await;
            if !uri.starts_with("w://") {
                return Err(not_found(uri));
            }
            self.0.lock().unwrap().push(uri.to_owned());
            Ok(())
        }
        .boxed()
    }

    fn unsubscribe(&self, uri: &str) {
        let mut all = self.0.lock().unwrap();
        let at = all.iter().position(|known| known == uri).expect("it was subscribed to");
        all.remove(at);
    }
}

fn watched() -> (Server, Watched) {
    let source = Watched::default();
    let server = Server::builder("test", "1")
        .resources(source.clone())
        .resource(Resource::new("f://fixed", "fixed", async || "x"))
        .resource_subscriptions()
        .build();
    (server, source)
}

#[tokio::test]
async fn a_session_subscribes_and_the_source_knows() {
    let (server, source) = watched();
    let mut talk = Talk::with(&server, "2025-06-18").await;
    for uri in ["w://1", "w://1", "f://fixed"] {
        assert_eq!(talk.result("resources/subscribe", json!({ "uri": uri })).await, json!({}));
    }
    assert_eq!(talk.code("resources/subscribe", json!({ "uri": "x://1" })).await, -32002);
    assert_eq!(source.now(), ["w://1"], "functions need no source");
    for uri in ["x://1", "w://2", "w://1", "f://fixed"] {
        server.notify_resource_updated(uri);
    }
    for uri in ["f://fixed", "w://1"] {
        let told = talk.next().await;
        assert_eq!(
            [&told["method"], &told["params"]["uri"]],
            [&json!("notifications/resources/updated"), &json!(uri)]
        );
    }
    assert_eq!(talk.result("resources/unsubscribe", json!({ "uri": "w://1" })).await, json!({}));
    assert_eq!(talk.result("resources/unsubscribe", json!({ "uri": "w://9" })).await, json!({}));
    assert!(source.now().is_empty());
    server.notify_resource_updated("w://1");
    assert!(talk.result("resources/list", json!({})).await.is_object());
}

#[tokio::test]
async fn a_listen_is_agreed_to_as_far_as_the_source_does() {
    let (server, source) = watched();
    let mut talk = Talk::with(&server, NEW).await;
    let filter = json!({ "resourceSubscriptions": ["w://1", "x://1", "f://fixed", "w://2"] });
    let agreed = talk.listen(json!(7), filter).await;
    assert_eq!(agreed, json!({ "resourceSubscriptions": ["f://fixed", "w://1", "w://2"] }));
    assert_eq!(source.now(), ["w://1", "w://2"]);
    server.notify_resource_updated("w://2/below");
    let told = talk.next().await;
    assert_eq!(
        [&told["params"]["uri"], &told["params"]["_meta"][ID]],
        [&json!("w://2/below"), &json!(7)]
    );
    talk.say(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": { "requestId": 7 } }));
    talk.result("resources/list", json!({})).await;
    assert!(source.now().is_empty());
}

#[tokio::test]
async fn subscriptions_end_with_their_connection() {
    let (server, source) = watched();
    let mut modern = Talk::with(&server, NEW).await;
    modern.listen(json!(1), json!({ "resourceSubscriptions": ["w://1"] })).await;
    let mut legacy = Talk::with(&server, "2025-11-25").await;
    legacy.result("resources/subscribe", json!({ "uri": "w://2" })).await;
    assert_eq!(source.now().len(), 2);
    drop((modern, legacy));
    while !source.now().is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_server_that_ends_tells_those_that_listen() {
    let (ours, theirs) = memory();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = changing();
    let serving = tokio::spawn(async move {
        let shutdown = async { drop(stopped.await) };
        crate::serve_until(&server, theirs, crate::ServeOptions::default(), shutdown).await
    });
    let mut talk = Talk::over(ours);
    talk.listen(json!("l"), json!({ "toolsListChanged": true })).await;
    stop.send(()).unwrap();
    let cancelled = talk.next().await;
    assert_eq!(cancelled["method"], "notifications/cancelled");
    assert_eq!(cancelled["params"]["requestId"], "l");
    let last = talk.next().await;
    assert_eq!((&last["id"], &last["result"]["_meta"][ID]), (&json!("l"), &json!("l")));
    assert_eq!(last["result"]["resultType"], "complete");
    serving.await.unwrap().unwrap();
}
