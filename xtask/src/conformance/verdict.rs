//! What the checks of a scenario come to.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::scenarios::Scenario;
use crate::Result;
use crate::metadata::text;

/// The checks that every scenario has: that messages fit the schema.
const OF_EVERY_SCENARIO: &str = "wire-schema-";

/// What became of one scenario.
pub(super) struct Verdict {
    /// Checks that passed.
    pub(super) passed: usize,
    /// Why the scenario failed; none when it passed.
    pub(super) problems: Vec<String>,
}

impl Verdict {
    /// A scenario that could not even be run.
    pub(super) fn failed(why: String) -> Verdict {
        Verdict { passed: 0, problems: vec![why] }
    }

    /// Judges the checks that the suite left below `folder`.
    ///
    /// A warning fails, as do a skipped check that is not known to be skipped always, and a
    /// scenario of which nothing was checked: the suite lets those pass.
    pub(super) fn new(scenario: &Scenario, folder: &Path) -> Result<Verdict> {
        let file = checks_file(folder)?.ok_or("the suite wrote no checks")?;
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
        let json = fs::read(&file).map_err(|error| failed(&error))?;
        let checks: Vec<Value> = serde_json::from_slice(&json).map_err(|error| failed(&error))?;
        Ok(Verdict::of(scenario, &checks))
    }

    fn of(scenario: &Scenario, checks: &[Value]) -> Verdict {
        let (mut passed, mut own) = (0, 0);
        let mut problems = Vec::new();
        for check in checks {
            let id = text(check, "id");
            match text(check, "status") {
                "SUCCESS" => {
                    passed += 1;
                    own += usize::from(!id.starts_with(OF_EVERY_SCENARIO));
                }
                "INFO" => {}
                "SKIPPED" if scenario.may_skip(id, text(check, "errorMessage")) => {}
                status => problems.push(format!("{status} {id}: {}", explanation(check))),
            }
        }
        for id in scenario.must_pass() {
            let passed = |check: &Value| text(check, "id") == *id && check["status"] == "SUCCESS";
            if !checks.iter().any(passed) {
                problems.push(format!("{id} was not checked"));
            }
        }
        if own == 0 && problems.is_empty() {
            problems.push("nothing of the scenario's own was checked".to_owned());
        }
        Verdict { passed, problems }
    }
}

/// What the suite says of a check that did not pass, and its evidence in short.
fn explanation(check: &Value) -> String {
    const LONGEST: usize = 600;
    let said = match text(check, "errorMessage") {
        "" => text(check, "description"),
        message => message,
    };
    let details = match &check["details"] {
        Value::Null => String::new(),
        details => format!("\n  {details}"),
    };
    let mut whole = format!("{said}{details}");
    if whole.len() > LONGEST {
        whole.truncate(whole.floor_char_boundary(LONGEST));
        whole.push('…');
    }
    whole
}

/// The one `checks.json` in a folder of the suite's making.
fn checks_file(folder: &Path) -> Result<Option<PathBuf>> {
    let failed = |error: std::io::Error| format!("cannot look into {}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.file_name().is_some_and(|name| name == "checks.json") {
            return Ok(Some(path));
        }
        if path.is_dir()
            && let Some(found) = checks_file(&path)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::scenarios;
    use super::*;

    fn problems(checks: &[(&str, &str)]) -> Vec<String> {
        let scenario = &scenarios::all()[0];
        let checks: Vec<Value> = checks
            .iter()
            .map(|(id, status)| json!({"id": id, "status": status, "description": "d"}))
            .collect();
        Verdict::of(scenario, &checks).problems
    }

    #[test]
    fn only_success_passes() {
        let good = [("a", "SUCCESS"), ("wire-schema-valid", "SUCCESS"), ("b", "INFO")];
        assert_eq!(problems(&good), [""; 0]);
        for status in ["FAILURE", "WARNING", "SKIPPED", "NOVEL"] {
            let checks = [&good[..], &[("c", status)]].concat();
            assert_eq!(problems(&checks), [format!("{status} c: d")]);
        }
    }

    #[test]
    fn a_scenario_that_checked_nothing_of_its_own_fails() {
        for checks in [&[][..], &[("wire-schema-valid", "SUCCESS")], &[("a", "INFO")]] {
            assert_eq!(problems(checks), ["nothing of the scenario's own was checked"]);
        }
    }

    #[test]
    fn a_scenario_that_left_out_what_it_is_about_fails() {
        let polling =
            scenarios::all().into_iter().find(|s| s.name == "server-sse-polling").unwrap();
        let of = |ids: &[&str]| {
            let check = |id| json!({"id": id, "status": "SUCCESS"});
            Verdict::of(&polling, &ids.iter().map(check).collect::<Vec<Value>>()).problems
        };
        let resume = "server-sse-disconnect-resume";
        assert_eq!(of(&["server-sse-priming-event", resume]), [""; 0]);
        assert_eq!(of(&["server-sse-priming-event"]), [format!("{resume} was not checked")]);
    }

    #[test]
    fn only_the_known_skips_are_allowed() {
        let headers = scenarios::all().into_iter().find(|s| s.name == "http-standard-headers");
        let check = |status: &str, said: &str| {
            json!({
                "id": "sep-2243-client-includes-standard-headers",
                "status": status,
                "errorMessage": said
            })
        };
        let good = check("SUCCESS", "");
        let of = |skipped| Verdict::of(&headers.unwrap(), &[good.clone(), skipped]).problems;
        let known = "Client did not send a initialize request; not exercised.";
        assert_eq!(of(check("SKIPPED", known)), [""; 0]);
        assert_eq!(of(check("SKIPPED", "Client did not send a tools/list request")).len(), 1);
        assert_eq!(of(check("FAILURE", known)).len(), 1);
    }

    #[test]
    fn the_checks_are_found_below_folders_of_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let scenario = &scenarios::all()[0];
        assert!(Verdict::new(scenario, folder.path()).is_err());
        let inner = folder.path().join("server-ping-2026");
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("checks.json"), r#"[{"id": "a", "status": "SUCCESS"}]"#).unwrap();
        let verdict = Verdict::new(scenario, folder.path()).unwrap();
        assert!(verdict.passed == 1 && verdict.problems.is_empty());
        fs::write(inner.join("checks.json"), "[").unwrap();
        assert!(Verdict::new(scenario, folder.path()).is_err());
    }
}
