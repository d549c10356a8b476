//! Sessions that are opened and left: all of them go in time, and so does their
//! memory.

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use carrick::transport::http::{HttpServer, HttpServerOptions};
use carrick::{Server, tool, tools};
use serde_json::json;

use super::Outcome;
use super::memory::resident_kib;
use super::raw::{Result, Target, whole};

const SESSIONS: usize = 10_000;

/// How long one of them lives when nobody uses it. Opening all of them must not
/// take as long.
const IDLE: Duration = Duration::from_secs(60);

/// Until the server has made sessions small that are idle, and for its sweeps.
const SWEPT: Duration = Duration::from_secs(20);

/// How much larger the server may be when all are gone.
const GROWTH: f64 = 1.2;

/// Who opens sessions at a time.
const OPENERS: usize = 4;

/// Says a text back.
#[tool]
async fn echo(text: String) -> String {
    text
}

/// The server under test, in a process of its own: binds a free port, hands the
/// address to `listening`, and serves until the process ends.
///
/// # Errors
///
/// When the port cannot be bound or used.
pub async fn serve(listening: impl FnOnce(SocketAddr)) -> std::result::Result<(), Box<dyn Error>> {
    let server = Server::builder("soak", "1.0.0").tools(tools![echo]).build();
    let mut options = HttpServerOptions::default();
    options.session_idle = IDLE;
    options.session_half_open = IDLE;
    let http = HttpServer::bind(server, ([127, 0, 0, 1], 0).into(), options).await?;
    listening(http.local_addr());
    http.serve(std::future::pending()).await?;
    Ok(())
}

/// The server's process, which ends with this.
struct Served {
    child: Child,
    target: Target,
}

impl Served {
    fn start() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        let mut child = command.arg("serve").stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
        let Ok(address) = line.trim().parse() else {
            child.kill()?;
            child.wait()?;
            return Err(format!("the server does not listen: {line:?}").into());
        };
        Ok(Self { child, target: Target::new(address) })
    }

    fn resident_kib(&self) -> Result<u64> {
        resident_kib(self.child.id())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Fails only when it has ended already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

pub(super) async fn run(time: Duration) -> Outcome {
    let served = Served::start()?;
    // What a server keeps for good, it has after a few.
    open(&served.target, 100).await?;
    tokio::time::sleep(SWEPT).await;
    let before = served.resident_kib()?;
    let mut lines = vec![format!("before: {before} KiB")];
    let begin = Instant::now();
    loop {
        let sessions = open(&served.target, SESSIONS).await?;
        let opened = served.resident_kib()?;
        tokio::time::sleep(SWEPT).await;
        let idle = served.resident_kib()?;
        let each = |now: u64| now.saturating_sub(before) as f64 / SESSIONS as f64;
        let (busy, rest) = (each(opened), each(idle));
        tokio::time::sleep(IDLE).await;
        for session in &sessions {
            let status = served.target.ping(session).await?;
            if status != 404 {
                return Err(format!("session {session} lives on: {status}").into());
            }
        }
        let after = served.resident_kib()?;
        let growth = after as f64 / before as f64;
        lines.push(format!(
            "{SESSIONS} sessions: {busy:.2} KiB each when opened, {rest:.2} when idle; \
             afterwards {after} KiB, {growth:.2} times as much"
        ));
        if growth > GROWTH {
            lines.push(format!("more than {GROWTH} times"));
            return Err(lines.join("\n").into());
        }
        if begin.elapsed() >= time {
            return Ok(lines);
        }
    }
}

/// Opens sessions, each with one call.
async fn open(target: &Target, count: usize) -> Result<Vec<String>> {
    let openers = (0..OPENERS).map(|opener| {
        let target = target.clone();
        async move {
            let mut sessions = Vec::new();
            for _ in (opener..count).step_by(OPENERS) {
                let session = target.open().await?;
                let answer = target.call(&session, 1, "echo", &json!({ "text": "hello" })).await?;
                let answer = whole(answer).await?;
                if answer.len() != 1 || answer[0]["result"]["content"][0]["text"] != "hello" {
                    return Err(format!("no echo: {answer:?}").into());
                }
                sessions.push(session);
            }
            Result::Ok(sessions)
        }
    });
    Ok(futures_util::future::try_join_all(openers).await?.concat())
}
