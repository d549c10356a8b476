//! A socket in the place of a standard stream, as Node.js gives its child processes.

use std::{
    io::{self, IoSlice},
    os::fd::{AsRawFd as _, OwnedFd},
    pin::Pin,
    task::{Context, Poll, ready},
};

use nix::sys::socket::{MsgFlags, Shutdown, recv, sendmsg, shutdown};
use tokio::io::{AsyncWrite, Interest, ReadBuf, unix::AsyncFd};

/// One direction of a connected stream socket. Not blocking is asked for with every call, since
/// the socket's own setting is shared with whoever else holds it.
#[derive(Debug)]
pub(super) struct Socket {
    fd: AsyncFd<OwnedFd>,
}

impl Socket {
    pub(super) fn reader(fd: OwnedFd) -> io::Result<Self> {
        Self::new(fd, Interest::READABLE)
    }

    pub(super) fn writer(fd: OwnedFd) -> io::Result<Self> {
        Self::new(fd, Interest::WRITABLE)
    }

    fn new(fd: OwnedFd, interest: Interest) -> io::Result<Self> {
        #[expect(unsafe_code, reason = "the runtime cannot check who else closes a descriptor")]
        // SAFETY: the descriptor is owned, always the same one, and closed only after it has been
        // deregistered, since nothing here takes it out again.
        let fd = unsafe { AsyncFd::register_with_interest(fd, interest) }?;
        Ok(Self { fd })
    }

    pub(super) fn poll_read(
        &self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.fd.poll_read_ready(context))?;
            let received = ready.try_io(|fd| {
                let unfilled = buffer.initialize_unfilled();
                Ok(recv(fd.as_raw_fd(), unfilled, MsgFlags::MSG_DONTWAIT)?)
            });
            match received {
                Ok(Ok(count)) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                // The other side has gone without reading all; to its reader that is an end.
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return Poll::Ready(Ok(()));
                }
                Ok(Err(error)) if error.kind() != io::ErrorKind::Interrupted => {
                    return Poll::Ready(Err(error));
                }
                Ok(Err(_)) | Err(_) => {}
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        // No signal for a client that has gone; the error says it.
        #[cfg(target_os = "linux")]
        let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_NOSIGNAL;
        #[cfg(not(target_os = "linux"))]
        let flags = MsgFlags::MSG_DONTWAIT;
        loop {
            let mut ready = ready!(self.fd.poll_write_ready(context))?;
            let sent =
                ready.try_io(|fd| Ok(sendmsg::<()>(fd.as_raw_fd(), slices, &[], flags, None)?));
            match sent {
                Ok(Err(error)) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(result) => return Poll::Ready(result),
                Err(_) => {}
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match shutdown(self.fd.as_raw_fd(), Shutdown::Write) {
            // The other side has gone already.
            Ok(()) | Err(nix::errno::Errno::ENOTCONN) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}
