//! A client at a pipe.

use super::known::Known;
use super::requests::serve;
use carrick::server::{ConnectionInfo, Principal, TransportKind};
use carrick_gateway::Gateway;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, split};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// The connection; it breaks when this is dropped.
pub(super) struct Pipe {
    lines: mpsc::UnboundedSender<Vec<u8>>,
    reader: AbortHandle,
    writer: AbortHandle,
}

impl Pipe {
    pub(super) fn open(gateway: &Gateway, principal: Option<Principal>, known: Arc<Known>) -> Self {
        let mut info = ConnectionInfo::new(TransportKind::Stdio);
        if let Some(principal) = principal {
            info = info.with_principal(principal);
        }
        let (reader, mut writer) = split(serve(gateway, info, Duration::from_secs(1)));
        let (lines, mut queue) = mpsc::unbounded_channel::<Vec<u8>>();
        let reader = tokio::spawn(async move {
            let mut reader = BufReader::new(reader);
            let mut line = Vec::new();
            while reader.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
                known.message(&line);
                line.clear();
            }
            known.set_gone();
        });
        let writer = tokio::spawn(async move {
            while let Some(line) = queue.recv().await {
                if writer.write_all(&line).await.is_err() {
                    return;
                }
            }
        });
        Self { lines, reader: reader.abort_handle(), writer: writer.abort_handle() }
    }

    pub(super) fn send(&self, message: &Value) {
        let mut line = message.to_string().into_bytes();
        line.push(b'\n');
        // Without the writer the connection has ended.
        let _ = self.lines.send(line);
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        self.reader.abort();
        self.writer.abort();
    }
}
