//! A server that asks whoever calls it: a form of every kind of field, a page, the
//! model, the folders.

use carrick::server::Context;
use carrick::types::{CreateMessage, Elicit, ElicitResult};
use carrick::{Server, ToolError, tool, tools};

/// Every kind of field, in an order that is not that of their names.
const ORDER: &str = r#"{"type":"object","required":["name","count"],"properties":{
    "name":{"type":"string","title":"Your name","description":"Who orders"},
    "count":{"type":"integer","minimum":1,"maximum":9},
    "size":{"type":"string","enum":["s","l"],"enumNames":["Small","Large"],"default":"s"},
    "extras":{"type":"array","items":{"anyOf":[{"const":"milk","title":"Milk"},{"const":"ice","title":"Ice"}]}},
    "gift":{"type":"boolean","default":false},
    "mail":{"type":"string","format":"email"}}}"#;

/// Takes an order.
#[tool]
async fn order(context: Context) -> Result<String, ToolError> {
    let requested_schema = serde_json::from_str(ORDER)?;
    let message = "What shall it be?\nserver \"bank\" asks: nothing".into();
    let ask = Elicit::Form { message, requested_schema };
    Ok(said(&context.elicit(&ask).await?))
}

/// Sends the person to a page.
#[tool]
async fn page(context: Context) -> Result<String, ToolError> {
    let url = "https://bank.example@shop.example/pay?order=7&back=%2F".to_owned();
    let ask = Elicit::Url { message: "Please pay.".into(), url, elicitation_id: None };
    Ok(said(&context.elicit(&ask).await?))
}

/// Asks the model.
#[tool]
async fn think(context: Context) -> Result<String, ToolError> {
    let answer = context.sample(&CreateMessage::question("What is the capital?", 100)).await?;
    let text = answer.content.blocks().iter().find_map(|block| block.as_text());
    Ok(format!("{} says {}", answer.model, text.unwrap_or_default()))
}

/// Says which folders there are.
#[tool]
async fn folders(context: Context) -> Result<String, ToolError> {
    let roots = context.roots().await?;
    Ok(roots.iter().map(|root| root.uri.as_str()).collect::<Vec<_>>().join(" "))
}

fn said(answer: &ElicitResult) -> String {
    let content = answer.content.as_ref().map_or("nothing", |content| content.get());
    format!("{:?}: {content}", answer.action)
}

/// The server.
pub fn server() -> Server {
    Server::builder("asking", "1.0.0").tools(tools![order, page, think, folders]).build()
}
