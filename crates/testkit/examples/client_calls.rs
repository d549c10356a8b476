//! A client that benches measure: it calls the tool `echo` one by one.
//!
//! `client_calls stdio COUNT SIZE -- COMMAND…` starts a server, `client_calls http COUNT SIZE URL`
//! goes to one that runs. It prints one line of JSON: how many calls there were, how long they
//! took, the processor time of this process, and the median of a single one.

use carrick::Client;
use carrick::client::{ClientConfig, Hooks};
use carrick::net::{HttpClient, Options};
use carrick::transport::child::{Command, Environment};
use carrick::transport::http::{HttpOptions, HttpTransport};
use carrick::types::Implementation;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use serde_json::json;
use std::error::Error;
use std::time::{Duration, Instant};

type Result<T = ()> = std::result::Result<T, Box<dyn Error>>;

/// Calls before those that count.
const WARM_UP: usize = 200;

#[expect(clippy::print_stdout, reason = "its report")]
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (client, count, size) = match words[..] {
        ["stdio", count, size, "--", program, ref rest @ ..] => {
            (start(program, rest).await?, count, size)
        }
        ["http", count, size, url] => (connect(url).await?, count, size),
        _ => {
            return Err(
                "usage: client_calls stdio COUNT SIZE -- COMMAND… | http COUNT SIZE URL".into()
            );
        }
    };
    println!("{}", measure(&client, count.parse()?, size.parse()?).await?);
    client.close().await;
    Ok(())
}

fn config() -> ClientConfig {
    ClientConfig::new(Implementation::new("client-calls", "1.0.0"))
}

async fn start(program: &str, arguments: &[&str]) -> Result<Client> {
    let mut command = Command::new(program);
    command.args = arguments.iter().map(Into::into).collect();
    command.base = Environment::capture();
    Ok(Client::spawn(&command, config(), Hooks::default(), Duration::from_secs(1)).await?)
}

async fn connect(url: &str) -> Result<Client> {
    let none: [(&str, &str); 0] = [];
    let http = HttpClient::new(Options::default());
    let transport = HttpTransport::new(http, url, none, HttpOptions::default())?;
    Ok(Client::connect(transport, config(), Hooks::default()).await?)
}

/// Calls so often and gives the report.
async fn measure(client: &Client, count: usize, size: usize) -> Result<serde_json::Value> {
    let text = text(size);
    for _ in 0..WARM_UP {
        call(client, &text).await?;
    }
    let mut latencies = Vec::with_capacity(count);
    let (begun, before) = (Instant::now(), spent()?);
    for _ in 0..count {
        let sent = Instant::now();
        call(client, &text).await?;
        latencies.push(sent.elapsed());
    }
    let (elapsed, after) = (begun.elapsed(), spent()?);
    latencies.sort_unstable();
    let middle = latencies.get(count / 2).copied().unwrap_or_default();
    Ok(json!({
        "requests": count,
        "elapsed_ns": nanoseconds(elapsed),
        "cpu_ns": nanoseconds(after.saturating_sub(before)),
        "p50_ns": nanoseconds(middle),
    }))
}

async fn call(client: &Client, text: &str) -> Result {
    let arguments = json!({ "message": text }).to_string();
    let result = client.call_tool("echo", arguments.as_bytes()).await?;
    let echoed = result.content.first().and_then(|content| content.as_text());
    match echoed {
        Some(echoed) if echoed.len() == text.len() => Ok(()),
        _ => Err("not the echo".into()),
    }
}

/// Text of `size` bytes; one in every 80 needs an escape in JSON.
fn text(size: usize) -> String {
    const LINE: &str =
        "The quick brown fox jumps over the lazy dog and then it runs back home 0123456\n";
    LINE.chars().cycle().take(size).collect()
}

/// The processor time of this process so far.
fn spent() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let time = usage.user_time() + usage.system_time();
    Ok(Duration::from_micros(time.num_microseconds().unsigned_abs()))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
