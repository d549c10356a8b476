use std::collections::HashMap;

use super::*;
use crate::model::drive::script::{KEY, Reply, client, serve};

fn settings(variables: &[(&str, &str)]) -> Settings {
    let map: HashMap<_, _> = variables.iter().copied().collect();
    Settings::from_lookup(|name| map.get(name).map(|value| (*value).to_owned()))
}

/// The choice and its reason as text; local servers are not looked for.
async fn chosen(settings: Settings) -> Result<String, String> {
    let settings = Settings { local_wait: None, ..settings };
    let selection = select(&settings, &client()).await.map_err(|error| error.to_string())?;
    let name = match &selection.choice {
        Choice::Model(model) => model.name().to_owned(),
        Choice::Matcher => "matcher".to_owned(),
    };
    Ok(format!("{name}: {}", selection.reason))
}

#[tokio::test]
async fn the_first_place_that_names_a_model_counts() {
    let both =
        [("CARRICK_MODEL", "ollama:env"), ("OPENAI_API_KEY", KEY), ("ANTHROPIC_API_KEY", KEY)];
    let mut all = settings(&both);
    all.flag = Some("openai:flag".into());
    all.config = Some("ollama:config:7b".into());
    assert_eq!(chosen(all.clone()).await.unwrap(), "openai:flag: named by the command line");
    all.flag = Some(" ".into());
    assert_eq!(chosen(all.clone()).await.unwrap(), "ollama:env: named by CARRICK_MODEL");
    all.carrick_model = None;
    assert_eq!(chosen(all).await.unwrap(), "ollama:config:7b: named by the configuration");
}

#[tokio::test]
async fn a_key_in_the_environment_sets_up_its_provider() {
    for (variables, expected) in [
        (
            vec![("ANTHROPIC_API_KEY", KEY), ("OPENAI_API_KEY", KEY)],
            "anthropic:claude-sonnet-5-5: ANTHROPIC_API_KEY is set",
        ),
        (vec![("OPENAI_API_KEY", KEY)], "openai:gpt-5.6-terra: OPENAI_API_KEY is set"),
        (
            vec![("ANTHROPIC_API_KEY", "  "), ("OPENAI_API_KEY", "")],
            "matcher: no model is set up, and no local one answers",
        ),
    ] {
        assert_eq!(chosen(settings(&variables)).await.unwrap(), expected);
    }
    let shown = format!("{:?}", settings(&[("ANTHROPIC_API_KEY", KEY)]));
    assert!(!shown.contains(KEY), "{shown}");
}

#[tokio::test]
async fn what_was_asked_for_is_never_passed_over() {
    let named = |name: &str| Settings { flag: Some(name.to_owned()), ..Settings::default() };
    for (name, words) in [
        ("anthropic:claude", "ANTHROPIC_API_KEY is not set"),
        ("openai", "OPENAI_API_KEY is not set"),
        ("gpt-4o", "write provider:model"),
        ("opneai:gpt", "is unknown; there are anthropic, openai"),
        ("gemini:pro", "Gemini's own API is not supported"),
        ("builtin:other", "builtin:match"),
    ] {
        let error = chosen(named(name)).await.unwrap_err();
        assert!(error.contains(words), "{name}: {error}");
        assert!(error.contains(name) || error.contains("KEY"), "{error}");
    }
    assert_eq!(chosen(named("builtin:match")).await.unwrap(), "matcher: named by the command line");
}

#[tokio::test]
async fn a_server_of_ones_own_is_asked_for_its_model() {
    let list = r#"{"object":"list","data":[{"id":"nomic-embed-text"},{"id":"qwen3:8b"}]}"#;
    let (base, server) = serve(vec![Reply::status(200, "", list)]).await;
    let chosen = chosen(settings(&[("OPENAI_BASE_URL", &base), ("OPENAI_API_KEY", KEY)])).await;
    assert_eq!(chosen.unwrap(), "openai:qwen3:8b: OPENAI_API_KEY is set");
    let request = &server.await.unwrap()[0];
    assert!(request.head.starts_with("get /v1/models http/1.1"), "{}", request.head);
    assert!(request.head.contains(&format!("authorization: bearer {KEY}")));

    let (base, server) = serve(vec![Reply::status(200, "", r#"{"data":null}"#)]).await;
    let error = self::chosen(settings(&[("OPENAI_BASE_URL", &base)])).await.unwrap_err();
    assert!(error.contains("name one as openai:model"), "{error}");
    server.await.unwrap();
}

#[tokio::test]
async fn a_local_ollama_is_found_and_a_web_page_is_not_taken_for_one() {
    let list = r#"{"data":[{"id":"llama3.2:3b"}]}"#;
    let (base, server) = serve(vec![Reply::status(200, "", list)]).await;
    let mut settings = settings(&[("OLLAMA_HOST", &base)]);
    assert_eq!(settings.local_wait, Some(LOCAL_WAIT));
    // However slow the machine that runs this.
    settings.local_wait = Some(local::PATIENCE);
    let selection = select(&settings, &client()).await.unwrap();
    assert!(
        matches!(&selection.choice, Choice::Model(model) if model.name() == "ollama:llama3.2:3b")
    );
    assert_eq!(selection.reason, format!("ollama answers at {base}"));
    server.await.unwrap();

    let (base, server) = serve(vec![Reply::status(200, "", "<html>a router</html>")]).await;
    let limit = local::PATIENCE;
    let error = local::first_model(&client(), &base, None, limit).await.unwrap_err();
    assert!(error.contains("not a list of models"), "{error}");
    server.await.unwrap();
}

fn entry(provider: &str, base: Option<&str>, key: Option<&str>) -> ConfiguredProvider {
    ConfiguredProvider {
        provider: provider.to_owned(),
        base_url: base.map(str::to_owned),
        key: key.and_then(Secret::new),
    }
}

#[tokio::test]
async fn a_provider_of_the_configurations_own_name_stands_alone() {
    let list = r#"{"object":"list","data":[{"id":"qwen3:8b"}]}"#;
    let (base, server) = serve(vec![Reply::status(200, "", list)]).await;
    let mut all =
        settings(&[("OPENAI_API_KEY", KEY), ("OPENAI_BASE_URL", "http://unused.example")]);
    all.add_provider("local", Ok(entry("openai", Some(&base), None)));
    all.flag = Some("local:some:model".into());
    assert_eq!(chosen(all.clone()).await.unwrap(), "openai:some:model: named by the command line");
    all.flag = Some("local".into());
    assert_eq!(chosen(all).await.unwrap(), "openai:qwen3:8b: named by the command line");
    let request = &server.await.unwrap()[0];
    assert!(!request.head.contains(KEY), "the environment's key went elsewhere: {}", request.head);
}

#[tokio::test]
async fn a_providers_own_name_in_the_configuration_fills_what_the_environment_leaves_open() {
    let mut all = Settings::default();
    all.add_provider("anthropic", Ok(entry("anthropic", None, Some("from the file"))));
    let expected = "anthropic:claude-sonnet-5-5: anthropic is set up";
    assert_eq!(chosen(all).await.unwrap(), expected);

    let mut all = settings(&[("OPENAI_BASE_URL", "http://here.example/v1")]);
    all.add_provider("openai", Ok(entry("openai", Some("http://there.example"), Some(KEY))));
    assert!(all.openai_key.is_none(), "a key goes only to the address it was given for");
    assert_eq!(all.openai_url.as_deref(), Some("http://here.example/v1"));
}

#[tokio::test]
async fn a_broken_provider_is_an_error_for_who_names_it() {
    let mut all = Settings::default();
    all.add_provider("local", Err("config.json:3:7: KEY is not set".into()));
    assert!(chosen(all.clone()).await.unwrap().starts_with("matcher"));
    all.flag = Some("local:x".into());
    assert_eq!(chosen(all).await.unwrap_err(), "config.json:3:7: KEY is not set");

    let mut all = Settings::default();
    all.add_provider("google", Ok(entry("gemini", None, None)));
    all.flag = Some("google:pro".into());
    assert!(chosen(all).await.unwrap_err().contains("Gemini's own API is not supported"));
}
