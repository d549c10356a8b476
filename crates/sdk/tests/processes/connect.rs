//! Connecting to servers that take their time.

use std::time::Duration;

use crate::runner::cases;
use crate::support::{BOUND, children, shell, start, until};
use carrick::Client;
use carrick::client::{ClientConfig, ClientError, Hooks};
use carrick::transport::Transport;
use carrick::transport::child::{Activity, ChildTransport, Command};
use carrick::types::Implementation;

cases![
    f11_a_server_that_is_given_up_ends_in_order,
    f11_a_server_whose_start_is_cancelled_ends_in_order,
    f11_what_a_server_does_can_be_seen,
    f11_a_transport_tells_that_its_server_is_at_work,
];

/// A server that answers nothing, and says how it ended.
fn silent(folder: &std::path::Path) -> Command {
    let mut command = shell(
        "trap 'echo asked >>end; exit' TERM; echo >ready; cat >/dev/null; sleep 0.2; echo by itself >>end",
    );
    command.cwd = Some(folder.to_owned());
    command
}

async fn connect(command: &Command, patience: Duration) -> Result<Client, ClientError> {
    let mut config = ClientConfig::new(Implementation::new("test", "1"));
    config.connect_timeout = patience;
    Client::spawn(command, config, Hooks::default(), BOUND).await
}

async fn f11_a_server_that_is_given_up_ends_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let error = connect(&silent(folder.path()), Duration::from_millis(50)).await.err().unwrap();
    // No polling: whoever is told of the failure may start it again at once.
    let end = std::fs::read_to_string(folder.path().join("end")).unwrap();
    assert_eq!(end, "by itself\n", "{error}");
    until("no guard left", || children(std::process::id()).is_empty()).await;
}

async fn f11_a_server_whose_start_is_cancelled_ends_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let command = silent(folder.path());
    let started = || folder.path().join("ready").exists();
    tokio::select! {
        _ = connect(&command, BOUND) => panic!("it never answers"),
        () = until("the server runs", started) => {}
    }
    until("no guard left", || children(std::process::id()).is_empty()).await;
    let end = std::fs::read_to_string(folder.path().join("end")).unwrap();
    assert_eq!(end, "by itself\n");
}

async fn f11_what_a_server_does_can_be_seen() {
    let busy = start("echo working >&2; sh -c 'while :; do echo x; done' >/dev/null").await;
    let second = Duration::from_secs(1);
    until("it has worked", || {
        let activity = busy.process.activity();
        activity.stderr_bytes == 8
            && activity.cpu > Duration::from_millis(60)
            && activity.io_bytes > 4096
            && activity.is_work_since(&Activity::default(), second)
    })
    .await;
    drop(busy.stdin);
    busy.process.shutdown(Duration::ZERO).await.unwrap();
}

async fn f11_a_transport_tells_that_its_server_is_at_work() {
    let busy =
        start("exec 3<&0; cat <&3 >/dev/null & while kill -0 $!; do echo working >&2; done").await;
    let mut transport = ChildTransport::new(busy, BOUND);
    // Each time anew: that is what the time for connecting is extended by.
    for _ in 0..3 {
        until("it is at work", || transport.is_active()).await;
    }
    std::future::poll_fn(|cx| transport.poll_close(cx)).await;
}
