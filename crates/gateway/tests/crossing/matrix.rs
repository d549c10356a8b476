//! Every feature between every two revisions: each cell is run, and its verdict
//! is the table's.

use crate::support::{Over, client, gateway};
use carrick::proto::revision::Revision;
use carrick_gateway::fidelity::{Feature, Verdict, page, verdict};
use carrick_testkit::crossing::{Observed, Observer, server};
use serde_json::Value;

/// What a client observes of a server of its own revision, with nothing between.
async fn direct(over: Over, revision: Revision) -> Observed {
    let observer = Observer::default();
    let client = client(server(revision), over, revision, observer.hooks()).await;
    observer.observe(&client).await
}

/// What a client observes through a gateway.
async fn through(over: Over, ours: Revision, theirs: Revision) -> Observed {
    let observer = Observer::default();
    let gateway = gateway(server(theirs), over).await;
    let client = client(gateway, over, ours, observer.hooks()).await;
    observer.observe(&client).await
}

async fn every_pair(over: Over) {
    for theirs in Revision::ALL {
        let straight = direct(over, *theirs).await;
        for ours in Revision::ALL {
            let seen = through(over, *ours, *theirs).await;
            assert_eq!(seen.len(), Feature::ALL.len(), "each feature is observed");
            for feature in Feature::ALL {
                let (seen, straight) = (&seen[feature.name()], &straight[feature.name()]);
                let cell = format!("{} {ours} -> {theirs} over {over:?}", feature.name());
                check(&cell, &verdict(*feature, *ours, *theirs), seen, straight);
            }
        }
    }
}

/// Compares a cell's verdict with what was observed.
fn check(cell: &str, verdict: &Verdict, seen: &Value, straight: &Value) {
    match verdict {
        Verdict::Exact => assert_eq!(seen, straight, "{cell} should be exact"),
        Verdict::Degraded(how) => {
            assert_ne!(seen, straight, "{cell} is exact, and not degraded: {how}");
            let text = seen.to_string();
            assert!(!text.contains("failed"), "{cell} is worse than degraded: {text}");
        }
        Verdict::Impossible(why) => {
            assert_eq!(seen["asked"], 0, "{cell} is not impossible: {why}");
            let result = &seen["result"];
            let refused = result["isError"] == true || result["error"].is_object();
            assert!(refused, "{cell} must end with a clear error: {seen}");
        }
        other => panic!("{cell}: {other:?}"),
    }
}

#[tokio::test]
async fn all_25_pairs_in_memory() {
    every_pair(Over::Memory).await;
}

#[tokio::test]
async fn all_25_pairs_over_http() {
    every_pair(Over::Http).await;
}

#[test]
fn the_page_says_what_the_table_does() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fidelity.md");
    if std::env::var_os("CARRICK_UPDATE_FIDELITY").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page(), "docs/fidelity.md is out of date: CARRICK_UPDATE_FIDELITY=1");
}
