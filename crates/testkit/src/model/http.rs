//! As much of HTTP/1.1 as a model's client needs.

use super::Request;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

/// Sizes of the pieces that a stream is written in, over and over: small ones cut within
/// characters and line ends, large ones hold many events.
const PIECES: &[usize] = &[1, 7, 2, 61, 3, 13, 1021, 5];

/// The largest body that is taken.
const BODY: u64 = 64 << 20;

/// The requests on one connection.
pub(super) struct Incoming<'a> {
    reader: BufReader<&'a TcpStream>,
}

impl<'a> Incoming<'a> {
    pub(super) fn new(stream: &'a TcpStream) -> Self {
        Self { reader: BufReader::new(stream) }
    }

    /// The next request; none when the client has closed.
    pub(super) fn next(&mut self) -> io::Result<Option<Request>> {
        let mut first = String::new();
        if self.reader.read_line(&mut first)? == 0 {
            return Ok(None);
        }
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let (mut headers, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line)?;
            let line = line.trim_end();
            let Some((name, value)) = line.split_once(':') else { break };
            let name = name.to_ascii_lowercase();
            if name == "content-length" {
                length = value.trim().parse().map_err(io::Error::other)?;
            }
            headers.push_str(&format!("{name}:{value}\n"));
        }
        let mut body = Vec::new();
        self.reader.by_ref().take(length.min(BODY)).read_to_end(&mut body)?;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Some(Request { path, headers, body }))
    }
}

/// Answers with a whole body.
pub(super) fn plain(mut stream: &TcpStream, status: u16, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
}

/// Answers with an event stream in awkward pieces.
pub(super) fn streamed(mut stream: &TcpStream, mut events: &[u8]) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\n\
          transfer-encoding: chunked\r\n\r\n",
    )?;
    for size in PIECES.iter().cycle() {
        if events.is_empty() {
            break;
        }
        let (piece, rest) = events.split_at(events.len().min(*size));
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        stream.write_all(&chunk)?;
        events = rest;
    }
    stream.write_all(b"0\r\n\r\n")
}
