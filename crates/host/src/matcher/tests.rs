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

    /// How many cases find the tool, and how many are wholly right; failures
    /// are printed.
    fn score(&self) -> (usize, usize) {
        let index = self.index();
        let (mut found, mut right) = (0, 0);
        for case in &self.cases {
            let question = case["q"].as_str().unwrap();
            let proposals = index.propose(question, &context());
            let best = proposals.best.first();
            let name = best.map(|p| self.tools[p.tool].1.as_str());
            let wanted = case["tool"].as_str();
            let tool_right = name == wanted;
            let args_right = best.is_none_or(|p| arguments_right(&case["args"], &p.arguments));
            found += usize::from(tool_right);
            right += usize::from(tool_right && args_right);
            if !(tool_right && args_right) {
                println!("{question}\n  wanted {wanted:?} {}", case["args"]);
                for p in &proposals.best {
                    let tool = &self.tools[p.tool].1;
                    let missing: Vec<&str> = p.missing.iter().map(|m| m.name.as_str()).collect();
                    println!("  {:.2} {tool} {:?} missing {missing:?}", p.score, p.arguments);
                }
            }
        }
        println!("{found} tools and {right} wholly right of {}", self.cases.len());
        (found, right)
    }
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

#[test]
fn the_sample_questions_find_their_tools() {
    let file: Json =
        serde_json::from_str(include_str!("../../../../cases/questions/questions.json")).unwrap();
    let (found, right) = Cases::of(&file).score();
    assert!(found >= 27, "{found} tools right");
    assert!(right >= 24, "{right} wholly right");
}

#[test]
fn more_questions_find_the_same_tools() {
    let sample: Json =
        serde_json::from_str(include_str!("../../../../cases/questions/questions.json")).unwrap();
    for name in ["more.json", "held.json"] { let mut file: Json =
        serde_json::from_str(&std::fs::read_to_string(format!("/tmp/wt/matcher/cases/questions/{name}")).unwrap()).unwrap();
    file["tools"] = sample["tools"].clone();
    Cases::of(&file).score(); }
    let (found, right) = (1,1);
    assert!(found >= 1, "{found} tools right");
    assert!(right >= 1, "{right} wholly right");
}

#[test]
fn questions_find_the_tools_of_other_servers() {
    let file: Json =
        serde_json::from_str(include_str!("../../../../cases/questions/servers.json")).unwrap();
    let scores = file["sets"].as_array().unwrap().iter().map(|set| Cases::of(set).score());
    let (found, right) = scores.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(found >= 1, "{found} tools right");
    assert!(right >= 1, "{right} wholly right");
}
