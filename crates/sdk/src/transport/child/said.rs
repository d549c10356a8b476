//! A server's stderr in the log, line by line: level `INFO`, target `carrick::stderr`.

/// Bytes of a line that are logged; the rest of it is left out.
const MOST: usize = 4096;

/// The line that is being written.
#[derive(Debug, Default)]
pub(super) struct Said {
    line: Vec<u8>,
    left_out: usize,
}

impl Said {
    /// Logs the lines that these bytes end.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if !tracing::enabled!(target: "carrick::stderr", tracing::Level::INFO) {
            return;
        }
        self.each_line(bytes, |line| tracing::info!(target: "carrick::stderr", "{line}"));
    }

    /// Logs what the last line has, though it has not ended.
    pub(super) fn end(&mut self) {
        if !self.line.is_empty() {
            self.push(b"\n");
        }
    }

    fn each_line(&mut self, bytes: &[u8], mut log: impl FnMut(&str)) {
        for part in bytes.split_inclusive(|&byte| byte == b'\n') {
            let (text, ended) = match part.strip_suffix(b"\n") {
                Some(text) => (text, true),
                None => (part, false),
            };
            let room = MOST - self.line.len();
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            self.left_out += text.len().saturating_sub(room);
            if ended {
                let line = String::from_utf8_lossy(&self.line);
                let line = line.strip_suffix('\r').unwrap_or(&line);
                match self.left_out {
                    0 => log(line),
                    more => log(&format!("{line}… [{more} more bytes]")),
                }
                self.line.clear();
                self.left_out = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, Said};

    #[test]
    fn f76_lines_are_told_whole_and_bounded() {
        let mut said = Said::default();
        let mut lines = Vec::new();
        for bytes in [&b"one\ntw"[..], b"o\r\n", b"\nthr\xff", &[b'x'; 2 * MOST], b"\nrest"] {
            said.each_line(bytes, |line| lines.push(line.to_owned()));
        }
        assert_eq!(lines[..3], ["one", "two", ""]);
        assert!(lines[3].starts_with("thr\u{fffd}xxx"));
        assert!(lines[3].ends_with(&format!("x… [{} more bytes]", MOST + 4)), "{}", lines[3]);
        assert_eq!((lines.len(), said.line.len()), (4, 4));
    }
}
