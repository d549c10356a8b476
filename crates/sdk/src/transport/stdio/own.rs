//! The standard streams of this process, as a server's transport.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    sync::mpsc,
};

#[cfg(unix)]
use {
    super::socket::Socket,
    std::{
        fs::File,
        os::fd::{AsFd as _, OwnedFd},
        sync::atomic::{AtomicBool, Ordering},
    },
    tokio::net::unix::pipe::{Receiver, Sender},
};

/// How much the reading thread reads at a time.
const CHUNK: usize = 16 * 1024;

/// Takes this process's stdin and stdout for the conversation with a client.
///
/// From then on file descriptor 0 is empty and 1 is a second stderr, so that nothing else reads
/// the client's messages, and what a library prints comes out on stderr instead of in between the
/// server's messages. (On Windows both stay what they are.)
///
/// Pipes and sockets are used without blocking any thread, and without a change that other
/// processes with the same streams would notice. A terminal or a file is read by a thread of its
/// own.
///
/// Runs in a Tokio runtime with IO enabled.
///
/// # Errors
///
/// When they are taken already, outside a runtime, and when the system refuses.
#[cfg(unix)]
pub fn take() -> io::Result<(Input, Output)> {
    static TAKEN: AtomicBool = AtomicBool::new(false);

    tokio::runtime::Handle::try_current().map_err(io::Error::other)?;
    if TAKEN.swap(true, Ordering::Relaxed) {
        return Err(io::Error::other("stdin and stdout are taken already"));
    }
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    let stdout = io::stdout().as_fd().try_clone_to_owned()?;
    nix::unistd::dup2_stdin(File::open("/dev/null")?)?;
    nix::unistd::dup2_stdout(io::stderr())?;
    Ok((Input::new(stdin)?, Output::new(stdout)?))
}

/// Takes this process's stdin and stdout for the conversation with a client.
///
/// Nothing else may read or print to them from then on: what a library prints to stdout reaches
/// the client. Stdin is read by a thread of its own.
///
/// # Errors
///
/// When the system gives no thread.
#[cfg(windows)]
pub fn take() -> io::Result<(Input, Output)> {
    let input = Input { source: Source::Thread(Chunks::read(io::stdin())?) };
    Ok((input, Output { sink: tokio::io::stdout() }))
}

/// What the client writes.
#[derive(Debug)]
pub struct Input {
    source: Source,
}

#[derive(Debug)]
enum Source {
    #[cfg(unix)]
    Pipe(Receiver),
    #[cfg(unix)]
    Socket(Socket),
    Thread(Chunks),
}

#[cfg(unix)]
impl Input {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        let source = match Kind::of(&fd)? {
            Kind::Pipe => match reopen(&fd, File::options().read(true)).map(Receiver::from_file) {
                Ok(pipe) => Source::Pipe(pipe?),
                Err(_) => Source::Thread(Chunks::read(File::from(fd))?),
            },
            Kind::Socket => Source::Socket(Socket::reader(fd)?),
            Kind::Other => Source::Thread(Chunks::read(File::from(fd))?),
        };
        Ok(Self { source })
    }
}

impl AsyncRead for Input {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.source {
            #[cfg(unix)]
            Source::Pipe(pipe) => Pin::new(pipe).poll_read(context, buffer),
            #[cfg(unix)]
            Source::Socket(socket) => socket.poll_read(context, buffer),
            Source::Thread(chunks) => chunks.poll_read(context, buffer),
        }
    }
}

/// What the client reads. Nothing is buffered in pipes and sockets; with files and terminals,
/// flushing waits until all is written.
#[derive(Debug)]
pub struct Output {
    #[cfg(unix)]
    sink: Sink,
    #[cfg(windows)]
    sink: tokio::io::Stdout,
}

#[cfg(unix)]
#[derive(Debug)]
enum Sink {
    Pipe(Sender),
    Socket(Socket),
    File(tokio::fs::File),
}

#[cfg(unix)]
impl Output {
    fn new(fd: OwnedFd) -> io::Result<Self> {
        let sink = match Kind::of(&fd)? {
            Kind::Pipe => match reopen(&fd, File::options().write(true)).map(Sender::from_file) {
                Ok(pipe) => Sink::Pipe(pipe?),
                Err(_) => Sink::File(File::from(fd).into()),
            },
            Kind::Socket => Sink::Socket(Socket::writer(fd)?),
            Kind::Other => Sink::File(File::from(fd).into()),
        };
        Ok(Self { sink })
    }
}

/// Runs a method of whatever is written to.
macro_rules! sink {
    ($self:ident, $sink:ident => $call:expr) => {{
        #[cfg(unix)]
        match &mut $self.sink {
            Sink::Pipe($sink) => $call,
            Sink::Socket($sink) => $call,
            Sink::File($sink) => $call,
        }
        #[cfg(windows)]
        {
            let $sink = &mut $self.sink;
            $call
        }
    }};
}

impl AsyncWrite for Output {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        sink!(self, sink => Pin::new(sink).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        sink!(self, sink => Pin::new(sink).poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        cfg!(unix)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        sink!(self, sink => Pin::new(sink).poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        sink!(self, sink => Pin::new(sink).poll_shutdown(context))
    }
}

#[cfg(unix)]
enum Kind {
    Pipe,
    Socket,
    Other,
}

#[cfg(unix)]
impl Kind {
    fn of(fd: &OwnedFd) -> io::Result<Self> {
        use nix::sys::stat::{SFlag, fstat};

        let mode = fstat(fd)?.st_mode;
        Ok(match SFlag::from_bits_truncate(mode) & SFlag::S_IFMT {
            SFlag::S_IFIFO => Self::Pipe,
            SFlag::S_IFSOCK => Self::Socket,
            _ => Self::Other,
        })
    }
}

/// Opens a pipe anew: whether it blocks is a property that all processes share which have it from
/// the same opening, such as the shell that this one was started from.
///
/// Only Linux can; and a pipe made by another user, or without a reader, cannot be opened.
#[cfg(unix)]
fn reopen(fd: &OwnedFd, options: &mut std::fs::OpenOptions) -> io::Result<File> {
    use std::os::{fd::AsRawFd as _, unix::fs::OpenOptionsExt as _};

    if !cfg!(target_os = "linux") {
        return Err(io::ErrorKind::Unsupported.into());
    }
    options.custom_flags(nix::fcntl::OFlag::O_NONBLOCK.bits());
    options.open(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

/// What a thread reads. The thread is not waited for: it ends with the stream, with the first read
/// after this is dropped, or with the process.
#[derive(Debug)]
struct Chunks {
    chunks: mpsc::Receiver<io::Result<Bytes>>,
    current: Bytes,
}

impl Chunks {
    fn read(mut source: impl io::Read + Send + 'static) -> io::Result<Self> {
        let (sender, chunks) = mpsc::channel(4);
        let work = move || {
            let mut buffer = vec![0; CHUNK];
            loop {
                let chunk = match source.read(&mut buffer) {
                    Ok(0) => return,
                    Ok(count) => Ok(Bytes::copy_from_slice(&buffer[..count])),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let last = chunk.is_err();
                if sender.blocking_send(chunk).is_err() || last {
                    return;
                }
            }
        };
        std::thread::Builder::new().name("stdin".to_owned()).spawn(work)?;
        Ok(Self { chunks, current: Bytes::new() })
    }

    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.current.is_empty() {
            self.current = ready!(self.chunks.poll_recv(context)).transpose()?.unwrap_or_default();
        }
        let count = self.current.len().min(buffer.remaining());
        buffer.put_slice(&self.current.split_to(count));
        Poll::Ready(Ok(()))
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
