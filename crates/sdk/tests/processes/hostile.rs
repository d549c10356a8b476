//! Servers that turn on their guard.

use carrick::transport::child::{Child, ExitStatus};
use nix::sys::signal::Signal;
use tokio::io::AsyncWriteExt as _;

use crate::guard::{SHORT, TREE, start_host};
use crate::runner::{HOST, cases};
use crate::support::{children, gone, kill, parent, pids, signal, start, state, until};

cases![
    f15_a_server_that_kills_its_guard_leaves_nothing,
    f15_a_server_that_kills_its_guard_takes_no_other_with_it,
    f15_a_server_that_stops_its_guard_ends_with_the_host,
    f15_a_server_that_keeps_stopping_its_guard_is_ended,
    f15_a_stopped_guard_does_not_outlive_the_runtime,
    f15_two_hundred_servers_are_killed_and_leave_nothing,
];

/// A server with a daemon, which does to its guard what it is told to.
const TURNING: &str = r#"
    setsid sh -c 'trap "" TERM HUP; echo $$; while :; do sleep 1000; done' &
    echo $$
    read signal
    kill -$signal $PPID
    sleep 1000
"#;

async fn f15_a_server_that_kills_its_guard_leaves_nothing() {
    let Child { mut stdin, stdout, process } = start(TURNING).await;
    let tree = pids(stdout, 2).await;
    stdin.write_all(b"KILL\n").await.unwrap();
    assert_eq!(process.wait().await, ExitStatus::Unknown);
    process.shutdown(SHORT).await.unwrap();
    assert!(tree.iter().all(|&pid| parent(pid).is_none()), "{tree:?}");
    until("no process left", || children(std::process::id()).is_empty()).await;
}

async fn f15_a_server_that_kills_its_guard_takes_no_other_with_it() {
    let other = start(TREE).await;
    let others = pids(other.stdout, 3).await;
    let Child { mut stdin, stdout, process } = start(TURNING).await;
    let tree = pids(stdout, 2).await;
    stdin.write_all(b"KILL\n").await.unwrap();
    process.shutdown(SHORT).await.unwrap();
    gone(&tree).await;
    assert!(others.iter().all(|&pid| parent(pid).is_some()), "{others:?}");
    assert_eq!(other.process.exit_watch().status(), None);
    drop(other.stdin);
    other.process.shutdown(SHORT).await.unwrap();
}

async fn f15_a_server_that_stops_its_guard_ends_with_the_host() {
    let script = format!("kill -STOP $PPID\n{TREE}");
    let (mut host, tree) = start_host(HOST, &script, 3).await;
    let guard = children(host.id().unwrap())[0];
    until("the guard goes on", || state(guard) != Some('T')).await;
    kill(host.id().unwrap());
    host.wait().await.unwrap();
    gone(&tree).await;
}

async fn f15_a_server_that_keeps_stopping_its_guard_is_ended() {
    let script = "export GUARD=$PPID; echo $$; read line; \
                  setsid sh -c 'while :; do kill -STOP $GUARD; sleep 0.01; done' & sleep 1000";
    let Child { mut stdin, stdout, process } = start(script).await;
    let tree = pids(stdout, 1).await;
    stdin.write_all(b"go on\n").await.unwrap();
    assert_eq!(process.wait().await, ExitStatus::Unknown);
    process.shutdown(SHORT).await.unwrap();
    gone(&tree).await;
    until("no process left", || children(std::process::id()).is_empty()).await;
}

async fn f15_a_stopped_guard_does_not_outlive_the_runtime() {
    let thread = std::thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (tree, _stdin, process) = runtime.block_on(async {
            let Child { stdin, stdout, process } = start(TREE).await;
            (pids(stdout, 3).await, stdin, process)
        });
        let guard = parent(process.id()).unwrap();
        signal(guard, Signal::SIGSTOP);
        while state(guard) != Some('T') {
            std::thread::yield_now();
        }
        drop(runtime);
        (tree, guard)
    });
    let (tree, guard) = tokio::task::spawn_blocking(|| thread.join().unwrap()).await.unwrap();
    until("tree ended", || tree.iter().all(|&pid| state(pid).is_none_or(|s| s == 'Z'))).await;
    until("guard ended", || state(guard).is_none_or(|s| s == 'Z')).await;
}

async fn f15_two_hundred_servers_are_killed_and_leave_nothing() {
    for round in 0..200 {
        let script = "trap '' TERM; sleep 1000 & echo $!; echo $$; sleep 1000";
        let Child { stdin, stdout, process } = start(script).await;
        let tree = pids(stdout, 2).await;
        match round % 3 {
            0 => kill(parent(process.id()).unwrap()),
            1 => kill(process.id()),
            _ => drop(stdin),
        }
        process.shutdown(std::time::Duration::ZERO).await.unwrap();
        gone(&tree).await;
    }
    until("no process left", || children(std::process::id()).is_empty()).await;
}
