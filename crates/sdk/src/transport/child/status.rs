//! How a server ended, and the news of it.

use std::fmt;

use tokio::sync::watch;

/// How the server's process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitStatus {
    /// It exited by itself with this code; 0 means success.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It is gone, but what supervised it was killed first and could not tell how.
    Unknown,
}

impl ExitStatus {
    /// Whether it exited by itself with code 0.
    #[must_use]
    pub fn success(self) -> bool {
        self == Self::Code(0)
    }
}

impl From<std::process::ExitStatus> for ExitStatus {
    fn from(status: std::process::ExitStatus) -> Self {
        #[cfg(unix)]
        if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
            return Self::Signal(signal);
        }
        status.code().map_or(Self::Unknown, Self::Code)
    }
}

impl fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => {
                write!(f, "ended by signal {signal}")?;
                #[cfg(unix)]
                if let Ok(name) = nix::sys::signal::Signal::try_from(signal) {
                    write!(f, " ({name})")?;
                }
                Ok(())
            }
            Self::Unknown => f.write_str("exit status unknown"),
        }
    }
}

/// What is known of a server's processes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// How the server itself ended, once it has.
    pub(super) exit: Option<ExitStatus>,
    /// Whether all of its processes are gone.
    pub(super) gone: bool,
}

/// Learns of a server's exit without holding the server: dropping the
/// [`Process`](super::Process) ends the server however many watches there are.
#[derive(Clone, Debug)]
pub struct ExitWatch {
    state: watch::Receiver<State>,
}

impl ExitWatch {
    pub(super) fn new(state: watch::Receiver<State>) -> Self {
        Self { state }
    }

    /// The exit status if the server itself has ended.
    #[must_use]
    pub fn status(&self) -> Option<ExitStatus> {
        self.state.borrow().exit
    }

    /// Waits until the server itself has ended; what it started may still run. By then all that it
    /// wrote to stderr can be read. May be dropped and called again at any time.
    pub async fn wait(&self) -> ExitStatus {
        self.until(|state| state.exit.is_some()).await.exit.unwrap_or(ExitStatus::Unknown)
    }

    /// Whether no process of the server is left.
    pub(super) fn is_gone(&self) -> bool {
        self.state.borrow().gone
    }

    /// Waits until no process of the server is left.
    pub(super) async fn gone(&self) {
        self.until(|state| state.gone).await;
    }

    /// Waits for a state; when the runtime shuts down, which ends everything, for the last one.
    async fn until(&self, reached: impl FnMut(&State) -> bool) -> State {
        let mut state = self.state.clone();
        let result = state.wait_for(reached).await.map(|state| *state);
        result.unwrap_or_else(|_| *self.state.borrow())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_read_well() {
        assert_eq!(ExitStatus::Code(3).to_string(), "exit code 3");
        #[cfg(unix)]
        assert_eq!(ExitStatus::Signal(9).to_string(), "ended by signal 9 (SIGKILL)");
    }
}
