//! Parts of Carrick by themselves: time beside a limit, and allocations for each message.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use serde_json::Value;

use super::programs::{MANIFEST, TARGET, build_release, program};
use crate::{Result, process};

/// Runs `micro [FILTER] [--criterion's options]` or `allocations [SCENARIO CALLS]`; none when the
/// arguments begin with the name of another benchmark.
pub(super) fn run(arguments: &[String]) -> Option<Result<()>> {
    let (name, rest) = arguments.split_first()?;
    match name.as_str() {
        "micro" => Some(benches(rest)),
        "allocations" => Some(allocations(rest)),
        _ => None,
    }
}

fn allocations(rest: &[String]) -> Result<()> {
    build_release(&["--manifest-path", MANIFEST, "--package", "micro", "--bin", "allocations"])?;
    process::run(Command::new(program("allocations")).args(rest))
}

/// Runs the benches and prints their times as multiples of the limit of their group.
fn benches(rest: &[String]) -> Result<()> {
    let target = process::root().join(TARGET);
    let home = target.join("criterion");
    let begin = SystemTime::now();
    let mut command = process::cargo(&["bench", "--locked", "--manifest-path", MANIFEST]);
    command.args(["--package", "micro", "--bench", "micro", "--"]).args(rest);
    process::run(command.env("CARGO_TARGET_DIR", &target).env("CRITERION_HOME", &home))?;
    let mut rows = BTreeMap::new();
    collect(&home, begin, &mut rows)?;
    print!("{}", table(&rows));
    Ok(())
}

/// The median nanoseconds of each function, by group and by what it worked on.
type Rows = BTreeMap<(String, String), BTreeMap<String, f64>>;

/// Reads what criterion has written since `begin` below a folder.
fn collect(folder: &Path, begin: SystemTime, rows: &mut Rows) -> Result<()> {
    let failed =
        |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let read = |path: PathBuf| -> Result<Value> {
        let text = std::fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        serde_json::from_str(&text).map_err(|error| failed(&path, &error))
    };
    // Without a run there is no folder.
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
    for entry in entries.filter_map(|entry| entry.ok()).filter(|entry| entry.path().is_dir()) {
        let path = entry.path();
        let estimates = path.join("estimates.json");
        let modified = estimates.metadata().and_then(|metadata| metadata.modified());
        if entry.file_name() != "new" {
            collect(&path, begin, rows)?;
        } else if modified.is_ok_and(|modified| modified >= begin) {
            let (named, estimates) = (read(path.join("benchmark.json"))?, read(estimates)?);
            let text = |name: &str| named[name].as_str().unwrap_or_default().to_owned();
            let median = estimates["median"]["point_estimate"].as_f64().unwrap_or(f64::NAN);
            let of_one = rows.entry((text("group_id"), text("value_str"))).or_default();
            of_one.insert(text("function_id"), median);
        }
    }
    Ok(())
}

fn table(rows: &Rows) -> String {
    let mut out = "\n| group | on | what | ns | × limit |\n|---|---|---|---:|---:|\n".to_owned();
    for ((group, on), functions) in rows {
        let limits = functions.iter().filter(|(name, _)| name.starts_with("limit "));
        // The slowest of several limits is the nearest.
        let limit = limits.map(|(_, time)| *time).fold(f64::NAN, f64::max);
        for (name, time) in functions {
            out += &format!("| {group} | {on} | {name} | {time:.0} | {:.1} |\n", time / limit);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_as_multiples_of_the_nearest_limit() {
        let times = [("carrick", 30.0), ("limit memchr", 5.0), ("limit memcpy", 10.0)];
        let times = times.map(|(name, time)| (name.to_owned(), time));
        let rows = Rows::from([(("scan".to_owned(), "1 MiB".to_owned()), times.into())]);
        let table = table(&rows);
        assert!(table.contains("| scan | 1 MiB | carrick | 30 | 3.0 |"), "{table}");
        assert!(table.contains("| scan | 1 MiB | limit memchr | 5 | 0.5 |"), "{table}");
    }

    #[test]
    fn what_was_measured_before_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join("scan/carrick/100 B/new");
        std::fs::create_dir_all(&new).unwrap();
        let named = r#"{"group_id":"scan","function_id":"carrick","value_str":"100 B"}"#;
        std::fs::write(new.join("benchmark.json"), named).unwrap();
        std::fs::write(new.join("estimates.json"), r#"{"median":{"point_estimate":2.5}}"#).unwrap();
        let count = |begin| {
            let mut rows = Rows::new();
            collect(folder.path(), begin, &mut rows).unwrap();
            rows.len()
        };
        assert_eq!(count(SystemTime::UNIX_EPOCH), 1);
        assert_eq!(count(SystemTime::now() + std::time::Duration::from_secs(60)), 0);
    }

    #[test]
    fn other_names_are_left_to_others() {
        assert!(run(&["stdio".to_owned()]).is_none());
        assert!(run(&[]).is_none());
    }
}
