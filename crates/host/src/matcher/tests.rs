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
