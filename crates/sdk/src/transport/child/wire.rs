//! What this process and the guard tell each other over their socket.
//!
//! First comes a length with the server's stdin, stdout and stderr attached, then that many bytes
//! of [`Spec`]. After that the guard sends [`Report`]s, and takes [`Order`]s of one byte. The end
//! of the stream, which the system sends when this process dies in whatever way, is the order to
//! end everything.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt as _, OsStringExt as _},
};

use super::{spec::Spec, status::ExitStatus, supervise::Order};

/// No argument list that the system would take is longer.
pub(super) const SPEC_LIMIT: usize = 64 * 1024 * 1024;

impl Spec {
    /// The bytes to send, without the length; none when that would not fit [`SPEC_LIMIT`].
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        put(&mut bytes, self.program.as_os_str())?;
        put(&mut bytes, &self.name)?;
        put_count(&mut bytes, self.args.len())?;
        for arg in &self.args {
            put(&mut bytes, arg)?;
        }
        put_count(&mut bytes, self.env.len())?;
        for (name, value) in &self.env {
            put(&mut bytes, name)?;
            put(&mut bytes, value)?;
        }
        if let Some(cwd) = &self.cwd {
            put(&mut bytes, cwd.as_os_str())?;
        }
        (bytes.len() <= SPEC_LIMIT).then_some(bytes)
    }

    /// Reads what [`encode`](Self::encode) wrote; none for anything else.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let program = take(&mut bytes)?.into();
        let name = take(&mut bytes)?;
        let args = (0..take_count(&mut bytes)?).map(|_| take(&mut bytes)).collect::<Option<_>>()?;
        let env = (0..take_count(&mut bytes)?)
            .map(|_| Some((take(&mut bytes)?, take(&mut bytes)?)))
            .collect::<Option<_>>()?;
        let cwd = if bytes.is_empty() { None } else { Some(take(&mut bytes)?.into()) };
        bytes.is_empty().then_some(Self { program, name, args, env, cwd })
    }
}

fn put(bytes: &mut Vec<u8>, text: &OsStr) -> Option<()> {
    put_count(bytes, text.len())?;
    bytes.extend_from_slice(text.as_bytes());
    Some(())
}

fn put_count(bytes: &mut Vec<u8>, count: usize) -> Option<()> {
    bytes.extend_from_slice(&u32::try_from(count).ok()?.to_le_bytes());
    Some(())
}

fn take(bytes: &mut &[u8]) -> Option<OsString> {
    let length = take_count(bytes)?;
    let (text, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(OsString::from_vec(text.to_vec()))
}

fn take_count(bytes: &mut &[u8]) -> Option<usize> {
    let (count, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    usize::try_from(u32::from_le_bytes(*count)).ok()
}

impl Order {
    pub(super) fn encode(self) -> u8 {
        match self {
            Self::Terminate => b'T',
            Self::Kill => b'K',
        }
    }

    pub(super) fn decode(byte: u8) -> Option<Self> {
        [Self::Terminate, Self::Kill].into_iter().find(|order| order.encode() == byte)
    }
}

/// News from the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Report {
    /// The server runs as this process.
    Started(i32),
    /// It could not be started, for this reason (an `errno`).
    Failed(i32),
    /// The server itself has ended.
    Exited(ExitStatus),
}

impl Report {
    /// Every report has this many bytes.
    pub(super) const LEN: usize = 5;

    pub(super) fn encode(self) -> [u8; Self::LEN] {
        let (kind, value) = match self {
            Self::Started(pid) => (b'S', pid),
            Self::Failed(errno) => (b'F', errno),
            Self::Exited(ExitStatus::Code(code)) => (b'C', code),
            Self::Exited(ExitStatus::Signal(signal)) => (b'K', signal),
            Self::Exited(ExitStatus::Unknown) => (b'U', 0),
        };
        let [a, b, c, d] = value.to_le_bytes();
        [kind, a, b, c, d]
    }

    pub(super) fn decode([kind, a, b, c, d]: [u8; Self::LEN]) -> Option<Self> {
        let value = i32::from_le_bytes([a, b, c, d]);
        Some(match kind {
            b'S' => Self::Started(value),
            b'F' => Self::Failed(value),
            b'C' => Self::Exited(ExitStatus::Code(value)),
            b'K' => Self::Exited(ExitStatus::Signal(value)),
            b'U' => Self::Exited(ExitStatus::Unknown),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_survives_the_way() {
        for cwd in [None, Some("/tmp".into())] {
            let spec = Spec {
                program: "/bin/sh".into(),
                name: "sh".into(),
                args: vec!["".into(), OsString::from_vec(vec![0xFF, b'\n'])],
                env: vec![("A".into(), "1".into())],
                cwd,
            };
            let bytes = spec.encode().unwrap();
            assert_eq!(Spec::decode(&bytes), Some(spec));
            for cut in 1..bytes.len() {
                // Only where the optional last part begins is a shorter form complete.
                if let Some(shorter) = Spec::decode(&bytes[..cut]) {
                    assert_eq!(shorter.cwd, None);
                }
            }
        }
        assert_eq!(Spec::decode(&[0xFF; 64]), None);
    }

    #[test]
    fn reports_and_orders_survive_the_way() {
        for report in [
            Report::Started(7),
            Report::Failed(2),
            Report::Exited(ExitStatus::Code(-1)),
            Report::Exited(ExitStatus::Signal(9)),
            Report::Exited(ExitStatus::Unknown),
        ] {
            assert_eq!(Report::decode(report.encode()), Some(report));
        }
        for order in [Order::Terminate, Order::Kill] {
            assert_eq!(Order::decode(order.encode()), Some(order));
        }
        assert_eq!(Order::decode(b'?'), None);
    }
}
