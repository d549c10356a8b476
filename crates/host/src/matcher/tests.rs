use serde_json::Value as Json;

use super::*;

/// The tools and cases of a file of questions.
struct Cases {
    tools: Vec<(String, String, String, String)>,
    cases: Vec<Json>,
}

impl Cases {
    fn of(file: &Json) -> Self {
        let text = |value: &Json| value.as_str().unwrap_or_default().to_owned();
        let tools = file["tools"].as_array().unwrap().iter().map(|tool| {
            let schema = tool["inputSchema"].to_string();
            (text(&tool["server"]), text(&tool["name"]), text(&tool["description"]), schema)
        });
        Self { tools: tools.collect(), cases: file["cases"].as_array().unwrap().clone() }
    }

    fn index(&self) -> Index {
        let views: Vec<ToolView<'_>> =
            self.tools.iter().map(|(s, n, d, i)| ToolView::new(s, n, d, i)).collect();
        Index::new(&views)
    }

    /// Asks every question; failures are printed.
    fn score(&self) -> Score {
        let index = self.index();
        let mut score = Score { of: self.cases.len(), ..Score::default() };
        for case in &self.cases {
            let question = case["q"].as_str().unwrap();
            let proposals = index.propose(question, &context());
            let best = proposals.best.first();
            let name = best.map(|p| self.tools[p.tool].1.as_str());
            let found = name == case["tool"].as_str();
            let right = found && best.is_none_or(|p| arguments_right(&case["args"], &p.arguments));
            score.found += usize::from(found);
            score.right += usize::from(right);
            score.sure += usize::from(proposals.confident().is_some());
            score.rash += usize::from(!right && proposals.confident().is_some());
            if !right {
                println!("{question}\n  wanted {} {}", case["tool"], case["args"]);
                for p in &proposals.best {
                    let tool = &self.tools[p.tool].1;
                    let missing: Vec<&str> = p.missing.iter().map(|m| m.name.as_str()).collect();
                    println!("  {:.2} {tool} {:?} missing {missing:?}", p.score, p.arguments);
                }
            }
        }
        println!("{score:?}");
        score
    }
}

/// How a set of questions went.
#[derive(Debug, Default)]
struct Score {
    of: usize,
    /// The tool, or that there is none, is right.
    found: usize,
    /// The arguments are right too.
    right: usize,
    /// The best proposal is one to run unasked.
    sure: usize,
    /// So it is, and wrong.
    rash: usize,
}

fn context() -> Context {
    Context::new("2026-08-05T10:00[Europe/Paris]".parse().unwrap())
}

/// Every argument is one of the accepted values, and none is left over.
fn arguments_right(accepted: &Json, arguments: &Map<String, Json>) -> bool {
    let empty = Map::new();
    let accepted = accepted.as_object().unwrap_or(&empty);
    arguments.keys().all(|name| accepted.contains_key(name))
        && accepted.iter().all(|(name, values)| {
            let given = arguments.get(name).map(plain);
            values.as_array().unwrap().iter().any(|value| match (value, &given) {
                (Json::Null, None) => true,
                (Json::String(s), Some(given)) => match s.strip_prefix("re:") {
                    Some(pattern) => regex::RegexBuilder::new(pattern)
                        .case_insensitive(true)
                        .build()
                        .unwrap()
                        .is_match(given),
                    None => s.to_lowercase() == given.to_lowercase(),
                },
                (value, Some(given)) => plain(value) == *given,
                (_, None) => false,
            })
        })
}

fn plain(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The questions of one file over the tools of the sample.
fn over_the_sample_tools(cases: &str) -> Cases {
    let sample: Json =
        serde_json::from_str(include_str!("../../../../cases/questions/questions.json")).unwrap();
    let mut file: Json = serde_json::from_str(cases).unwrap();
    file["tools"] = sample["tools"].clone();
    Cases::of(&file)
}

#[test]
fn the_sample_questions_find_their_tools() {
    let sample = include_str!("../../../../cases/questions/questions.json");
    let score = over_the_sample_tools(sample).score();
    assert!(score.found >= 29, "{score:?}");
    assert!(score.right >= 26, "{score:?}");
    assert_eq!(score.rash, 0, "{score:?}");
}

#[test]
fn more_questions_find_the_same_tools() {
    let more = include_str!("../../../../cases/questions/more.json");
    let score = over_the_sample_tools(more).score();
    assert!(score.found * 100 >= score.of * 95, "{score:?}");
    assert!(score.right * 100 >= score.of * 95, "{score:?}");
    assert_eq!(score.rash, 0, "{score:?}");
}

#[test]
fn questions_find_the_tools_of_other_servers() {
    let file: Json =
        serde_json::from_str(include_str!("../../../../cases/questions/servers.json")).unwrap();
    for set in file["sets"].as_array().unwrap() {
        let score = Cases::of(set).score();
        assert!(score.found * 10 >= score.of * 9, "{score:?}");
        assert!(score.right * 10 >= score.of * 9, "{score:?}");
        assert_eq!(score.rash, 0, "{score:?}");
    }
}

/// Proposals of one tool for a question.
fn ask(name: &str, description: &str, schema: &str, question: &str) -> Proposals {
    Index::new(&[ToolView::new("", name, description, schema)]).propose(question, &context())
}

#[test]
fn a_value_the_schema_refuses_is_named_and_not_changed() {
    let schema = r#"{"properties":{"city":{"type":"string"},
        "days":{"type":"integer","maximum":7}},"required":["city"]}"#;
    let best = &ask("get_forecast", "", schema, "Forecast for Oslo for the next 14 days").best[0];
    assert_eq!(best.arguments.get("days"), None);
    assert!(!best.complete && !best.confident);
    let Reason::NotAccepted { value, maximum, .. } = &best.missing[0].reason else {
        panic!("{:?}", best.missing);
    };
    assert_eq!((value.as_str(), *maximum), ("14 days", Some(7.0)));
}

#[test]
fn what_is_missing_is_named_with_its_description() {
    let schema = r#"{"properties":{"city":{"type":"string","description":"City name"}},
        "required":["city"]}"#;
    let proposals = ask("get_weather", "", schema, "What is the weather like?");
    assert!(proposals.confident().is_none());
    let missing = &proposals.best[0].missing[0];
    assert_eq!((missing.name.as_str(), missing.description.as_str()), ("city", "City name"));
    assert_eq!(missing.reason, Reason::NotInQuestion);
}

#[test]
fn a_tool_whose_schema_cannot_be_read_is_found_but_not_complete() {
    let best = &ask("get_weather", "", "[", "What is the weather like?").best[0];
    assert!(!best.complete);
    assert!(matches!(best.missing[0].reason, Reason::UnreadableSchema(_)));
}

#[test]
fn a_tool_that_deletes_is_not_guessed() {
    let schema = r#"{"properties":{"path":{"type":"string"}},"required":["path"]}"#;
    assert!(ask("delete_file", "", schema, "What is in the file a.txt?").best.is_empty());
    assert_eq!(ask("delete_file", "", schema, "Delete a.txt").best.len(), 1);
}

#[test]
fn powers_are_written_as_the_tool_shows_them() {
    let schema = |example: &str| {
        format!(
            r#"{{"properties":{{"expression":{{"type":"string","description":"e.g. {example}"}}}},
            "required":["expression"]}}"#
        )
    };
    let written = |example: &str| {
        ask("calculate", "", &schema(example), "3的5次方是多少").best[0].arguments["expression"]
            .clone()
    };
    assert_eq!(written("2^3"), "3^5");
    assert_eq!(written("2**3"), "3**5");
}

#[test]
fn dates_and_times_take_the_form_the_schema_asks_for() {
    let one = |property: &str| {
        let schema = format!(r#"{{"properties":{{"when":{property}}},"required":["when"]}}"#);
        let proposals =
            ask("create_reminder", "", &schema, "Create a reminder for tomorrow at 6pm");
        proposals.best[0].arguments["when"].clone()
    };
    assert_eq!(one(r#"{"type":"string","format":"date"}"#), "2026-08-06");
    assert_eq!(one(r#"{"type":"string","format":"time"}"#), "18:00:00");
    assert_eq!(one(r#"{"type":"string","format":"date-time"}"#), "2026-08-06T18:00:00+02:00");
    assert_eq!(one(r#"{"type":"string","description":"Date, DD/MM/YYYY"}"#), "06/08/2026");
    assert_eq!(one(r#"{"type":"string","description":"Time, 12-hour clock"}"#), "6:00 PM");
}

#[test]
fn required_values_that_have_a_default_or_no_choice_are_filled() {
    let schema = r#"{"properties":{"city":{"type":"string"},"unit":{"type":"string","default":"celsius"},
        "version":{"const":2}},"required":["city","unit","version"]}"#;
    let best = &ask("get_weather", "", schema, "Weather in Oslo").best[0];
    assert_eq!(best.arguments["unit"], "celsius");
    assert_eq!(best.arguments["version"], 2);
    assert!(best.complete);
}

#[test]
fn ranking_finds_one_tool_among_thousands() {
    let names: Vec<String> = (0..5_000).map(|n| format!("get_record_{n}")).collect();
    let mut views: Vec<ToolView<'_>> =
        names.iter().map(|name| ToolView::new("crm", name, "Get one record", "{}")).collect();
    views.insert(2_500, ToolView::new("img", "resize_image", "Resize an image", "{}"));
    let index = Index::new(&views);
    let ranked = index.rank("make the picture smaller: scale it", 3);
    assert_eq!(ranked.first().map(|r| r.tool), Some(2_500));
    assert!(index.rank("你好", 3).is_empty());
    assert_eq!(index.rank("get the record", 3).len(), 3);
}

#[test]
fn no_tools_and_no_words_give_no_proposals() {
    let empty = Index::new(&[]);
    assert!(empty.propose("What is the weather in Oslo?", &context()).best.is_empty());
    assert!(ask("get_weather", "", "{}", "").best.is_empty());
    assert!(ask("get_weather", "", "{}", " \n?!\u{0}\u{202e}").best.is_empty());
}

#[test]
fn no_question_and_no_schema_makes_it_panic() {
    // Pieces that the rules look for, in every order a small generator gives.
    let pieces = [
        "/a/b.txt",
        "~",
        "*.rs",
        "14:30",
        "下午",
        "三点",
        "3",
        "800x600",
        "%",
        " of ",
        "(",
        ")",
        "+",
        "的平方根",
        "New York",
        "北京市",
        "UTC+9",
        "\"",
        "'",
        "`",
        "SELECT * FROM t",
        "https://x.io",
        "remember that",
        "记住",
        ":",
        ",",
        "。",
        " ",
        "to",
        "from",
        "5 miles",
        "$",
        "last 5",
        "half past",
        "百分之",
        "é",
        "\u{0}",
        "😀",
        "周五",
        "May 4",
        "then",
        "sqrt",
        "ann@example.org",
        "here",
        "-",
    ];
    let schemas = [
        r#"{"properties":{"path":{"type":"string"},"q":{"type":"string","pattern":"["}},"required":["path"]}"#,
        r#"{"properties":{"a":{"type":["null","number"]},"b":{"enum":[1,"x",null]},"c":{"type":"array"}}}"#,
        r#"{"properties":{"text":{"type":"string"},"time":{"type":"string","format":"date-time"},
            "tz":{"type":"string"},"n":{"type":"integer","minimum":1e300}},"required":["nothing"]}"#,
        r#"{"properties":{"":{},"expression":{"type":"string"},"from":{"type":"string"},"to":{}}}"#,
        "{",
    ];
    let views: Vec<ToolView<'_>> = schemas
        .iter()
        .map(|s| ToolView::new("s", "convert_file_time", "Search notes", s))
        .collect();
    let index = Index::new(&views);
    let mut seed = 1_u32;
    for _ in 0..300 {
        let question: String = (0..12)
            .map(|_| {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                pieces[usize::try_from(seed >> 16).unwrap() % pieces.len()]
            })
            .collect();
        for proposal in index.propose(&question, &context()).best {
            assert!(proposal.score.is_finite(), "{question}");
            assert_eq!(proposal.complete, proposal.missing.is_empty(), "{question}");
        }
    }
}

#[test]
fn a_long_text_is_answered_too() {
    // Anything quadratic in here would not end.
    let pieces =
        ["the ", "3 + 4 ", "/a/b ", "word ", "我的", "\"x\" ", "Oslo ", "remember ", "5 days "];
    let question = pieces.concat().repeat(1_000);
    let schema = r#"{"properties":{"text":{"type":"string"},"paths":{"type":"array","items":{"type":"string"}},
        "name":{"type":"string"},"days":{"type":"integer"}},"required":["text","name"]}"#;
    let proposals = ask("remember_note", "Remember a note", schema, &question);
    assert!(proposals.best.len() <= 1);
}

#[test]
fn a_tool_that_keeps_notes_is_asked_to_remember() {
    let schema = r#"{"properties":{"content":{"type":"string"}},"required":["content"]}"#;
    for name in ["save_note", "add_note", "create_memory", "write_fact"] {
        let proposals = ask(name, "Keeps a note", schema, "Remember that the key is under the mat");
        let content = proposals.best.first().map(|p| p.arguments["content"].clone());
        assert_eq!(content, Some("the key is under the mat".into()), "{name}");
    }
}
