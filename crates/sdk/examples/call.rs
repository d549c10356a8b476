//! A client: starts a server as a child process and calls one of its tools.
//!
//! `cargo run -p carrick --example call -- PROGRAM TOOL [JSON]`

use carrick::client::ClientConfig;
use carrick::transport::child::{Command, Environment, guard_main};
use carrick::{Client, types::Implementation};
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    // First of all: this program is also the guard that ends the server with it.
    guard_main();
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(run())
}

#[expect(clippy::print_stdout, reason = "a program that prints what it got")]
async fn run() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(program), Some(tool)) = (words.next(), words.next()) else {
        return Err("usage: call PROGRAM TOOL [JSON]".into());
    };
    let arguments = words.next().unwrap_or_else(|| "{}".to_owned());

    let mut command = Command::new(program);
    command.base = Environment::capture();
    let config = ClientConfig::new(Implementation::new("call", "1.0.0"));
    let client = Client::spawn(&command, config, None, Duration::from_secs(2)).await?;
    println!("it speaks {}", client.server().revision);
    let result = client.call_tool(&tool, arguments.as_bytes()).await?;
    println!("{}", serde_json::to_string(&result)?);
    client.close().await;
    Ok(())
}
