//! Tools whose definitions change after they were agreed to.

use super::*;
use crate::permission::Pins;

const V1: &str = include_str!("../../../../../cases/handed/D105/v1.json");
const V2: &str = include_str!("../../../../../cases/handed/D105/v2.json");

fn pins(folder: &Folder) -> SharedPins {
    Arc::new(Mutex::new(Pins::open(folder.path("pins.json")).unwrap()))
}

fn registry(folder: &Folder) -> Registry {
    folder.registry(vec![folder.server("s", SCRIPT)], Some(pins(folder)))
}

#[tokio::test]
async fn d105_changed_and_new_tools_are_held_until_a_person_agrees() {
    let folder = Folder::new();
    folder.tools(V1);
    let first = registry(&folder);
    assert_eq!(names(&first.tools("s").await.unwrap()), ["add"], "agreed to at first sight");
    assert!(first.held("s").await.unwrap().is_empty());
    first.close().await;

    // Another run, and the server has changed its mind.
    folder.tools(V2);
    let second = registry(&folder);
    let catalog = second.catalog().await;
    assert_eq!(catalog.tools().count(), 0, "nothing of it is offered");
    let held = catalog.servers[0].held.clone();
    assert_eq!(folder.heard("ToolsHeld"), 1);
    let add = held.iter().find(|held| held.name == "add").unwrap();
    assert_eq!(add.hold, Hold::Changed);
    assert!(add.lines.iter().any(|line| line.starts_with("+ ") && line.contains("~/.ssh")));
    let helper = held.iter().find(|held| held.name == "helper").unwrap();
    assert_eq!(helper.hold, Hold::New);
    assert!(
        helper.lines.iter().any(|line| line.starts_with("description: ")),
        "{:?}",
        helper.lines
    );

    // Nor can it be called by somebody who knows its name.
    let error = second.call("s", "add", b"{}", None).await.unwrap_err();
    assert!(matches!(error.kind(), ServerErrorKind::Held(held) if held.name == "add"));
    assert!(!error.is_unreachable());
    assert!(error.to_string().contains("held back"), "{error}");

    second.agree("s", std::slice::from_ref(add)).await.unwrap();
    assert_eq!(names(&second.tools("s").await.unwrap()), ["add"]);
    assert_eq!(second.held("s").await.unwrap().len(), 1, "the other one was not agreed to");
    assert!(second.call("s", "add", b"{}", None).await.is_ok());
    second.close().await;

    let third = registry(&folder);
    assert_eq!(names(&third.tools("s").await.unwrap()), ["add"], "it was taken down");
    third.close().await;
}

#[tokio::test]
async fn d105_a_change_while_connected_is_held_too() {
    let folder = Folder::new();
    folder.tools(V1);
    let registry = registry(&folder);
    let catalog = registry.catalog().await;
    folder.next_tools(V2);
    registry.call("s", "change", b"{}", None).await.unwrap();
    let renewed = registry.renewed(&catalog).await.unwrap();
    assert_eq!(renewed.tools().count(), 0);
    assert_eq!(renewed.servers[0].held.len(), 2);
    registry.close().await;
}

#[tokio::test]
async fn what_was_shown_is_agreed_to_and_not_what_came_after() {
    let folder = Folder::new();
    folder.tools(V1);
    let registry = registry(&folder);
    registry.tools("s").await.unwrap();
    folder.next_tools(V2);
    registry.call("s", "change", b"{}", None).await.unwrap();
    let seen = registry.held("s").await.unwrap();
    folder.next_tools(&V2.replace("description\":", "description\":\"and more\",\"title\":"));
    registry.call("s", "change", b"{}", None).await.unwrap();
    registry.agree("s", &seen).await.unwrap();
    assert!(registry.tools("s").await.unwrap().is_empty());
    assert!(registry.held("s").await.unwrap().iter().all(|held| held.hold == Hold::Changed));
    registry.close().await;
}

#[tokio::test]
async fn an_empty_first_list_agrees_to_nothing() {
    let folder = Folder::new();
    folder.tools(r#"{"tools":[]}"#);
    let registry = registry(&folder);
    assert!(registry.tools("s").await.unwrap().is_empty());
    folder.next_tools(V1);
    registry.call("s", "change", b"{}", None).await.unwrap();
    assert_eq!(names(&registry.tools("s").await.unwrap()), ["add"]);
    registry.close().await;
}

#[tokio::test]
async fn a_definition_that_cannot_be_compared_is_never_offered() {
    let folder = Folder::new();
    let twice = r#"{"tools":[{"name":"a","inputSchema":{"type":"object","type":"object"}},
        {"name":"b","inputSchema":{"type":"object"}}]}"#;
    folder.tools(twice);
    let registry = registry(&folder);
    assert_eq!(names(&registry.tools("s").await.unwrap()), ["b"]);
    let held = registry.held("s").await.unwrap();
    assert_eq!((held[0].name.as_str(), held[0].hold), ("a", Hold::Unreadable));
    registry.agree("s", &held).await.unwrap();
    assert_eq!(names(&registry.tools("s").await.unwrap()), ["b"], "it cannot be agreed to");
    registry.close().await;
}

#[tokio::test]
async fn our_own_servers_are_not_pinned_and_broken_pins_are_told() {
    let folder = Folder::new();
    let launch = Launch::Builtin { name: "empty".into(), args: Vec::new() };
    let builtin = configured("empty", ServerState::Ready(launch));
    let pins = pins(&folder);
    let registry = folder.registry(vec![builtin, folder.server("s", SCRIPT)], Some(pins));
    assert!(registry.tools("empty").await.unwrap().is_empty());
    assert!(!folder.path("pins.json").exists());
    std::fs::write(folder.path("pins.json"), "nonsense").unwrap();
    let error = registry.tools("s").await.unwrap_err();
    assert!(matches!(error.kind(), ServerErrorKind::Pins(_)) && !error.is_unreachable());
    assert!(error.to_string().contains("pins.json"), "{error}");
    registry.close().await;
}
