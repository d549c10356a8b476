//! Every feature between every two revisions: each cell is run, and its verdict
//! is the table's.

use crate::support::{Over, client, client_of, gateway, gateway_with};
use carrick::proto::revision::Revision;
use carrick::server::Principal;
use carrick::types::Implementation;
use carrick_gateway::fidelity::{Feature, Verdict, page, verdict};
use carrick_gateway::{GatewayOptions, Sharing};
use carrick_testkit::crossing::{Claim, Observer, Straight, server};

/// What clients observe of a server of their own revision, with nothing between.
async fn direct(over: Over, revision: Revision) -> Straight {
    let server = server(revision);
    Straight::observe(revision, async |hooks| client(server.clone(), over, revision, hooks).await)
        .await
}

async fn every_pair(over: Over) {
    for theirs in Revision::ALL {
        let straight = direct(over, *theirs).await;
        assert!(straight.features().count() == Feature::ALL.len(), "each feature is observed");
        for ours in Revision::ALL {
            let observer = Observer::default();
            let gateway = gateway(server(*theirs), over).await;
            let client = client(gateway, over, *ours, observer.hooks()).await;
            let seen = observer.observe(&client).await;
            for feature in Feature::ALL {
                let verdict = verdict(*feature, *ours, *theirs);
                let compared = straight.compare(feature.name(), claim(&verdict), *ours, &seen);
                let cell = || format!("{} {ours} -> {theirs} over {over:?}", feature.name());
                compared.unwrap_or_else(|why| panic!("{}: {why}", cell()));
            }
        }
    }
}

fn claim(verdict: &Verdict) -> Claim<'_> {
    match verdict {
        Verdict::Exact => Claim::Same,
        Verdict::Degraded(how) => Claim::Less(how),
        Verdict::Impossible(_) => Claim::NotOffered,
        other => panic!("{other:?}"),
    }
}

/// What a client without sessions observes over HTTP of servers of sessions, where
/// its calls are tied to each other in some way.
async fn servers_of_sessions(who: Option<Principal>, sharing: Sharing) {
    let ours = Revision::NEWEST;
    for theirs in [Revision::V2024_11_05, Revision::V2025_11_25] {
        let straight = direct(Over::Http, theirs).await;
        let observer = Observer::default();
        let mut options = GatewayOptions::new(Implementation::new("gateway", "1"));
        options.sharing = sharing;
        let gateway = gateway_with(server(theirs), Over::Http, options).await;
        let hooks = observer.hooks();
        let client = client_of(gateway, Over::Http, who.clone(), ours, hooks).await;
        let seen = observer.observe(&client).await;
        for feature in Feature::ALL {
            let verdict = verdict(*feature, ours, theirs);
            // The server could not say whom it asks.
            let asks = [Feature::Elicitation, Feature::Sampling, Feature::Roots].contains(feature);
            let claim = match sharing {
                Sharing::Shared if asks => Claim::NotOffered,
                _ => claim(&verdict),
            };
            let compared = straight.compare(feature.name(), claim, ours, &seen);
            compared.unwrap_or_else(|why| panic!("{} -> {theirs}: {why}", feature.name()));
        }
    }
}

#[tokio::test]
async fn a_principal_without_sessions_loses_nothing() {
    let ada = Principal::new("test", "ada");
    servers_of_sessions(Some(ada), Sharing::PerCall).await;
}

#[tokio::test]
async fn where_all_share_a_connection_nobody_is_asked() {
    servers_of_sessions(None, Sharing::Shared).await;
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
