//! One kept connection: requests as prepared bytes, answers read as far as needed.

use std::io::Write as _;
use std::ops::Range;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::message::{INITIALIZE, INITIALIZED, excerpt, looks_like_result};
use crate::{Mode, Outcome};

/// A connection to a server, with its session.
pub(super) struct Connection {
    stream: TcpStream,
    host: String,
    path: String,
    session: Option<String>,
    request: Vec<u8>,
    buffer: Vec<u8>,
    /// How much of the buffer was used.
    used: usize,
    body: Vec<u8>,
}

/// The part of an answer before its body.
#[derive(Debug, Default, PartialEq, Eq)]
struct Head {
    status: u16,
    length: usize,
    is_chunked: bool,
    session: Option<String>,
}

impl Connection {
    pub(super) async fn open(host: &str, path: &str) -> Outcome<Connection> {
        let stream = TcpStream::connect(host).await.map_err(|error| format!("connect: {error}"))?;
        stream.set_nodelay(true).map_err(|error| error.to_string())?;
        Ok(Connection {
            stream,
            host: host.to_owned(),
            path: path.to_owned(),
            session: None,
            request: Vec::new(),
            buffer: Vec::with_capacity(64 << 10),
            used: 0,
            body: Vec::new(),
        })
    }

    pub(super) fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// The body of the last answer.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Begins a new session.
    pub(super) async fn initialize(&mut self) -> Outcome<()> {
        self.session = None;
        self.prepare(Mode::Legacy, "initialize", "", &[INITIALIZE.as_bytes()]);
        self.expect_result().await?;
        self.prepare(Mode::Legacy, "notifications/initialized", "", &[INITIALIZED.as_bytes()]);
        match self.exchange().await? {
            200..=299 => Ok(()),
            status => Err(self.describe(status)),
        }
    }

    /// Sends what is prepared; anything but a result is an error.
    pub(super) async fn expect_result(&mut self) -> Outcome<()> {
        match self.exchange().await? {
            200 if memchr::memmem::find(&self.body, b"\"result\"").is_some() => Ok(()),
            status => Err(self.describe(status)),
        }
    }

    /// Makes the next request of a message in parts.
    pub(super) fn prepare(&mut self, mode: Mode, method: &str, name: &str, message: &[&[u8]]) {
        let length: usize = message.iter().map(|part| part.len()).sum();
        let out = &mut self.request;
        out.clear();
        // Writing to memory does not fail.
        let _ = write!(
            out,
            "POST {} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {length}\r\n",
            self.path, self.host
        );
        if mode == Mode::Stateless || method != "initialize" {
            let _ = write!(out, "mcp-protocol-version: {}\r\n", mode.revision());
        }
        if mode == Mode::Stateless {
            let _ = write!(out, "mcp-method: {method}\r\n");
            if !name.is_empty() {
                let _ = write!(out, "mcp-name: {name}\r\n");
            }
        } else if let Some(session) = &self.session {
            let _ = write!(out, "mcp-session-id: {session}\r\n");
        }
        out.extend_from_slice(b"\r\n");
        message.iter().for_each(|part| out.extend_from_slice(part));
    }

    /// Sends what is prepared and reads the answer; its status.
    pub(super) async fn exchange(&mut self) -> Outcome<u16> {
        self.stream.write_all(&self.request).await.map_err(|error| format!("write: {error}"))?;
        let head = self.until(b"\r\n\r\n").await?;
        let head = Head::parse(&self.buffer[head])?;
        if head.session.is_some() {
            self.session = head.session;
        }
        self.body.clear();
        if !head.is_chunked {
            self.take(head.length, true).await?;
            return Ok(head.status);
        }
        loop {
            let line = self.until(b"\r\n").await?;
            let length = chunk_length(&self.buffer[line])?;
            self.take(length, true).await?;
            self.take(b"\r\n".len(), false).await?;
            if length == 0 {
                return Ok(head.status);
            }
        }
    }

    /// The JSON of the last answer: its body, or the event with the result.
    pub(super) fn json(&self) -> &[u8] {
        if self.body.first() == Some(&b'{') {
            return &self.body;
        }
        let data =
            self.body.split(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"data:"));
        data.map(<[u8]>::trim_ascii).find(|data| looks_like_result(data)).unwrap_or(&self.body)
    }

    pub(super) fn describe(&self, status: u16) -> String {
        format!("status {status}: {}", excerpt(&self.body))
    }

    /// Reads up to and over a mark; the bytes before it.
    async fn until(&mut self, mark: &[u8]) -> Outcome<Range<usize>> {
        let mut seen = 0;
        loop {
            if let Some(length) = memchr::memmem::find(&self.buffer[self.used + seen..], mark) {
                let found = self.used..self.used + seen + length;
                self.used = found.end + mark.len();
                return Ok(found);
            }
            // The mark may have begun at the end of what is there.
            seen = (self.buffer.len() - self.used).saturating_sub(mark.len() - 1);
            self.fill().await?;
        }
    }

    /// Reads a number of bytes, into the body if they are kept.
    async fn take(&mut self, mut count: usize, keep: bool) -> Outcome<()> {
        while count > 0 {
            if self.used == self.buffer.len() {
                self.fill().await?;
            }
            let part = count.min(self.buffer.len() - self.used);
            if keep {
                self.body.extend_from_slice(&self.buffer[self.used..self.used + part]);
            }
            self.used += part;
            count -= part;
        }
        Ok(())
    }

    /// Reads more. What is not used yet stays where it is relative to `used`.
    async fn fill(&mut self) -> Outcome<()> {
        const ROOM: usize = 16 << 10;
        if self.used == self.buffer.len() {
            self.buffer.clear();
            self.used = 0;
        } else if self.buffer.capacity() - self.buffer.len() < ROOM {
            self.buffer.drain(..self.used);
            self.used = 0;
        }
        self.buffer.reserve(ROOM);
        match self.stream.read_buf(&mut self.buffer).await {
            Ok(0) => Err("the server closed the connection".into()),
            Ok(_) => Ok(()),
            Err(error) => Err(format!("read: {error}")),
        }
    }
}

impl Head {
    fn parse(head: &[u8]) -> Outcome<Head> {
        let text = std::str::from_utf8(head).map_err(|_| "the head is no text")?;
        let (first, rest) = text.split_once("\r\n").unwrap_or((text, ""));
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let mut parsed = Head {
            status: status.ok_or_else(|| format!("no status in {first:?}"))?,
            ..Head::default()
        };
        for (name, value) in rest.split("\r\n").filter_map(|line| line.split_once(':')) {
            let value = value.trim();
            if name.eq_ignore_ascii_case("content-length") {
                parsed.length = value.parse().map_err(|_| format!("a length of {value:?}"))?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                parsed.is_chunked = value.eq_ignore_ascii_case("chunked");
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                parsed.session = Some(value.to_owned());
            }
        }
        Ok(parsed)
    }
}

fn chunk_length(line: &[u8]) -> Outcome<usize> {
    let text = std::str::from_utf8(line).map_err(|_| "a chunk's length is no text")?;
    let digits = text.split(';').next().unwrap_or(text).trim();
    usize::from_str_radix(digits, 16).map_err(|_| format!("a chunk's length is {text:?}"))
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn heads_are_read() {
        let head = Head::parse(
            b"HTTP/1.1 202 Accepted\r\nContent-Length: 12\r\nMCP-Session-Id: abc \r\nx: y",
        )
        .unwrap();
        assert_eq!(
            head,
            Head { status: 202, length: 12, is_chunked: false, session: Some("abc".into()) }
        );
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked").unwrap().is_chunked);
        assert!(Head::parse(b"nonsense").is_err());
        assert!(Head::parse(b"HTTP/1.1 200 OK\r\ncontent-length: x").is_err());
    }

    #[test]
    fn chunk_lengths_are_hexadecimal() {
        assert_eq!(chunk_length(b"1f;name=value"), Ok(31));
        assert!(chunk_length(b"x").is_err());
    }

    /// Answers a request with these parts, each in a write of its own.
    async fn answer(parts: &'static [&'static str]) -> Connection {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut connection =
            Connection::open(&listener.local_addr().unwrap().to_string(), "/mcp").await.unwrap();
        let (mut stream, _) = listener.accept().await.unwrap();
        let serve = async move {
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).await.unwrap() > 0);
            for part in parts {
                stream.write_all(part.as_bytes()).await.unwrap();
                tokio::task::yield_now().await;
            }
        };
        connection.prepare(Mode::Stateless, "tools/list", "", &[b"{}"]);
        let (status, ()) = tokio::join!(connection.exchange(), serve);
        assert_eq!(status, Ok(200));
        connection
    }

    #[tokio::test]
    async fn bodies_are_read_whole_however_they_arrive() {
        let plain =
            answer(&["HTTP/1.1 200 OK\r\ncontent-le", "ngth: 12\r\n\r", "\n{\"result\"", ":1}"])
                .await;
        assert_eq!(plain.body(), br#"{"result":1}"#);
        let chunked = answer(&[
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n16\r\n: hi\n\nda",
            "ta: {\"result\":",
            "\r",
            "\n4\r\n1}\n\n\r\n0\r\n\r\n",
        ])
        .await;
        assert_eq!(chunked.json(), br#"{"result":1}"#);
    }
}
