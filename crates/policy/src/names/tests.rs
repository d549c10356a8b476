use std::collections::BTreeMap;

use super::*;

fn pair(server: &str, tool: &str) -> ToolRef {
    ToolRef { server: server.to_owned(), tool: tool.to_owned() }
}

fn table(pairs: &[(&str, &str)]) -> ToolNames {
    ToolNames::new(pairs.iter().map(|(server, tool)| pair(server, tool)), &[])
}

fn handed(file: &str) -> serde_json::Value {
    let path = format!("{}/../../cases/handed/{file}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Every name is valid and unique, and leads back to its pair.
fn check(names: &ToolNames, count: usize) {
    let mut seen = HashSet::new();
    for (tool, name) in names.iter() {
        assert!(!name.is_empty() && name.len() <= MAX_LEN, "{name}");
        assert!(name.chars().all(is_safe), "{name}");
        assert!(seen.insert(name.to_owned()), "{name} twice");
        assert_eq!(names.tool(name), Some(tool));
        assert_eq!(names.resolve(name), Ok(tool));
    }
    assert_eq!(seen.len(), count);
}

#[test]
fn d106_names_that_would_collide_reach_their_own_servers() {
    let servers: BTreeMap<String, Vec<String>> =
        serde_json::from_value(handed("D106/servers.json")).unwrap();
    let pairs: Vec<_> = servers
        .iter()
        .flat_map(|(server, tools)| tools.iter().map(move |tool| pair(server, tool)))
        .collect();
    assert_eq!(pairs.len(), 4);
    let names = ToolNames::new(pairs, &[]);
    check(&names, 4);
    assert_eq!(names.exposed(&pair("a_b", "c")), Some("a_b__c"));
    assert_eq!(names.exposed(&pair("a", "b_c")), Some("a__b_c"));
    let error = names.resolve("search").unwrap_err();
    assert!(error.ambiguous);
    assert_eq!(error.candidates, ["a__search", "z__search"]);
}

#[test]
fn d106_separators_inside_names_do_not_make_names_meet() {
    // Each group would be one name if the parts were simply joined.
    let names = table(&[
        ("a", "b__c"),
        ("a__b", "c"),
        ("a_", "b"),
        ("a", "_b"),
        ("mail", "x__send"),
        ("mail__x", "send"),
        ("mail_x", "send"),
    ]);
    check(&names, 7);
}

#[test]
fn d106_a_tool_cannot_take_a_hashed_or_reserved_name() {
    let dotted = pair("s", "a.b");
    let names = ToolNames::new([dotted.clone()], &[]);
    let hashed = names.exposed(&dotted).unwrap().to_owned();
    let imposter = pair("s", hashed.strip_prefix("s__").unwrap());
    let names = ToolNames::new([dotted.clone(), imposter], &["s__plain"]);
    check(&names, 2);
    assert_eq!(names.exposed(&dotted), Some(hashed.as_str()));
    let names = ToolNames::new([pair("s", "plain")], &["s__plain"]);
    check(&names, 1);
    assert_eq!(names.tool("s__plain"), None);
}

#[test]
fn d122_long_and_foreign_names_get_stable_valid_aliases() {
    let case = handed("D122/names.json");
    let server = case["server"].as_str().unwrap();
    let tools: Vec<&str> =
        case["tools"].as_array().unwrap().iter().map(|tool| tool.as_str().unwrap()).collect();
    let names = ToolNames::new(tools.iter().map(|tool| pair(server, tool)), &[]);
    check(&names, tools.len());
    // The same alone, in another order, and beside other servers.
    for tool in &tools {
        let alone = table(&[(server, tool)]);
        let beside = table(&[("other", "x"), (server, tool), ("zz", "y")]);
        let expected = names.exposed(&pair(server, tool));
        assert_eq!(alone.exposed(&pair(server, tool)), expected);
        assert_eq!(beside.exposed(&pair(server, tool)), expected);
    }
    // Pinned, since a change would rename tools in saved conversations.
    assert_eq!(
        names.exposed(&pair(server, "list_open_discrepancies")),
        Some("quarterly_stock_reconciliati__list_open_discrepancies_77b44f1528")
    );
}

#[test]
fn two_tools_that_clean_to_the_same_text_differ() {
    let names = table(&[("s", "a.b"), ("s", "a/b"), ("s", "a b"), ("s", ""), ("", "a"), ("", "")]);
    check(&names, 6);
}

#[test]
fn a_taken_hash_is_made_longer() {
    let tool = pair("s", "a.b");
    let first = free_name(&tool, &HashSet::new());
    let mut taken = HashSet::from([first.clone()]);
    let second = free_name(&tool, &taken);
    assert_ne!(first, second);
    assert!(second.starts_with(&first), "{second}");
    while taken.len() < 40 {
        let name = free_name(&tool, &taken);
        assert!(name.len() <= MAX_LEN && taken.insert(name));
    }
}

#[test]
fn what_a_model_writes_is_resolved_by_the_table() {
    let names =
        table(&[("weather", "get_forecast"), ("docs", "read.page"), ("a", "b.c"), ("a.b", "c")]);
    let forecast = pair("weather", "get_forecast");
    for written in [
        "weather__get_forecast",
        "weather.get_forecast",
        "weather/get_forecast",
        "weather:get_forecast",
        " get_forecast\n",
    ] {
        assert_eq!(names.resolve(written), Ok(&forecast), "{written}");
    }
    assert_eq!(names.resolve("docs__read.page"), Ok(&pair("docs", "read.page")));
    assert!(names.resolve("a.b.c").unwrap_err().ambiguous);
}

#[test]
fn d121_an_unknown_name_gets_near_matches() {
    let names = table(&[("weather", "get_forecast"), ("weather", "get_alerts"), ("mail", "send")]);
    let error = names.resolve("get_forcast").unwrap_err();
    assert_eq!(error.candidates, ["weather__get_forecast"]);
    assert_eq!(
        error.to_string(),
        "there is no tool \"get_forcast\"; did you mean weather__get_forecast"
    );
    let error = names.resolve_pair("wether", "get_forecast").unwrap_err();
    assert_eq!(error.candidates, ["weather/get_forecast"]);
    let found = names.resolve_pair(" weather\n", " get_alerts ");
    assert_eq!(found, Ok(&pair("weather", "get_alerts")));
    let error = names.resolve(&"\u{7}q".repeat(100_000)).unwrap_err();
    assert!(error.candidates.is_empty());
    assert!(error.to_string().len() < 1000 && !error.to_string().contains('\u{7}'));
}
