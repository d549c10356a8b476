//! `carrick serve`.

use crate::support::{Sandbox, peer};
use carrick::Client;
use carrick::client::ClientConfig;
use carrick::proto::revision::Revision;
use carrick::transport::child::{Command, Environment};
use carrick::transport::memory;
use carrick::types::Implementation;
use carrick_gateway::fidelity::{Feature, Verdict, verdict};
use carrick_testkit::crossing::{Claim, Observer, Straight, server};
use serde_json::json;
use std::time::Duration;

fn pinned(revision: Revision) -> ClientConfig {
    let mut config = ClientConfig::new(Implementation::new("client", "1"));
    config.revision = Some(revision);
    config.connect_timeout = Duration::from_secs(60);
    config
}

/// What clients observe of a server of their own revision, with nothing between.
async fn direct(revision: Revision) -> Straight {
    let server = server(revision);
    let connect = async |hooks| {
        let ((ours, theirs), server) = (memory(), server.clone());
        tokio::spawn(async move { carrick::serve(&server, theirs).await });
        Client::connect(ours, pinned(revision), hooks).await.unwrap()
    };
    Straight::observe(revision, connect).await
}

/// `carrick serve` as a child server, in front of another one.
fn serving(sandbox: &Sandbox, arguments: &[&str]) -> Command {
    let started = sandbox.command(&[&["serve"], arguments].concat());
    let mut command = Command::new(started.get_program());
    command.args = started.get_args().map(Into::into).collect();
    command.base = Environment::new();
    for (name, value) in started.get_envs() {
        if let Some(value) = value {
            command.env.insert(name, value);
        }
    }
    command.cwd = Some(sandbox.project());
    command
}

fn crossing(revision: Revision) -> Sandbox {
    Sandbox::with_servers([("crossing", peer(&["crossing", revision.date()]))])
}

#[tokio::test]
async fn all_25_pairs_over_stdio() {
    for theirs in Revision::ALL {
        let straight = direct(*theirs).await;
        let sandbox = crossing(*theirs);
        for ours in Revision::ALL {
            let observer = Observer::default();
            let command = serving(&sandbox, &[]);
            let grace = Duration::from_secs(5);
            let client = Client::spawn(&command, pinned(*ours), observer.hooks(), grace);
            let client = client.await.unwrap();
            let seen = observer.observe(&client).await;
            client.close().await;
            for feature in Feature::ALL {
                let verdict = verdict(*feature, *ours, *theirs);
                let claim = match &verdict {
                    Verdict::Exact => Claim::Same,
                    Verdict::Degraded(how) => Claim::Less(how),
                    Verdict::Impossible(_) => Claim::NotOffered,
                    other => panic!("{other:?}"),
                };
                let compared = straight.compare(feature.name(), claim, *ours, &seen);
                let cell = || format!("{} {ours} -> {theirs} over stdio", feature.name());
                compared.unwrap_or_else(|why| panic!("{}: {why}", cell()));
            }
        }
    }
}

#[test]
fn which_server_has_to_be_said_when_there_are_several() {
    let sandbox = Sandbox::with_servers([
        ("one", json!({ "command": "no-such-program" })),
        ("two", json!({ "command": "no-such-program" })),
    ]);
    let run = sandbox.run(&["serve"]);
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    assert!(run.stderr.contains("--server") && run.stderr.contains("one, two"), "{run:?}");
    let run = sandbox.run(&["serve", "--server", "three"]);
    assert_eq!(run.status.code(), Some(2), "{run:?}");
    let run = sandbox.run(&["serve", "--server", "two"]);
    assert_eq!(run.status.code(), Some(4), "{run:?}");
    assert!(run.stderr.contains("no-such-program"), "{run:?}");
}
