//! Prompts as functions.

use super::talk::{NEW, Talk};
use super::*;
use crate::{prompt, prompts};
use carrick_proto::types::{GetPromptResult, PromptMessage};

/// Greets somebody.
#[prompt(title = "Greeting")]
async fn greet(
    /// Who is greeted
    name: String,
    #[default(2)] times: u32,
    r#type: Option<String>,
    #[default] loud: bool,
    prefix: State<String>,
) -> String {
    format!("{} {name} {times} {type:?} {loud}", *prefix)
}

#[prompt(name = "a talk", description = "Two who talk.")]
async fn talk_of(topic: String) -> Vec<PromptMessage> {
    vec![PromptMessage::user(topic), PromptMessage::assistant("I see.")]
}

#[prompt]
async fn fails(how: String) -> Result<String, ToolError> {
    Err(ToolError::new(how))
}

#[prompt]
async fn whole() -> Result<GetPromptResult, RpcError> {
    let mut result = GetPromptResult::default();
    result.description = Some("its own".into());
    Ok(result)
}

fn server() -> Server {
    let by_hand = Prompt::new("by hand", async |texts: Texts| {
        Ok::<_, RpcError>(ContentBlock::text(format!("{:?}", texts.optional::<u8>("n")?)))
    })
    .optional("n", "A number");
    let stateless = Prompt::new("stateless", async |_missing: State<u64>| "never");
    Server::builder("test", "1")
        .state("pre".to_owned())
        .prompts(prompts![greet, talk_of, fails, whole])
        .prompt(by_hand)
        .prompt(stateless)
        .build()
}

#[tokio::test]
async fn functions_are_listed_with_their_arguments() {
    for revision in ["2024-11-05", NEW] {
        let mut talk = Talk::with(&server(), revision).await;
        let list = talk.result("prompts/list", json!({})).await;
        let prompts = list["prompts"].as_array().unwrap();
        let names: Vec<&str> = prompts.iter().map(|p| p["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a talk", "by hand", "fails", "greet", "stateless", "whole"]);
        let mut greet = prompts[3].clone();
        if revision == NEW {
            assert_eq!(greet["title"], "Greeting");
        }
        greet.as_object_mut().unwrap().remove("title");
        assert_eq!(
            greet,
            json!({ "name": "greet", "description": "Greets somebody.", "arguments": [
                { "name": "name", "description": "Who is greeted", "required": true },
                { "name": "times" }, { "name": "type" }, { "name": "loud" },
            ] })
        );
        assert_eq!(prompts[0]["description"], "Two who talk.");
    }
}

#[tokio::test]
async fn arguments_are_texts_that_are_parsed() {
    let mut talk = Talk::with(&server(), NEW).await;
    let mut get = async |name: &str, arguments: Value| {
        talk.ask("prompts/get", json!({ "name": name, "arguments": arguments })).await
    };
    let said = |answer: &Value| answer["result"]["messages"][0]["content"]["text"].clone();
    let answer = get("greet", json!({ "name": "Ada" })).await;
    assert_eq!(said(&answer), "pre Ada 2 None false");
    assert_eq!(answer["result"]["messages"][0]["role"], "user");
    assert_eq!(answer["result"]["description"], "Greets somebody.");
    assert_eq!(answer["result"]["resultType"], "complete");
    let all = json!({ "name": "", "times": "3", "type": "t", "loud": "true" });
    assert_eq!(said(&get("greet", all).await), "pre  3 Some(\"t\") true");
    let answer = get("a talk", json!({ "topic": "x" })).await;
    assert_eq!(answer["result"]["messages"][1]["role"], "assistant");
    assert_eq!(said(&get("by hand", json!(null)).await), "None");
    assert_eq!(said(&get("by hand", json!({ "n": "7" })).await), "Some(7)");
    assert_eq!(get("whole", json!({})).await["result"]["description"], "its own");
}

#[tokio::test]
async fn d068_what_is_wrong_with_a_prompt_is_said_with_a_code() {
    for revision in ["2025-11-25", NEW] {
        let mut talk = Talk::with(&server(), revision).await;
        for (params, code, text) in [
            (json!({ "name": "nope" }), -32602, "unknown prompt \"nope\""),
            (json!({}), -32602, "params.name"),
            (json!({ "name": "greet" }), -32602, "greet needs name"),
            (json!({ "name": "greet", "arguments": [] }), -32602, "must be an object"),
            (json!({ "name": "greet", "arguments": { "name": 7 } }), -32602, "hold strings"),
            (
                json!({ "name": "greet", "arguments": { "name": "a", "times": "-1" } }),
                -32602,
                "argument \"times\": invalid digit",
            ),
            (json!({ "name": "fails", "arguments": { "how": "badly" } }), -32603, "badly"),
            (json!({ "name": "stateless" }), -32603, "no state u64"),
        ] {
            let answer = talk.ask("prompts/get", params.clone()).await;
            assert_eq!(answer["error"]["code"], code, "{params}: {answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(text), "{params}: {message}");
        }
    }
}

#[tokio::test]
async fn a_server_without_prompts_does_not_know_them() {
    let mut talk = Talk::with(&Server::builder("test", "1").build(), "2025-11-25").await;
    assert!(talk.capabilities.get("prompts").is_none());
    assert_eq!(talk.code("prompts/list", json!({})).await, -32601);
}

/// Asks for what it needs.
#[prompt]
async fn asks(context: Context) -> Result<String, ToolError> {
    Ok(format!("{} roots", context.roots().await?.len()))
}

#[tokio::test]
async fn a_prompt_asks_its_client_in_both_eras() {
    let server = Server::builder("test", "1").prompts(prompts![asks]).build();
    for era in [Era::Legacy, Era::Modern] {
        let (ours, theirs) = memory();
        let server = server.clone();
        tokio::spawn(async move { serve(&server, theirs).await });
        let mut config = ClientConfig::new(Implementation::new("tests", "0"));
        config.era = Some(era);
        let handlers = crate::client::Handlers::new()
            .roots(async || Ok(vec![carrick_proto::types::Root::new("file:///a")]));
        let client = Client::connect(ours, config, handlers).await.unwrap();
        let result = client.get_prompt("asks", &serde_json::Map::new()).await.unwrap();
        assert_eq!(result.messages[0].content.as_text(), Some("1 roots"));
    }
}
