//! The comparison itself: it accepts what translation leaves, and nothing else.

use super::compare::less;
use super::{Claim, Observed, Observer, Seen, Straight, server};
use carrick::Client;
use carrick::client::{ClientConfig, Hooks};
use carrick::proto::method::Method;
use carrick::proto::revision::{Part, Revision};
use carrick::transport::memory;
use carrick::types::Implementation;
use serde_json::json;

const OLDEST: Revision = Revision::V2024_11_05;
const AUDIO: &str = "`content.*` `audio` becomes `text` that tells of it";

async fn connect(revision: Revision, hooks: Hooks) -> Client {
    let (ours, theirs) = memory();
    let server = server(revision);
    tokio::spawn(async move { carrick::serve(&server, theirs).await });
    let mut config = ClientConfig::new(Implementation::new("client", "1"));
    config.revision = Some(revision);
    Client::connect(ours, config, hooks).await.unwrap()
}

async fn straight() -> Straight {
    let revision = Revision::NEWEST;
    Straight::observe(revision, async |hooks| connect(revision, hooks).await).await
}

/// What a client of this revision has to observe of a feature.
async fn observed(feature: &'static str, revision: Revision) -> Observed {
    let observer = Observer::default();
    let client = connect(Revision::NEWEST, observer.hooks()).await;
    let all = observer.observe(&client).await.remove(feature).unwrap();
    let crossed = |seen: &Seen| seen.crossed(Revision::NEWEST, revision).unwrap().0;
    Observed::from([(feature, all.iter().map(crossed).collect())])
}

#[tokio::test]
async fn a_degraded_cell_is_what_translation_leaves() {
    let (straight, feature) = (straight().await, "images and sound");
    let seen = observed(feature, OLDEST).await;
    let compare = |claim, seen: &Observed| straight.compare(feature, claim, OLDEST, seen);
    compare(Claim::Less(AUDIO), &seen).unwrap();
    compare(Claim::Same, &seen).unwrap_err();
    compare(Claim::Less("`content.*` left out"), &seen).unwrap_err();

    let change = |change: &dyn Fn(&mut Seen)| {
        let mut seen = seen.clone();
        change(&mut seen.get_mut(feature).unwrap()[0]);
        compare(Claim::Less(AUDIO), &seen).unwrap_err()
    };
    change(&|seen| drop(seen.value["content"].as_array_mut().unwrap().pop()));
    change(&|seen| seen.value["content"][1]["text"] = "something".into());
    change(&|seen| seen.value["isError"] = true.into());
    change(&|seen| {
        let error = json!({ "code": -32603, "message": "no" });
        *seen = Seen::of(Part::Error(Method::ToolsCall), error);
    });
    change(&|seen| *seen = Seen::failed("the connection has been closed"));
    compare(Claim::Less(AUDIO), &Observed::new()).unwrap_err();
}

#[tokio::test]
async fn an_exact_cell_has_the_code_of_its_own_revision() {
    let (straight, mut seen) = (straight().await, observed("errors", OLDEST).await);
    let compare = |seen: &Observed| straight.compare("errors", Claim::Same, OLDEST, seen);
    let code = |seen: &mut Observed| seen.get_mut("errors").unwrap()[2].value["code"].take();
    compare(&seen).unwrap();
    assert_eq!(code(&mut seen), -32002, "that of a resource that does not exist");
    seen.get_mut("errors").unwrap()[2].value["code"] = json!(-32602);
    compare(&seen).unwrap_err();
}

#[tokio::test]
async fn a_cell_without_questions_asks_none_and_says_why() {
    let (straight, feature) = (straight().await, "elicitation");
    let ours = Revision::NEWEST;
    let compare = |seen: &Observed| straight.compare(feature, Claim::NotOffered, ours, seen);
    // Its client can be asked.
    compare(&observed(feature, ours).await).unwrap_err();
    let client = connect(Revision::NEWEST, Hooks::default()).await;
    let refused = Observer::default().questions(&client).await.remove(feature).unwrap();
    let mut seen = Observed::from([(feature, refused)]);
    compare(&seen).unwrap();
    seen.get_mut(feature).unwrap()[0].value["code"] = json!(-32603);
    compare(&seen).unwrap_err();
}

#[test]
fn what_is_different_without_a_word_is_found() {
    let part = Part::Result(Method::ToolsCall);
    let of = |value| [Seen::of(part, value)];
    let how = "`content.*.title` left out";
    let lost = [("content.*.title".to_owned(), "left out")].into();
    let straight = of(json!({ "content": [{ "title": { "a": 1 }, "text": "a" }] }));
    let leaves = |value| less(how, &lost, &straight, &of(value));
    leaves(json!({ "content": [{ "text": "a" }] })).unwrap();
    leaves(json!({ "content": [{ "title": { "a": 2 }, "text": "a" }] })).unwrap_err();
    leaves(json!({ "content": [{ "title": { "a": 1 }, "text": "a" }] })).unwrap_err();
    let why = leaves(json!({ "content": [{}] })).unwrap_err();
    assert_eq!(why, "`content.*.text` is different without a word");
    leaves(json!({ "content": [] })).unwrap_err();
    leaves(json!({ "content": [{ "text": "a" }], "titles": 1 })).unwrap_err();
}
