//! Servers under a guard.

use std::{future::Future as _, process::Stdio, task::Poll, time::Duration};

use carrick::transport::child::{Child, Command, Environment, ExitStatus, SpawnError, spawn};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    time::timeout,
};

use crate::{
    runner::{HOST, HOST_WITHOUT_GUARD, cases},
    support::{BOUND, children, gone, kill, lines, parent, pids, shell, start, until},
};

/// A server that names itself, its child, and a daemon in a session of its own whose parent has
/// ended; none of the three ends when asked.
pub(crate) const TREE: &str = r#"
    trap "" TERM HUP
    echo $$
    (sleep 1000) & echo $!
    sh -c 'setsid sh -c "trap \"\" TERM; echo \$\$; while :; do sleep 1000; done" &'
    while :; do sleep 1000; done
"#;

pub(crate) const SHORT: Duration = Duration::from_millis(100);

cases![
    bytes_go_both_ways,
    d009_exit_code_and_stderr_are_known_together,
    d009_several_wait_for_one_exit,
    d010_a_missing_program_is_not_found,
    d010_a_missing_interpreter_is_told_apart,
    d011_stderr_never_blocks_the_server,
    d015_the_whole_tree_is_ended,
    d015_a_server_that_ends_by_itself_is_not_killed,
    d016_a_hundred_servers_leave_nothing,
    d018_a_daemon_does_not_prolong_the_session,
    a_dropped_process_ends_the_tree,
    a_dropped_runtime_ends_the_tree,
    a_killed_guard_is_noticed,
    a_killed_host_leaves_nothing,
    a_killed_host_without_guard_leaves_no_server,
    a_cancelled_start_leaves_nothing,
    a_server_outlives_the_thread_that_started_it,
    only_the_given_environment_arrives,
    nothing_but_the_three_streams_is_inherited,
];

async fn bytes_go_both_ways() {
    let Child { mut stdin, mut stdout, process } = start("cat").await;
    let sent: Vec<u8> = (0..1_000_000_u32).flat_map(u32::to_le_bytes).collect();
    let expected = sent.clone();
    let writer = tokio::spawn(async move { stdin.write_all(&sent).await });
    let mut received = Vec::new();
    stdout.read_to_end(&mut received).await.unwrap();
    writer.await.unwrap().unwrap();
    assert!(received == expected, "{} bytes of {}", received.len(), expected.len());
    assert_eq!(process.wait().await, ExitStatus::Code(0));
}

async fn d009_exit_code_and_stderr_are_known_together() {
    for _ in 0..20 {
        let child = start("read line; echo going down >&2; exit 3").await;
        drop(child.stdin);
        assert_eq!(child.process.wait().await, ExitStatus::Code(3));
        assert_eq!(child.process.stderr_tail(), "going down\n");
    }
}

async fn d009_several_wait_for_one_exit() {
    let child = start("kill -KILL $$").await;
    let watch = child.process.exit_watch();
    let elsewhere = tokio::spawn(async move { watch.wait().await });
    let here = tokio::join!(child.process.wait(), child.process.wait());
    assert_eq!(here, (ExitStatus::Signal(9), ExitStatus::Signal(9)));
    assert_eq!(elsewhere.await.unwrap(), ExitStatus::Signal(9));
}

async fn d010_a_missing_program_is_not_found() {
    let mut command = Command::new("no-such-program");
    command.base = [("PATH", "/no/such/folder")].into_iter().collect();
    let error = spawn(&command).await.unwrap_err();
    assert_eq!(error.to_string(), "program `no-such-program` not found in PATH (/no/such/folder)");
}

async fn d010_a_missing_interpreter_is_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&script, mode).unwrap();
    let error = spawn(&Command::new(&script)).await.unwrap_err();
    assert!(matches!(error, SpawnError::NoInterpreter { .. }), "{error}");
    until("no guard left", || children(std::process::id()).is_empty()).await;
}

async fn d011_stderr_never_blocks_the_server() {
    let flood = "head -c 262144 /dev/zero | tr '\\0' x >&2; echo ready; read line; \
                 head -c 1048576 /dev/zero | tr '\\0' y >&2; echo end >&2; echo done";
    let mut command = shell(flood);
    command.stderr_limit = 1000;
    let Child { mut stdin, stdout, process } = spawn(&command).await.unwrap();
    let mut lines = lines(stdout);
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("ready"));
    stdin.write_all(b"go on\n").await.unwrap();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("done"));
    process.wait().await;
    assert_eq!(process.stderr_tail(), format!("…{}end\n", "y".repeat(996)));
}

async fn d015_the_whole_tree_is_ended() {
    let Child { stdin, stdout, process } = start(TREE).await;
    let tree = pids(stdout, 3).await;
    assert!(tree.contains(&process.id()));
    drop(stdin);
    let status = process.shutdown(SHORT).await.unwrap();
    assert_eq!(status, ExitStatus::Signal(9));
    // No polling: nothing is left when it returns.
    assert!(tree.iter().all(|&pid| parent(pid).is_none()), "{tree:?}");
    assert_eq!(process.shutdown(SHORT).await, Ok(status));
}

async fn d015_a_server_that_ends_by_itself_is_not_killed() {
    let Child { stdin, stdout: _stdout, process } = start("cat >/dev/null; exit 5").await;
    drop(stdin);
    assert_eq!(process.shutdown(BOUND).await, Ok(ExitStatus::Code(5)));
    let Child { stdin, stdout, process } =
        start("trap 'exit 6' TERM; echo $$; while :; do sleep 0.01; done").await;
    pids(stdout, 1).await;
    drop(stdin);
    assert_eq!(process.shutdown(Duration::from_secs(10)).await, Ok(ExitStatus::Code(6)));
}

async fn d016_a_hundred_servers_leave_nothing() {
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    // The first one makes what the runtime keeps.
    let mut before = None;
    for _ in 0..=100 {
        let Child { stdin, mut stdout, process } = start("echo hello; cat").await;
        let mut greeting = [0; 6];
        stdout.read_exact(&mut greeting).await.unwrap();
        drop(stdin);
        assert_eq!(process.shutdown(BOUND).await, Ok(ExitStatus::Code(0)));
        drop((stdout, process));
        before.get_or_insert_with(descriptors);
    }
    until("all descriptors closed", || Some(descriptors()) <= before).await;
    until("no process left", || children(std::process::id()).is_empty()).await;
}

async fn d018_a_daemon_does_not_prolong_the_session() {
    let script = "setsid sh -c 'echo $$; exec sleep 1000' & read line; exit 0";
    let Child { stdout, process, stdin } = start(script).await;
    let mut lines = lines(stdout);
    let daemon = lines.next_line().await.unwrap().unwrap().parse().unwrap();
    drop(stdin);
    assert_eq!(process.wait().await, ExitStatus::Code(0));
    // The daemon holds stdout open, which ends all the same.
    assert_eq!(timeout(BOUND, lines.next_line()).await.unwrap().unwrap(), None);
    assert!(parent(daemon).is_some());
    assert_eq!(process.shutdown(BOUND).await, Ok(ExitStatus::Code(0)));
    assert!(parent(daemon).is_none());
}

async fn a_dropped_process_ends_the_tree() {
    let Child { stdin, stdout, process } = start(TREE).await;
    let tree = pids(stdout, 3).await;
    drop((stdin, process));
    gone(&tree).await;
    until("no guard left", || children(std::process::id()).is_empty()).await;
}

async fn a_dropped_runtime_ends_the_tree() {
    let thread = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let Child { stdin, stdout, process } = start(TREE).await;
            (pids(stdout, 3).await, stdin, process)
        })
    });
    let (tree, _stdin, _process) =
        tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap();
    gone(&tree).await;
}

async fn a_killed_guard_is_noticed() {
    let Child { stdin: _stdin, stdout, process } =
        start("echo $$; (sleep 1000) & echo $!; wait").await;
    let tree = pids(stdout, 2).await;
    let guard = parent(process.id()).unwrap();
    assert_eq!(parent(guard), Some(std::process::id()));
    kill(guard);
    assert_eq!(process.wait().await, ExitStatus::Unknown);
    let ended = |pid| {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .map_or(true, |stat| stat.contains(") Z "))
    };
    // Orphans now, whose entries are no longer ours to remove.
    until("tree ended", || tree.iter().all(|&pid| ended(pid))).await;
}

/// The other side of [`a_killed_host_leaves_nothing`]: starts a server, passes on what it writes,
/// and never ends.
pub(crate) async fn host(script: &str) {
    let mut child = start(script).await;
    tokio::io::copy(&mut child.stdout, &mut tokio::io::stdout()).await.unwrap();
    std::future::pending::<()>().await;
}

/// Starts a host with a server, and gives the process ids that the server writes.
pub(crate) async fn start_host(
    argument: &str,
    script: &str,
    count: usize,
) -> (tokio::process::Child, Vec<u32>) {
    let mut host = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args([argument, script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let mut tree = Vec::new();
    while tree.len() < count {
        let line = timeout(BOUND, lines.next_line()).await.unwrap().unwrap().unwrap();
        tree.push(line.parse().unwrap());
    }
    (host, tree)
}

async fn a_killed_host_leaves_nothing() {
    let (mut host, tree) = start_host(HOST, TREE, 3).await;
    let guard = children(host.id().unwrap());
    assert_eq!(guard.len(), 1);
    let adopted = || tree.iter().filter(|&&pid| parent(pid) == Some(guard[0])).count();
    until("server and daemon are the guard's", || adopted() == 2).await;
    kill(host.id().unwrap());
    host.wait().await.unwrap();
    gone(&tree).await;
    gone_or_ended(guard[0]).await;
}

/// What is promised without a guard is less.
async fn a_killed_host_without_guard_leaves_no_server() {
    let script = "echo $$; exec sleep 1000";
    let (mut host, server) = start_host(HOST_WITHOUT_GUARD, script, 1).await;
    assert_eq!(children(host.id().unwrap()), server);
    kill(host.id().unwrap());
    host.wait().await.unwrap();
    gone_or_ended(server[0]).await;
}

async fn a_cancelled_start_leaves_nothing() {
    for _ in 0..20 {
        let command = shell("sleep 1000");
        let mut starting = std::pin::pin!(spawn(&command));
        // Far enough for the guard to be there, and seldom further.
        let first = std::future::poll_fn(|context| Poll::Ready(starting.as_mut().poll(context)));
        drop(first.await);
        assert!(!children(std::process::id()).is_empty());
    }
    until("no guard left", || children(std::process::id()).is_empty()).await;
}

/// The guard outlives its parent for a moment, and then it is somebody else's to take notice of.
async fn gone_or_ended(pid: u32) {
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat"));
    until("guard ended", || stat().map_or(true, |stat| stat.contains(") Z "))).await;
}

async fn a_server_outlives_the_thread_that_started_it() {
    let runtime = tokio::runtime::Handle::current();
    let thread = std::thread::spawn(move || runtime.block_on(start("cat")));
    let started = tokio::task::spawn_blocking(|| thread.join().unwrap());
    let Child { mut stdin, stdout, process } = started.await.unwrap();
    stdin.write_all(b"still here\n").await.unwrap();
    assert_eq!(lines(stdout).next_line().await.unwrap().as_deref(), Some("still here"));
    drop(stdin);
    assert_eq!(process.wait().await, ExitStatus::Code(0));
}

async fn only_the_given_environment_arrives() {
    let mut command = Command::new("/usr/bin/env");
    command.base = [("HOME", "/home/me"), ("SECRET", "s"), ("LC_ALL", "C")].into_iter().collect();
    command.env = [("KEY", "two\nlines")].into_iter().collect::<Environment>();
    command.args = vec!["-0".into()];
    let mut child = spawn(&command).await.unwrap();
    let mut seen = String::new();
    child.stdout.read_to_string(&mut seen).await.unwrap();
    assert_eq!(seen, "HOME=/home/me\0KEY=two\nlines\0LC_ALL=C\0");
}

async fn nothing_but_the_three_streams_is_inherited() {
    let file = std::fs::File::open("/dev/zero").unwrap();
    // Survives an exec, as what a program is started with may.
    let flags = nix::fcntl::FcntlArg::F_SETFD(nix::fcntl::FdFlag::empty());
    nix::fcntl::fcntl(&file, flags).unwrap();
    // The listing itself takes one more.
    let mut child = start("ls /proc/self/fd").await;
    let mut seen = String::new();
    child.stdout.read_to_string(&mut seen).await.unwrap();
    assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);

    // Nor does the guard hold it open.
    let Child { stdin: _stdin, stdout: _stdout, process } = start("cat").await;
    let guard = parent(process.id()).unwrap();
    let held: Vec<_> = std::fs::read_dir(format!("/proc/{guard}/fd"))
        .unwrap()
        .map(|entry| std::fs::read_link(entry.unwrap().path()).unwrap())
        .filter(|target| target != std::path::Path::new("/dev/null"))
        .collect();
    // What it talks over and what it hears of signals by.
    assert_eq!(held.len(), 2, "{held:?}");
}
