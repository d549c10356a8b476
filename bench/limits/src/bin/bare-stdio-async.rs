//! The limit of an asynchronous design over stdio: tokio's pipes, the same parse.
//!
//! `bare-stdio-async inline` answers in the loop that reads. `bare-stdio-async spawn` has a
//! task for each request and a writer that joins what is ready into one write. With `mt`
//! behind it, tokio's threads instead of one.

use bytes::BytesMut;
use limits::{Answers, Kind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

const BUFFER: usize = 256 << 10;
/// How much room the buffer has at least before a read.
const ROOM: usize = 64 << 10;

fn main() -> std::io::Result<()> {
    let arguments = limits::CommandLine::read()?;
    let answers: &'static Answers = Box::leak(Box::new(arguments.answers()?));
    let is_set = |word: &str| arguments.words.iter().any(|argument| argument == word);
    let mut runtime =
        if is_set("mt") { Builder::new_multi_thread() } else { Builder::new_current_thread() };
    let spawn = is_set("spawn");
    runtime.enable_all().build()?.block_on(async move {
        let stdin = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0")?;
        let stdout = pipe::OpenOptions::new().open_sender("/proc/self/fd/1")?;
        if !spawn {
            return tokio::spawn(inline(answers, stdin, stdout)).await?;
        }
        let (sender, ready) = mpsc::channel(1024);
        let writer = tokio::spawn(write(ready, stdout));
        tokio::spawn(spawning(answers, stdin, sender)).await??;
        writer.await?
    })
}

/// Answers every line where it was read.
async fn inline(
    answers: &Answers,
    mut stdin: pipe::Receiver,
    mut stdout: pipe::Sender,
) -> std::io::Result<()> {
    let mut lines = Lines::default();
    let mut out = Vec::new();
    while lines.read(&mut stdin).await? {
        while let Some(line) = lines.next() {
            answer(answers, &line, &mut out);
        }
        if !out.is_empty() {
            stdout.write_all(&out).await?;
            out.clear();
        }
    }
    Ok(())
}

/// Answers every line in a task of its own.
async fn spawning(
    answers: &'static Answers,
    mut stdin: pipe::Receiver,
    sender: mpsc::Sender<Vec<u8>>,
) -> std::io::Result<()> {
    let mut lines = Lines::default();
    while lines.read(&mut stdin).await? {
        while let Some(line) = lines.next() {
            let sender = sender.clone();
            tokio::spawn(async move {
                let mut out = Vec::with_capacity(line.len() + 64);
                answer(answers, &line, &mut out);
                // The writer is gone only when the output is.
                let _ = sender.send(out).await;
            });
        }
    }
    Ok(())
}

async fn write(
    mut ready: mpsc::Receiver<Vec<u8>>,
    mut stdout: pipe::Sender,
) -> std::io::Result<()> {
    const BATCH: usize = 64;
    let (mut batch, mut out) = (Vec::new(), Vec::new());
    while ready.recv_many(&mut batch, BATCH).await > 0 {
        batch.drain(..).for_each(|answer| out.extend_from_slice(&answer));
        stdout.write_all(&out).await?;
        out.clear();
    }
    Ok(())
}

fn answer(answers: &Answers, line: &[u8], out: &mut Vec<u8>) {
    if answers.answer(line, out) != Kind::Notification {
        out.push(b'\n');
    }
}

/// The lines of a pipe.
struct Lines {
    buffer: BytesMut,
    /// How much of the buffer is known to hold no end of a line.
    scanned: usize,
}

impl Default for Lines {
    fn default() -> Self {
        Lines { buffer: BytesMut::with_capacity(BUFFER), scanned: 0 }
    }
}

impl Lines {
    /// Reads more; false at the end.
    async fn read(&mut self, pipe: &mut pipe::Receiver) -> std::io::Result<bool> {
        self.buffer.reserve(ROOM);
        Ok(pipe.read_buf(&mut self.buffer).await? > 0)
    }

    fn next(&mut self) -> Option<BytesMut> {
        let end = memchr::memchr(b'\n', &self.buffer[self.scanned..])
            .map(|length| self.scanned + length + 1);
        self.scanned = if end.is_some() { 0 } else { self.buffer.len() };
        end.map(|end| self.buffer.split_to(end))
    }
}
