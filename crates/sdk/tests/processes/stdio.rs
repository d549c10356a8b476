//! A server on its own standard streams.

use std::{
    io::{Read as _, Write as _},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Command, Stdio},
};

use carrick::transport::{
    child::{self, Child},
    stdio::{Lines, take},
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::runner::{SERVER, cases};

cases![
    an_echo_on_pipes,
    d071_long_lines_pass_a_process,
    an_echo_on_sockets,
    an_echo_on_files,
    what_is_printed_goes_to_stderr,
];

/// Echoes every line, and prints to stdout in between, as a careless library does.
pub(crate) async fn server() {
    let (mut input, mut output) = take().unwrap();
    assert!(take().is_err());
    let mut lines = Lines::default();
    println!("a stray line");
    while lines.fill(&mut input).await.unwrap() > 0 {
        while let Some(line) = lines.next_line().unwrap() {
            output.write_all(&[&line[..], b"\n"].concat()).await.unwrap();
        }
    }
    output.flush().await.unwrap();
    // Nothing is left of stdin for others.
    assert_eq!(std::io::stdin().read(&mut [0]).unwrap(), 0);
}

fn program() -> std::path::PathBuf {
    std::env::current_exe().unwrap()
}

async fn start() -> Child {
    let mut command = child::Command::new(program());
    command.args = vec![SERVER.into()];
    child::spawn(&command).await.unwrap()
}

async fn an_echo_on_pipes() {
    let Child { mut stdin, mut stdout, process, .. } = start().await;
    stdin.write_all("{\"text\":\"日本\"}\r\n[]\n".as_bytes()).await.unwrap();
    drop(stdin);
    let mut answer = String::new();
    stdout.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "{\"text\":\"日本\"}\n[]\n");
    assert!(process.wait().await.success(), "{}", process.stderr_tail());
}

async fn d071_long_lines_pass_a_process() {
    let Child { mut stdin, mut stdout, process, .. } = start().await;
    for length in [65_537, 5 * 1024 * 1024] {
        let mut line = vec![b'x'; length];
        line.push(b'\n');
        let mut answer = vec![0; line.len()];
        let (sent, received) = tokio::join!(stdin.write_all(&line), stdout.read_exact(&mut answer));
        sent.unwrap();
        received.unwrap();
        assert!(answer == line, "{length}");
    }
    drop(stdin);
    assert!(process.wait().await.success(), "{}", process.stderr_tail());
}

/// As Node.js starts its child processes.
async fn an_echo_on_sockets() {
    let ((stdin, mut ours_in), (stdout, mut ours_out)) =
        (UnixStream::pair().unwrap(), UnixStream::pair().unwrap());
    let mut server = Command::new(program())
        .arg(SERVER)
        .stdin(OwnedFd::from(stdin))
        .stdout(OwnedFd::from(stdout))
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let exchange = move || {
        ours_in.write_all(b"one\ntwo\n").unwrap();
        drop(ours_in);
        let mut answer = String::new();
        ours_out.read_to_string(&mut answer).unwrap();
        (answer, server.wait().unwrap().success())
    };
    let answer = tokio::task::spawn_blocking(exchange).await.unwrap();
    assert_eq!(answer, ("one\ntwo\n".to_owned(), true));
}

async fn an_echo_on_files() {
    let (mut stdin, stdout) =
        (tempfile::NamedTempFile::new().unwrap(), tempfile::NamedTempFile::new().unwrap());
    stdin.write_all(b"one\ntwo\n").unwrap();
    let mut server = tokio::process::Command::new(program())
        .arg(SERVER)
        .stdin(stdin.reopen().unwrap())
        .stdout(stdout.reopen().unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(server.wait().await.unwrap().success());
    assert_eq!(std::fs::read(stdout.path()).unwrap(), b"one\ntwo\n");
}

async fn what_is_printed_goes_to_stderr() {
    let Child { stdin, mut stdout, process, .. } = start().await;
    drop(stdin);
    let mut answer = String::new();
    stdout.read_to_string(&mut answer).await.unwrap();
    assert!(process.wait().await.success(), "{}", process.stderr_tail());
    assert_eq!((answer.as_str(), process.stderr_tail().as_str()), ("", "a stray line\n"));
}
