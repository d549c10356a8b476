//! Single values of many rounds: what a load generator writes, and what follows from it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::Result;

/// Values by scenario, server, metric and round.
#[derive(Debug, Default)]
pub(super) struct Values(Vec<Series>);

/// The rounds of one metric.
#[derive(Debug)]
struct Series {
    scenario: String,
    server: String,
    metric: String,
    rounds: BTreeMap<usize, f64>,
}

impl Values {
    /// Reads lines of scenario, server, metric, round and value, with tabs between.
    pub(super) fn parse(text: &str) -> Result<Values> {
        let mut values = Values::default();
        for line in text.lines() {
            let wrong = || format!("no line of values: {line:?}");
            let cells: Vec<&str> = line.split('\t').collect();
            let [scenario, server, metric, round, value] = cells[..] else { return Err(wrong()) };
            let (round, value) = round.parse().ok().zip(value.parse().ok()).ok_or_else(wrong)?;
            values.add(scenario, server, metric, round, value);
        }
        Ok(values)
    }

    /// Adds one value.
    pub(super) fn add(
        &mut self,
        scenario: &str,
        server: &str,
        metric: &str,
        round: usize,
        value: f64,
    ) {
        if let Some(series) = self.0.iter_mut().find(|series| series.is(scenario, server, metric)) {
            series.rounds.insert(round, value);
            return;
        }
        self.0.push(Series {
            scenario: scenario.to_owned(),
            server: server.to_owned(),
            metric: metric.to_owned(),
            rounds: BTreeMap::from([(round, value)]),
        });
    }

    /// The scenarios with a metric, each once.
    pub(super) fn scenarios(&self, metric: &str) -> Vec<&str> {
        let of = self.0.iter().filter(|series| series.metric == metric);
        distinct(of.map(|series| series.scenario.as_str()))
    }

    /// The servers of a scenario, each once.
    pub(super) fn servers(&self, scenario: &str) -> Vec<&str> {
        let of = self.0.iter().filter(|series| series.scenario == scenario);
        distinct(of.map(|series| series.server.as_str()))
    }

    /// The median of all rounds.
    pub(super) fn median(&self, scenario: &str, server: &str, metric: &str) -> Option<f64> {
        median(self.rounds(scenario, server, metric)?.values().copied())
    }

    /// The median of what `combine` makes of the values of two servers in the same round.
    pub(super) fn paired(
        &self,
        scenario: &str,
        servers: [&str; 2],
        metric: &str,
        combine: impl Fn(f64, f64) -> f64,
    ) -> Option<f64> {
        let [one, other] = servers.map(|server| self.rounds(scenario, server, metric));
        let (one, other) = one.zip(other)?;
        median(one.iter().filter_map(|(round, value)| Some(combine(*value, *other.get(round)?))))
    }

    /// How many times the value of `base` that of `server` is: the median of the rounds' own
    /// ratios.
    pub(super) fn ratio(
        &self,
        scenario: &str,
        server: &str,
        base: &str,
        metric: &str,
    ) -> Option<f64> {
        self.paired(scenario, [server, base], metric, |value, base| value / base)
    }

    /// The values of each round.
    pub(super) fn rounds(
        &self,
        scenario: &str,
        server: &str,
        metric: &str,
    ) -> Option<&BTreeMap<usize, f64>> {
        let found = self.0.iter().find(|series| series.is(scenario, server, metric));
        found.map(|series| &series.rounds)
    }

    /// A scenario in Markdown: medians, each beside its ratio to `base`.
    pub(super) fn markdown(&self, scenario: &str, base: &str, metrics: &[&str]) -> String {
        let heads: Vec<String> =
            metrics.iter().map(|metric| format!("{metric} | × {base}")).collect();
        let mut out = format!(
            "\n**{scenario}**\n\n|  | {} |\n|---|{}\n",
            heads.join(" | "),
            "---|".repeat(2 * metrics.len())
        );
        for server in self.servers(scenario) {
            let _ = write!(out, "| {server} |");
            for metric in metrics {
                let value = number(self.median(scenario, server, metric));
                let ratio = number(self.ratio(scenario, server, base, metric));
                let _ = write!(out, " {value} | {ratio} |");
            }
            out.push('\n');
        }
        out
    }
}

impl Series {
    fn is(&self, scenario: &str, server: &str, metric: &str) -> bool {
        self.scenario == scenario && self.server == server && self.metric == metric
    }
}

fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// The one in the middle, or the mean of the two that are.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = *values.get((values.len() - 1) / 2)?;
    Some(f64::midpoint(lower, upper))
}

/// A value with about three digits, or a dash for none.
pub(super) fn number(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.abs() >= 100.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_compared_within_their_rounds() {
        let text = "echo\tbare\tcpu µs\t0\t10\necho\tbare\tcpu µs\t1\t100\n\
                    echo\tours\tcpu µs\t0\t20\necho\tours\tcpu µs\t1\t220\n";
        let values = Values::parse(text).unwrap();
        assert_eq!(values.scenarios("cpu µs"), ["echo"]);
        assert_eq!(values.servers("echo"), ["bare", "ours"]);
        assert_eq!(values.median("echo", "bare", "cpu µs"), Some(55.0));
        assert_eq!(values.ratio("echo", "ours", "bare", "cpu µs"), Some(2.1));
        assert_eq!(values.ratio("echo", "ours", "other", "cpu µs"), None);
        let added = values.paired("echo", ["ours", "bare"], "cpu µs", |one, other| one - other);
        assert_eq!(added, Some(65.0));
        let table = values.markdown("echo", "bare", &["cpu µs"]);
        assert!(table.ends_with("| bare | 55.0 | 1.00 |\n| ours | 120 | 2.10 |\n"), "{table}");
    }

    #[test]
    fn broken_lines_are_refused() {
        assert!(Values::parse("echo\tbare\tcpu\t0").is_err());
        assert!(Values::parse("echo\tbare\tcpu\t0\tx").is_err());
    }

    #[test]
    fn medians_are_in_the_middle() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0]), Some(2.5));
        assert_eq!(median([]), None);
    }
}
