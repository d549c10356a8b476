//! The built-in matcher: the tool for a question.

use carrick_host::matcher::{Context, Index, ToolView};
use criterion::Criterion;
use std::hint::black_box;

use crate::{measure, numbered};

const SCHEMA: &str = r#"{"type":"object","properties":{"city":{"type":"string","description":"The city"},"days":{"type":"integer","minimum":1}},"required":["city"]}"#;
const QUESTION: &str = "Will it rain in Lisbon tomorrow?";
const VERBS: [&str; 6] = ["search", "list", "create", "delete", "update", "convert"];
const NOUNS: [&str; 7] = ["file", "issue", "invoice", "user", "image", "branch", "message"];

pub(crate) fn bench(criterion: &mut Criterion) {
    let now = "2026-08-05T10:00[Europe/Paris]".parse();
    let context = Context::new(now.unwrap_or_else(|error| panic!("no time: {error}")));
    let mut group = criterion.benchmark_group("matcher");
    for count in [30, 1_000] {
        let on = format!("{count} tools");
        let words = |number: usize| {
            (VERBS[number % VERBS.len()], NOUNS[number / VERBS.len() % NOUNS.len()])
        };
        let names = numbered(count, |number| {
            let (verb, noun) = words(number);
            format!("{verb}_{noun}_{number}")
        });
        let descriptions = numbered(count, |number| {
            let (verb, noun) = words(number);
            format!("Lets the caller {verb} a {noun} by what is known of it, number {number}.")
        });
        let tools = names.iter().zip(&descriptions).skip(1);
        let tools = tools.map(|(name, text)| ToolView::new("things", name, text, SCHEMA));
        let weather = ToolView::new("weather", "get_forecast", "The weather of a city", SCHEMA);
        let tools: Vec<ToolView<'_>> = tools.chain([weather]).collect();
        let text: String = tools.iter().flat_map(|tool| [tool.name, tool.description]).collect();
        let index = Index::new(&tools);
        let found = index.propose(QUESTION, &context);
        assert_eq!(found.best.first().map(|best| best.tool), Some(tools.len() - 1));
        measure(&mut group, "carrick question", &on, text.len(), || {
            index.propose(black_box(QUESTION), &context)
        });
        measure(&mut group, "carrick index", &on, text.len(), || Index::new(black_box(&tools)));
        measure(&mut group, "limit one word in all texts", &on, text.len(), || {
            memchr::memmem::find(black_box(text.as_bytes()), b"weather")
        });
    }
    group.finish();
}
