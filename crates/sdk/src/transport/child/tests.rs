//! Servers without a guard, since the test harness does not opt in. Those under a guard are tested
//! in `tests/processes.rs`.

#![cfg(target_os = "linux")]

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.base = Environment::capture();
    command.args = vec!["-c".into(), script.into()];
    command
}

#[tokio::test]
async fn d009_exit_code_and_stderr_are_known_together() {
    let child = spawn(&shell("echo going down >&2; exit 3")).await.unwrap();
    assert_eq!(child.process.wait().await, ExitStatus::Code(3));
    assert_eq!(child.process.stderr_tail(), "going down\n");
}

#[tokio::test]
async fn d010_what_cannot_be_started_says_why() {
    let mut command = Command::new("no-such-program");
    command.base = Environment::capture();
    assert!(matches!(spawn(&command).await, Err(SpawnError::NotFound { .. })));
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let error = spawn(&Command::new(&script)).await.unwrap_err();
    assert!(matches!(error, SpawnError::NoInterpreter { .. }), "{error}");
}

#[tokio::test]
async fn a_message_above_the_limit_is_told_of_and_skipped() {
    use crate::transport::{Event, Transport as _};
    let child = spawn(&shell("printf '%01001d\\n{}\\n' 0; cat")).await.unwrap();
    let mut transport = ChildTransport::new(child, std::time::Duration::ZERO).limit(1000);
    let mut next = async || std::future::poll_fn(|cx| transport.poll_recv(cx)).await;
    assert!(matches!(next().await, Event::Oversize { limit: 1000 }));
    assert!(matches!(next().await, Event::Message { bytes, .. } if bytes == "{}"));
}

#[tokio::test]
async fn nothing_but_the_three_streams_is_inherited() {
    let file = std::fs::File::open("/dev/null").unwrap();
    // Survives an exec, as what a program is started with may.
    let flags = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty());
    nix::fcntl::fcntl(&file, flags).unwrap();
    // The listing itself takes one more.
    let mut child = spawn(&shell("ls /proc/self/fd")).await.unwrap();
    let mut seen = String::new();
    child.stdout.read_to_string(&mut seen).await.unwrap();
    assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
}

#[tokio::test]
async fn bytes_go_both_ways() {
    let Child { mut stdin, mut stdout, process } = spawn(&shell("cat")).await.unwrap();
    stdin.write_all(b"there and back").await.unwrap();
    drop(stdin);
    let mut answer = String::new();
    stdout.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "there and back");
    assert_eq!(process.wait().await, ExitStatus::Code(0));
}

#[tokio::test]
async fn a_server_outlives_the_thread_that_started_it() {
    let runtime = tokio::runtime::Handle::current();
    let thread = std::thread::spawn(move || runtime.block_on(spawn(&shell("cat"))));
    let started = tokio::task::spawn_blocking(|| thread.join().unwrap());
    let Child { mut stdin, mut stdout, process } = started.await.unwrap().unwrap();
    stdin.write_all(b"still here").await.unwrap();
    drop(stdin);
    let mut answer = String::new();
    stdout.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "still here");
    assert_eq!(process.wait().await, ExitStatus::Code(0));
}

#[tokio::test]
async fn a_dropped_process_ends_the_group() {
    let script = "trap '' TERM; echo $$; while :; do sleep 1000; done";
    let Child { stdin: _stdin, mut stdout, process } = spawn(&shell(script)).await.unwrap();
    stdout.read_exact(&mut [0]).await.unwrap();
    let watch = process.exit_watch();
    drop(process);
    assert_eq!(watch.wait().await, ExitStatus::Signal(9));
}

#[tokio::test]
async fn d015_the_group_is_ended_with_the_server() {
    let script = "trap '' TERM; sleep 1000 & echo $!; wait";
    let Child { stdin, mut stdout, process } = spawn(&shell(script)).await.unwrap();
    let mut line = [0; 32];
    let count = stdout.read(&mut line).await.unwrap();
    let grandchild: i32 = std::str::from_utf8(&line[..count]).unwrap().trim().parse().unwrap();
    drop(stdin);
    process.shutdown(Duration::from_millis(50)).await.unwrap();
    gone(grandchild).await;
}

/// Waits until a process is gone, or at most an entry that nobody has taken notice of.
async fn gone(pid: i32) {
    let looked = async {
        loop {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            if stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z ")) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    assert!(timeout(Duration::from_secs(20), looked).await.is_ok(), "process {pid} still runs");
}
