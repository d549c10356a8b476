//! rmcp's client, and what its calls cost the process that makes them.
//!
//! - `stdio COUNT SIZE -- COMMAND…`, `http COUNT SIZE URL`: as its documentation has it,
//!   which over HTTP opens a connection for every call.
//! - `stdio-tuned COUNT SIZE -- COMMAND…`, `http-tuned COUNT SIZE URL`: on a single thread;
//!   over HTTP with a client that keeps its connection.
//!
//! The start is the one that suits any server: in the newest revision where the server has
//! it, and with a handshake otherwise.
//!
//! Calls `echo` with a text of SIZE bytes COUNT times, one at a time, after some calls that
//! do not count, and prints one line of JSON. `cpu_ns` is the time on the processor, in and
//! out of the kernel, of this process alone.

use std::io;
use std::time::{Duration, Instant};

use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt as _, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::json;
use tokio::process::Command;
use tokio::runtime::Builder;

/// The calls before those that count.
const WARM_UP: usize = 200;

/// One in every 80 characters needs an escape in JSON, as the load generators have it.
const LINE: &str =
    "The quick brown fox jumps over the lazy dog and then it runs back home 0123456\n";

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Client = RunningService<RoleClient, ClientConfig>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let is_tuned = arguments.first().is_some_and(|mode| mode.ends_with("-tuned"));
    let mut runtime =
        if is_tuned { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    runtime.enable_all().build()?.block_on(run(&arguments))
}

async fn run(arguments: &[&str]) -> Result<(), Failure> {
    let config = ClientConfig::default();
    let start = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    let (client, count, size) = match *arguments {
        ["stdio" | "stdio-tuned", count, size, "--", program, ref rest @ ..] => {
            let mut command = Command::new(program);
            command.args(rest);
            let server = TokioChildProcess::new(command)?;
            (config.serve_with_lifecycle(server, start).await?, count, size)
        }
        ["http", count, size, url] => {
            let server = StreamableHttpClientTransport::from_uri(url);
            (config.serve_with_lifecycle(server, start).await?, count, size)
        }
        ["http-tuned", count, size, url] => {
            let server = StreamableHttpClientTransport::with_client(
                reqwest::Client::new(),
                StreamableHttpClientTransportConfig::with_uri(url),
            );
            (config.serve_with_lifecycle(server, start).await?, count, size)
        }
        _ => {
            return Err("usage: client-rmcp stdio[-tuned] COUNT SIZE -- COMMAND… | \
                        http[-tuned] COUNT SIZE URL"
                .into());
        }
    };
    let text: String = LINE.chars().cycle().take(size.parse()?).collect();
    measure(&client, count.parse()?, &text).await?;
    client.cancel().await?;
    Ok(())
}

async fn measure(client: &Client, count: usize, text: &str) -> Result<(), Failure> {
    for _ in 0..WARM_UP {
        echo(client, text).await?;
    }
    let mut latencies = Vec::with_capacity(count);
    let (begin, spent) = (Instant::now(), spent_by_this_process()?);
    for _ in 0..count {
        let sent = Instant::now();
        echo(client, text).await?;
        latencies.push(sent.elapsed());
    }
    let (elapsed, spent) = (begin.elapsed(), spent_by_this_process()?.saturating_sub(spent));
    latencies.sort_unstable();
    let median = latencies.get(count / 2).copied().unwrap_or_default();
    let report = json!({
        "requests": count,
        "elapsed_ns": nanoseconds(elapsed),
        "cpu_ns": nanoseconds(spent),
        "p50_ns": nanoseconds(median),
    });
    println!("{report}");
    Ok(())
}

async fn echo(client: &Client, text: &str) -> Result<(), Failure> {
    let arguments = [("message".to_owned(), text.into())].into_iter().collect();
    let call = CallToolRequestParams::new("echo").with_arguments(arguments);
    let answer = client.call_tool(call).await?;
    match answer.content.first().and_then(|content| content.as_text()) {
        Some(echo) if echo.text.len() == text.len() => Ok(()),
        _ => Err(format!("not the echo: {answer:?}").into()),
    }
}

/// User and system time so far, of ended threads too and not of children.
fn spent_by_this_process() -> io::Result<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call gets a pointer to a live local of the type that it fills in.
    if unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0)))
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
