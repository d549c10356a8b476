//! Completing arguments.

use super::talk::{NEW, Talk};
use super::*;
use crate::{prompt, prompts, resource, resources};

async fn days(typed: Completing) -> Vec<String> {
    let month = typed.arguments.get("month").map_or("?", String::as_str);
    (1..=150).map(|day| format!("{month}{day}")).filter(|d| d.starts_with(&typed.value)).collect()
}

#[prompt]
async fn plan(
    #[complete("January", "June", "july")] month: String,
    #[complete(days)] day: String,
    free: Option<String>,
) -> String {
    format!("{month} {day} {free:?}")
}

#[resource("cal://{month}")]
async fn month(#[complete("June", "July")] month: String) -> String {
    month
}

fn server() -> Server {
    Server::builder("test", "1")
        .prompts(prompts![plan])
        .resource_functions(resources![month])
        .resources(Shelf)
        .build()
}

fn of_prompt(name: &str, argument: &str, value: &str) -> Value {
    json!({ "ref": { "type": "ref/prompt", "name": name },
        "argument": { "name": argument, "value": value } })
}

fn of_template(uri: &str, argument: &str, value: &str) -> Value {
    json!({ "ref": { "type": "ref/resource", "uri": uri },
        "argument": { "name": argument, "value": value } })
}

#[tokio::test]
async fn prompts_and_templates_are_completed_by_lists_and_functions() {
    for revision in ["2024-11-05", "2025-11-25", NEW] {
        let mut talk = Talk::with(&server(), revision).await;
        // The first revision completes without a capability of its own.
        let declared = talk.capabilities.get("completions").is_some();
        assert_eq!(declared, revision != "2024-11-05");
        let mut complete = async |params: Value| {
            talk.result("completion/complete", params).await["completion"].clone()
        };
        assert_eq!(
            complete(of_prompt("plan", "month", "ju")).await,
            json!({ "values": ["June", "july"], "total": 2, "hasMore": false })
        );
        let mut params = of_prompt("plan", "day", "May1");
        params["context"] = json!({ "arguments": { "month": "May" } });
        let completion = complete(params).await;
        assert_eq!((&completion["total"], &completion["values"][0]), (&json!(62), &json!("May1")));
        assert_eq!(
            complete(of_template("cal://{month}", "month", "jul")).await["values"],
            json!(["July"])
        );
        for nothing in [of_prompt("plan", "free", ""), of_template("demo://{name}", "name", "")] {
            assert_eq!(complete(nothing).await, json!({ "values": [], "hasMore": false }));
        }
    }
}

#[tokio::test]
async fn d135_what_is_no_completion_is_refused() {
    for revision in ["2024-11-05", "2025-11-25"] {
        let mut talk = Talk::with(&server(), revision).await;
        let lines = include_str!("../../../../../cases/handed/D135/in.jsonl").lines();
        // Without the handshake, which the talk has had.
        let requests: Vec<Value> =
            lines.skip(2).map(|line| serde_json::from_str(line).unwrap()).collect();
        let (ping, refused) = requests.split_last().unwrap();
        assert_eq!(refused.len(), 4);
        for request in refused {
            talk.say(request);
            let answer = talk.next().await;
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&request["id"], &json!(-32602)));
        }
        talk.say(ping);
        assert_eq!(talk.next().await["result"], json!({}));
    }
    let mut talk = Talk::with(&server(), NEW).await;
    let good = of_prompt("plan", "month", "");
    for (member, wrong) in [
        ("ref", json!("ref/prompt")),
        ("ref", json!({ "type": "ref/prompt" })),
        ("ref", json!({ "type": "ref/prompt", "name": 7 })),
        ("ref", json!({ "type": "ref/resource", "name": "plan" })),
        ("argument", json!(null)),
        ("argument", json!("month")),
        ("argument", json!({ "name": "month" })),
        ("argument", json!({ "name": "month", "value": 6 })),
        ("context", json!({ "arguments": { "month": 6 } })),
        ("context", json!([])),
    ] {
        let mut params = good.clone();
        params[member] = wrong;
        assert_eq!(talk.code("completion/complete", params.clone()).await, -32602, "{params}");
    }
    for nothing in [json!(null), json!({}), json!({ "arguments": null })] {
        let mut params = good.clone();
        params["context"] = nothing;
        assert_eq!(talk.result("completion/complete", params).await["completion"]["total"], 3);
    }
}

#[tokio::test]
async fn d135_of_150_values_a_hundred_come_and_it_is_said() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", NEW] {
        let mut talk = Talk::with(&server(), revision).await;
        let all = talk.result("completion/complete", of_prompt("plan", "day", "")).await;
        let completion = &all["completion"];
        assert_eq!(completion["values"].as_array().unwrap().len(), 100);
        assert_eq!((&completion["hasMore"], &completion["total"]), (&json!(true), &json!(150)));
    }
}

#[tokio::test]
async fn d068_what_cannot_be_completed_is_refused() {
    let mut talk = Talk::with(&server(), NEW).await;
    for params in [
        of_prompt("nope", "month", ""),
        of_prompt("plan", "nope", ""),
        of_template("nope://{x}", "x", ""),
        of_template("cal://{month}", "day", ""),
    ] {
        assert_eq!(talk.code("completion/complete", params).await, -32602);
    }
    let none = Server::builder("test", "1").prompt(Prompt::new("p", async || "x")).build();
    let mut talk = Talk::with(&none, NEW).await;
    assert!(talk.capabilities.get("completions").is_none());
    assert_eq!(talk.code("completion/complete", of_prompt("p", "a", "")).await, -32601);
    let later = Server::builder("test", "1").prompts_may_change().completions().build();
    later.add_prompt(Prompt::new("p", async || "x").optional("a", "").complete("a", ["b"]));
    let mut talk = Talk::with(&later, NEW).await;
    let completion = talk.result("completion/complete", of_prompt("p", "a", "")).await;
    assert_eq!(completion["completion"]["values"], json!(["b"]));
}
