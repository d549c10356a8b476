//! The other ends: clients and servers in threads of their own, whose allocations do not count.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use carrick_proto::revision::Revision;

use crate::Result;
use micro::messages::{self, answer, has_session, opening};

/// Opens a conversation over lines and makes so many calls, one at a time.
pub(crate) fn call_by_lines(
    stream: UnixStream,
    revision: Revision,
    text: &str,
    calls: u64,
) -> Result<()> {
    let mut reader = BufReader::new(&stream);
    let mut line = Vec::new();
    let mut exchange = |message: &str| -> Result<()> {
        (&stream).write_all(message.as_bytes())?;
        line.clear();
        if message.contains("\"id\"") {
            reader.read_until(b'\n', &mut line)?;
            expect_result(&line)?;
        }
        Ok(())
    };
    for message in opening(revision) {
        exchange(&format!("{message}\n"))?;
    }
    let call = format!("{}\n", messages::echo(revision, text));
    (0..calls).try_for_each(|_| exchange(&call))
}

/// The same over HTTP, on one connection.
pub(crate) fn call_by_http(
    address: SocketAddr,
    revision: Revision,
    text: &str,
    calls: u64,
) -> Result<()> {
    let mut reader = BufReader::new(TcpStream::connect(address)?);
    reader.get_ref().set_nodelay(true)?;
    let mut session = String::new();
    let mut body = Vec::new();
    for message in opening(revision) {
        reader.get_ref().write_all(post(address, revision, &session, &message).as_bytes())?;
        let head = read_message(&mut reader, &mut body)?;
        if let Some(id) = value(&head, "mcp-session-id") {
            session = format!("mcp-session-id: {id}\r\n");
        }
    }
    let call = post(address, revision, &session, &messages::echo(revision, text));
    for _ in 0..calls {
        reader.get_ref().write_all(call.as_bytes())?;
        read_message(&mut reader, &mut body)?;
        expect_result(&body)?;
    }
    Ok(())
}

fn post(address: SocketAddr, revision: Revision, session: &str, message: &str) -> String {
    let mirrored = match has_session(revision) {
        true => session,
        false => "mcp-method: tools/call\r\nmcp-name: echo\r\n",
    };
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\ncontent-length: {}\r\nmcp-protocol-version: {revision}\r\n{mirrored}\r\n{message}",
        message.len()
    )
}

fn expect_result(answer: &[u8]) -> Result<()> {
    const REACH: usize = 200;
    let start = &answer[..answer.len().min(REACH)];
    if memchr::memmem::find(start, b"\"result\"").is_some() {
        return Ok(());
    }
    Err(format!("no result: {}", String::from_utf8_lossy(start)).into())
}

/// A server over lines, until its client is gone.
pub(crate) fn serve_lines(revision: Revision) -> Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    thread::spawn(move || -> std::io::Result<()> {
        let mut reader = BufReader::new(&theirs);
        let (mut line, mut out) = (Vec::new(), Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 {
            answer(revision, &line, &mut out);
            if !out.is_empty() {
                out.push(b'\n');
                (&theirs).write_all(&out)?;
            }
            line.clear();
            out.clear();
        }
        Ok(())
    });
    Ok(ours)
}

/// A server over HTTP, for as long as the process lives.
pub(crate) fn serve_http(revision: Revision) -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || exchanges(revision, stream));
        }
    });
    Ok(address)
}

fn exchanges(revision: Revision, stream: TcpStream) -> Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    let (mut body, mut out, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let head = read_message(&mut reader, &mut body)?;
        out.clear();
        whole.clear();
        let is_post = head.starts_with("POST");
        if is_post {
            answer(revision, &body, &mut out);
        }
        let status = match (is_post, out.is_empty()) {
            (false, _) => "405 No",
            (true, true) => "202 Taken",
            (true, false) => "200 OK",
        };
        let session = if has_session(revision) { "mcp-session-id: one\r\n" } else { "" };
        write!(
            whole,
            "HTTP/1.1 {status}\r\ncontent-type: application/json\r\n{session}content-length: {}\r\n\r\n",
            out.len()
        )?;
        whole.extend_from_slice(&out);
        reader.get_mut().write_all(&whole)?;
    }
}

/// Reads a head, which is given back, and a body of the
/// length that it names.
fn read_message(reader: &mut BufReader<TcpStream>, body: &mut Vec<u8>) -> Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Err("the connection was closed".into());
        }
    }
    let length = value(&head, "content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
    body.resize(length, 0);
    reader.read_exact(body)?;
    Ok(head)
}

fn value<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let mut values = lines.filter(|(found, _)| found.eq_ignore_ascii_case(name));
    values.next().map(|(_, value)| value.trim())
}
