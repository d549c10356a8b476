use std::{
    io::{Read as _, Write as _},
    os::unix::net::UnixStream,
};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

/// More than any pipe or socket holds, so that both sides have to wait for each other.
fn large() -> Vec<u8> {
    (0..500_000_u32).flat_map(u32::to_le_bytes).collect()
}

/// Sends a lot through `output` and takes it from `end` in a thread.
async fn check_output(mut output: Output, mut end: impl io::Read + Send + 'static) {
    let reader = std::thread::spawn(move || {
        let mut received = Vec::new();
        end.read_to_end(&mut received).map(|_| received)
    });
    output.write_all(&large()).await.unwrap();
    output.flush().await.unwrap();
    output.shutdown().await.unwrap();
    drop(output);
    let received = tokio::task::spawn_blocking(|| reader.join().unwrap().unwrap()).await.unwrap();
    assert!(received == large(), "{} bytes", received.len());
}

/// Takes a lot from `input` that a thread writes to `end`.
async fn check_input(mut input: Input, mut end: impl io::Write + Send + 'static) {
    let writer = std::thread::spawn(move || end.write_all(&large()));
    let mut received = Vec::new();
    input.read_to_end(&mut received).await.unwrap();
    assert!(received == large(), "{} bytes", received.len());
    writer.join().unwrap().unwrap();
}

fn flags(fd: &impl std::os::fd::AsFd) -> i32 {
    nix::fcntl::fcntl(fd, nix::fcntl::FcntlArg::F_GETFL).unwrap()
}

#[tokio::test]
async fn a_pipe_is_used_without_changing_it_for_others() {
    let (reader, writer) = io::pipe().unwrap();
    let (other, before) = (reader.try_clone().unwrap(), flags(&reader));
    let input = Input::new(reader.into()).unwrap();
    #[cfg(target_os = "linux")]
    assert!(matches!(input.source, Source::Pipe(_)));
    assert_eq!(flags(&other), before);
    drop(other);
    check_input(input, writer).await;

    let (reader, writer) = io::pipe().unwrap();
    let (other, before) = (writer.try_clone().unwrap(), flags(&writer));
    let output = Output::new(writer.into()).unwrap();
    #[cfg(target_os = "linux")]
    assert!(matches!(output.sink, Sink::Pipe(_)));
    assert_eq!(flags(&other), before);
    drop(other);
    check_output(output, reader).await;
}

#[tokio::test]
async fn a_socket_is_used_without_changing_it_for_others() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let (other, before) = (ours.try_clone().unwrap(), flags(&ours));
    let input = Input::new(ours.try_clone().unwrap().into()).unwrap();
    let output = Output::new(ours.into()).unwrap();
    assert!(matches!(input.source, Source::Socket(_)));
    assert!(matches!(output.sink, Sink::Socket(_)));
    assert_eq!(flags(&other), before);
    // While `other` and `input` hold it open: shutting down the output alone ends it.
    check_output(output, theirs.try_clone().unwrap()).await;
    check_input(input, theirs).await;
}

#[tokio::test]
async fn a_client_that_left_is_an_end_to_read_and_an_error_to_write() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut input = Input::new(ours.try_clone().unwrap().into()).unwrap();
    let mut output = Output::new(ours.into()).unwrap();
    output.write_all(b"never read").await.unwrap();
    drop(theirs);
    assert_eq!(input.read(&mut [0; 8]).await.unwrap(), 0);
    assert_eq!(output.write(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);

    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let mut output = Output::new(writer.into()).unwrap();
    let result = async { output.write_all(b"x").await.and(output.flush().await) }.await;
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[tokio::test]
async fn files_are_read_and_written() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&large()).unwrap();
    let input = Input::new(file.reopen().unwrap().into()).unwrap();
    assert!(matches!(input.source, Source::Thread(_)));
    check_input(input, io::sink()).await;

    let file = tempfile::NamedTempFile::new().unwrap();
    let mut output = Output::new(file.reopen().unwrap().into()).unwrap();
    output.write_all(b"one ").await.unwrap();
    output.write_all(b"two").await.unwrap();
    output.flush().await.unwrap();
    let mut written = String::new();
    file.reopen().unwrap().read_to_string(&mut written).unwrap();
    assert_eq!(written, "one two");
}
