//! How many files, sockets and pipes among them, this process may have open.

use std::io;

/// Raises the limit of open files (`RLIMIT_NOFILE`) as far as the system lets this process: a
/// server has a socket for each client, and pipes for each child. Returns the limit that holds
/// from then on; none where there is no such limit (Windows).
///
/// Servers that are started by [`transport::child`](crate::transport::child) get the limit from
/// before; other children inherit the raised one. It is for programs to call, at their start; the
/// SDK never does.
///
/// # Errors
///
/// When the system refuses; the limit is then what it was.
pub fn raise_open_file_limit() -> io::Result<Option<u64>> {
    raise()
}

/// The limit that this process had before it raised its own, for what it starts: programs that
/// use `select`, or close whatever could be open, do not bear a high one. None if it never did.
#[cfg(unix)]
pub(crate) fn inherited() -> Option<u64> {
    BEFORE.get().copied()
}

/// What the limit was before it was first raised.
#[cfg(unix)]
static BEFORE: std::sync::OnceLock<u64> = std::sync::OnceLock::new();

/// The limit that holds now.
pub(crate) fn limit() -> Option<u64> {
    now()
}

#[cfg(unix)]
fn raise() -> io::Result<Option<u64>> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    if soft >= hard {
        return Ok(Some(soft));
    }
    BEFORE.get_or_init(|| soft);
    match setrlimit(Resource::RLIMIT_NOFILE, hard, hard) {
        Ok(()) => Ok(Some(hard)),
        // macOS says that there is no limit, and takes none above this (`OPEN_MAX`).
        Err(_) if soft < MOST && hard > MOST => {
            setrlimit(Resource::RLIMIT_NOFILE, MOST, hard)?;
            Ok(Some(MOST))
        }
        Err(error) => Err(error.into()),
    }
}

/// More is not taken everywhere.
#[cfg(unix)]
const MOST: u64 = 10_240;

#[cfg(unix)]
fn now() -> Option<u64> {
    use nix::sys::resource::{Resource, getrlimit};
    getrlimit(Resource::RLIMIT_NOFILE).ok().map(|(soft, _)| soft)
}

#[cfg(not(unix))]
fn raise() -> io::Result<Option<u64>> {
    Ok(None)
}

#[cfg(not(unix))]
fn now() -> Option<u64> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn f24_the_limit_becomes_what_the_system_allows() {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        // Each test has a process of its own.
        setrlimit(Resource::RLIMIT_NOFILE, hard.min(256), hard).unwrap();
        let raised = raise_open_file_limit().unwrap();
        assert_eq!(raised, limit());
        assert!(raised > Some(256) || hard <= 256, "{raised:?} of {hard}");
        assert_eq!(raise_open_file_limit().unwrap(), raised);
        assert_eq!(inherited(), (hard > 256).then_some(256));
    }
}
