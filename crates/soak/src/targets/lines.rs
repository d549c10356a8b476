//! Cutting a stream into lines does not depend on how it arrives.

use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use carrick::transport::stdio::Lines;
use tokio::io::{AsyncRead, ReadBuf};

use super::{head, pieces, with_heads};
use crate::corpus;

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let mut files = corpus::files("jsonl");
    files.extend(corpus::files("txt"));
    files.push("\u{FEFF}{}\n\u{FEFF}{}\n".into());
    with_heads(&[&[0, 0xff], &[3, 40], &[0xff, 0xff]], files)
}

pub(super) fn run(data: &[u8]) {
    let ([choice, limit], data) = head(data);
    // Small, so that lines are refused, or larger than every input.
    let limit = if limit == 0xff { 1 << 20 } else { usize::from(limit) };
    let arrived = read(pieces(data, choice), limit);
    assert_eq!(arrived, naive(data, limit));
}

/// A line, or none for one that was refused; and what has no end.
type Read = (Vec<Option<Vec<u8>>>, Option<Vec<u8>>);

/// One piece of the input at a time.
struct Arriving<I>(I);

impl<'a, I: Iterator<Item = &'a [u8]> + Unpin> AsyncRead for Arriving<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        // There is always more room than a piece has bytes.
        buffer.put_slice(self.0.next().unwrap_or_default());
        Poll::Ready(Ok(()))
    }
}

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>, limit: usize) -> Read {
    let mut lines = Lines::new(limit);
    let mut arriving = Arriving(Box::new(pieces) as Box<dyn Iterator<Item = &'a [u8]>>);
    let mut found = Vec::new();
    loop {
        let filled = {
            let fill = pin!(lines.fill(&mut arriving));
            fill.poll(&mut Context::from_waker(Waker::noop()))
        };
        let Poll::Ready(Ok(count)) = filled else { panic!("reading is always ready") };
        loop {
            match lines.next_line() {
                Ok(Some(line)) => found.push(Some(line.to_vec())),
                Ok(None) => break,
                Err(_) => found.push(None),
            }
        }
        if count == 0 {
            return (found, lines.unfinished().map(|line| line.to_vec()));
        }
    }
}

fn naive(data: &[u8], limit: usize) -> Read {
    let mark = "\u{FEFF}".as_bytes();
    if !data.is_empty() && data.len() < mark.len() && mark.starts_with(data) {
        // Whether it is a mark would have been told by what did not come.
        return (Vec::new(), Some(data.to_vec()));
    }
    let data = data.strip_prefix(mark).unwrap_or(data);
    let mut lines: Vec<&[u8]> = data.split(|byte| *byte == b'\n').collect();
    let last = lines.pop().unwrap_or_default();
    let content = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
    let kept = |line: &[u8]| Some(content(line)).filter(|line| line.len() <= limit);
    let mut found: Vec<_> = lines.into_iter().map(kept).collect();
    match kept(last) {
        // A line that is too long is refused before its end has come.
        None => {
            found.push(None);
            (found, None)
        }
        Some(last) => (found, Some(last).filter(|line| !line.is_empty())),
    }
}
