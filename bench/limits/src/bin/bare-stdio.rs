//! The limit over stdio: blocking reads, and one write for all that a read brought.
//! `bare-stdio [--only legacy|modern] [--tools FILE]`

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;

const BUFFER: usize = 256 << 10;

fn main() -> io::Result<()> {
    let answers = limits::CommandLine::read()?.answers()?;
    // Plain files on the same pipes: no locks and no buffers between us and the system.
    let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; BUFFER];
    let mut out = Vec::with_capacity(BUFFER);
    let (mut start, mut end) = (0, 0);
    loop {
        if end == buffer.len() {
            if start == 0 {
                buffer.resize(buffer.len() * 2, 0);
            }
            buffer.copy_within(start..end, 0);
            (start, end) = (0, end - start);
        }
        let count = stdin.read(&mut buffer[end..])?;
        if count == 0 {
            return Ok(());
        }
        let mut scanned = end;
        end += count;
        while let Some(length) = memchr::memchr(b'\n', &buffer[scanned..end]) {
            let line = &buffer[start..scanned + length];
            if answers.answer(line, &mut out) != limits::Kind::Notification {
                out.push(b'\n');
            }
            start = scanned + length + 1;
            scanned = start;
        }
        if start == end {
            (start, end) = (0, 0);
        }
        if !out.is_empty() {
            stdout.write_all(&out)?;
            out.clear();
        }
    }
}
