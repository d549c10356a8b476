//! The limit of a client: prepared bytes, one call at a time, no more read than must be.
//!
//! `bare-client stdio COUNT SIZE -- COMMAND…` or `bare-client http COUNT SIZE URL`; prints
//! one line of JSON.

use std::error::Error;
use std::io::{self, Read as _, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use limits::{Call, Era, Measured, WARM_UP};
use tokio::net::TcpStream;
use tokio::runtime::Builder;

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let report = match words[..] {
        ["stdio", count, size, "--", program, ref rest @ ..] => {
            over_stdio(count.parse()?, size.parse()?, program, rest)?
        }
        ["http", count, size, url] => {
            let (count, size, url) = (count.parse()?, size.parse()?, url.parse()?);
            let mut runtime = Builder::new_current_thread();
            runtime.enable_all().build()?.block_on(over_http(count, size, url))?
        }
        _ => {
            return Err(
                "usage: bare-client stdio COUNT SIZE -- COMMAND… | http COUNT SIZE URL".into()
            );
        }
    };
    println!("{report}");
    Ok(())
}

fn over_stdio(count: usize, size: usize, program: &str, arguments: &[&str]) -> Outcome<String> {
    let mut server = Server::start(program, arguments)?;
    let era = server.open()?;
    let call = Call::new(era, size);
    let mut line = Vec::new();
    let mut one = |id: u64| -> Outcome<()> {
        line.clear();
        call.write(id, &mut line);
        line.push(b'\n');
        Ok(call.check(server.ask(&line)?)?)
    };
    (10..10 + WARM_UP).try_for_each(&mut one)?;
    let mut measured = Measured::begin(count);
    for id in (10 + WARM_UP..).take(count) {
        let sent = Instant::now();
        one(id)?;
        measured.add(sent.elapsed());
    }
    Ok(measured.finish())
}

/// A child process that answers line by line.
struct Server {
    child: Child,
    stdout: ChildStdout,
    buffer: Vec<u8>,
}

impl Server {
    fn start(program: &str, arguments: &[&str]) -> Outcome<Server> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let stdout = child.stdout.take().ok_or("no output")?;
        Ok(Server { child, stdout, buffer: vec![0; 1 << 20] })
    }

    /// Finds out what the server speaks.
    fn open(&mut self) -> Outcome<Era> {
        let answer = self.ask(format!("{}\n", Call::probe()).as_bytes())?;
        if memchr::memmem::find(answer, b"\"result\"").is_some() {
            return Ok(Era::Modern);
        }
        let [open, opened] = Call::handshake();
        self.ask(format!("{open}\n").as_bytes())?;
        self.write(format!("{opened}\n").as_bytes())?;
        Ok(Era::Legacy)
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let stdin = self.child.stdin.as_mut().ok_or_else(|| io::Error::other("no input"))?;
        stdin.write_all(line)
    }

    /// Writes a line and reads one: nothing else is under way.
    fn ask(&mut self, line: &[u8]) -> io::Result<&[u8]> {
        self.write(line)?;
        let mut end = 0;
        loop {
            if end == self.buffer.len() {
                self.buffer.resize(end * 2, 0);
            }
            let count = self.stdout.read(&mut self.buffer[end..])?;
            if count == 0 {
                return Err(io::Error::other("the server closed its output"));
            }
            end += count;
            if self.buffer[end - 1] == b'\n' {
                return Ok(&self.buffer[..end - 1]);
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends the server; if not, this does.
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

async fn over_http(count: usize, size: usize, url: Uri) -> Outcome<String> {
    let mut connection = Connection::open(url).await?;
    connection.begin().await?;
    let call = Call::new(connection.era, size);
    for id in 10..10 + WARM_UP {
        connection.call(&call, id).await?;
    }
    let mut measured = Measured::begin(count);
    for id in (10 + WARM_UP..).take(count) {
        let sent = Instant::now();
        connection.call(&call, id).await?;
        measured.add(sent.elapsed());
    }
    Ok(measured.finish())
}

/// One connection, with the session if there is one.
struct Connection {
    sender: SendRequest<Full<Bytes>>,
    url: Uri,
    host: HeaderValue,
    era: Era,
    session: Option<HeaderValue>,
}

impl Connection {
    async fn open(url: Uri) -> Outcome<Connection> {
        let host = url.authority().ok_or("no host in the URL")?.as_str();
        let stream = TcpStream::connect(host).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let host = HeaderValue::from_str(host)?;
        Ok(Connection { sender, url, host, era: Era::Modern, session: None })
    }

    /// Finds out what the server speaks.
    async fn begin(&mut self) -> Outcome<()> {
        let probe = self.request(Call::probe().into(), "server/discover", None);
        if self.send(probe).await?.0 == StatusCode::OK {
            return Ok(());
        }
        self.era = Era::Legacy;
        let [open, opened] = Call::handshake();
        for message in [open, opened] {
            let (status, _) = self.send(self.request(message.into(), "", None)).await?;
            if !status.is_success() {
                return Err(format!("status {status}").into());
            }
        }
        Ok(())
    }

    async fn call(&mut self, call: &Call, id: u64) -> Outcome<()> {
        let mut message = Vec::with_capacity(512);
        call.write(id, &mut message);
        let (_, answer) =
            self.send(self.request(message.into(), "tools/call", Some("echo"))).await?;
        Ok(call.check(&answer)?)
    }

    /// A request with the headers of a real client.
    fn request(
        &self,
        body: Bytes,
        method: &'static str,
        name: Option<&'static str>,
    ) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static("/mcp");
        if let Some(path) = self.url.path_and_query() {
            *request.uri_mut() = path.clone().into();
        }
        let headers = request.headers_mut();
        let named = HeaderName::from_static;
        let fixed = HeaderValue::from_static;
        headers.insert(HOST, self.host.clone());
        headers.insert(CONTENT_TYPE, fixed("application/json"));
        headers.insert(ACCEPT, fixed("application/json, text/event-stream"));
        match self.era {
            Era::Legacy => {
                headers.insert(named("mcp-protocol-version"), fixed("2025-11-25"));
                headers.extend(self.session.clone().map(|id| (named("mcp-session-id"), id)));
            }
            Era::Modern => {
                headers.insert(named("mcp-protocol-version"), fixed("2026-07-28"));
                headers.insert(named("mcp-method"), fixed(method));
                headers.extend(name.map(|name| (named("mcp-name"), fixed(name))));
            }
        }
        request
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> Outcome<(StatusCode, Bytes)> {
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        if let Some(id) = response.headers().get("mcp-session-id") {
            self.session = Some(id.clone());
        }
        let status = response.status();
        Ok((status, response.into_body().collect().await?.to_bytes()))
    }
}
