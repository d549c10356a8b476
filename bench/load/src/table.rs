//! Figures of many rounds, and the tables made of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// The metrics in the order of their columns, and whether each is compared with the baseline.
const METRICS: [(&str, bool); 10] = [
    ("req/s", true),
    ("p50 µs", false),
    ("p99 µs", false),
    ("cpu µs", true),
    ("load µs", false),
    ("cold ms", true),
    ("rss MiB", false),
    ("peak MiB", false),
    ("KiB/session", false),
    ("open/s", false),
];

/// What one run of requests measured.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) requests: u64,
    pub(crate) elapsed: Duration,
    /// One for each request; empty where requests overlap.
    pub(crate) latencies_ns: Vec<u64>,
    pub(crate) server_ns: u64,
    pub(crate) client_ns: u64,
}

/// One value for each round, by scenario, server and metric.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<(String, String)>,
    values: BTreeMap<(String, String, &'static str), BTreeMap<usize, f64>>,
    failures: Vec<String>,
}

impl Table {
    pub(crate) fn add(
        &mut self,
        scenario: &str,
        server: &str,
        round: usize,
        metric: &'static str,
        value: f64,
    ) {
        let row = (scenario.to_owned(), server.to_owned());
        if !self.rows.contains(&row) {
            self.rows.push(row.clone());
        }
        self.values.entry((row.0, row.1, metric)).or_default().insert(round, value);
    }

    pub(crate) fn add_run(&mut self, scenario: &str, server: &str, round: usize, mut run: Run) {
        if run.requests == 0 {
            return;
        }
        run.latencies_ns.sort_unstable();
        let requests = run.requests as f64;
        let each = |nanoseconds: u64| nanoseconds as f64 / requests / 1e3;
        self.add(scenario, server, round, "req/s", requests / run.elapsed.as_secs_f64());
        self.add(scenario, server, round, "cpu µs", each(run.server_ns));
        self.add(scenario, server, round, "load µs", each(run.client_ns));
        for (metric, part) in [("p50 µs", 0.5), ("p99 µs", 0.99)] {
            if let Some(nanoseconds) = percentile(&run.latencies_ns, part) {
                self.add(scenario, server, round, metric, nanoseconds as f64 / 1e3);
            }
        }
    }

    pub(crate) fn fail(&mut self, scenario: &str, server: &str, why: &str) {
        let line = format!("{server} / {scenario}: {why}");
        eprintln!("FAILED {line}");
        if !self.failures.contains(&line) {
            self.failures.push(line);
        }
    }

    /// The medians as Markdown; a ratio is the median of the rounds' own ratios to `baseline`.
    pub(crate) fn markdown(&self, baseline: &str) -> String {
        let mut out = String::new();
        let mut scenarios: Vec<&str> =
            self.rows.iter().map(|(scenario, _)| scenario.as_str()).collect();
        scenarios.sort_by_key(|scenario| self.rows.iter().position(|(other, _)| other == scenario));
        scenarios.dedup();
        scenarios.iter().for_each(|scenario| self.scenario(&mut out, scenario, baseline));
        if !self.failures.is_empty() {
            out.push_str("\nFailed:\n\n");
            self.failures.iter().for_each(|failure| out += &format!("- {failure}\n"));
        }
        out
    }

    /// Every single value, for programs: a line each of scenario, server, metric, round and
    /// value, with tabs between.
    pub(crate) fn values(&self) -> String {
        let mut out = String::new();
        for (scenario, server) in &self.rows {
            for (metric, _) in METRICS {
                let rounds = self.rounds(scenario, server, metric).into_iter().flatten();
                for (round, value) in rounds {
                    let _ = writeln!(out, "{scenario}\t{server}\t{metric}\t{round}\t{value}");
                }
            }
        }
        out
    }

    fn scenario(&self, out: &mut String, scenario: &str, baseline: &str) {
        let servers: Vec<&str> = self
            .rows
            .iter()
            .filter(|(of, _)| of == scenario)
            .map(|(_, server)| server.as_str())
            .collect();
        let used = METRICS.iter().filter(|(metric, _)| {
            servers.iter().any(|server| self.rounds(scenario, server, metric).is_some())
        });
        let used: Vec<(&str, bool)> = used.copied().collect();
        let mut heads = vec!["server".to_owned()];
        for (metric, compared) in &used {
            heads.push((*metric).to_owned());
            heads.extend(compared.then(|| format!("× {baseline}")));
        }
        let _ = writeln!(
            out,
            "\n**{scenario}**\n\n| {} |\n|{}",
            heads.join(" | "),
            "---|".repeat(heads.len())
        );
        for server in servers {
            let mut cells = vec![server.to_owned()];
            for (metric, compared) in &used {
                let rounds = self.rounds(scenario, server, metric);
                cells
                    .push(cell(rounds.and_then(|rounds| median(rounds.values().copied())), number));
                if *compared {
                    let base = self.rounds(scenario, baseline, metric);
                    let ratios = rounds
                        .into_iter()
                        .flatten()
                        .filter_map(|(round, value)| Some(value / base?.get(round)?));
                    cells.push(cell(median(ratios), |ratio| format!("{ratio:.2}")));
                }
            }
            let _ = writeln!(out, "| {} |", cells.join(" | "));
        }
    }

    fn rounds(&self, scenario: &str, server: &str, metric: &str) -> Option<&BTreeMap<usize, f64>> {
        let found = self
            .values
            .iter()
            .find(|((of, by, what), _)| of == scenario && by == server && *what == metric);
        found.map(|(_, rounds)| rounds)
    }
}

/// "100 B", "10 KiB", "1 MiB".
pub(crate) fn size_name(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

fn percentile(sorted: &[u64], part: f64) -> Option<u64> {
    let last = sorted.len().checked_sub(1)?;
    sorted.get((last as f64 * part).round() as usize).copied()
}

fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        length if length % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

fn cell(value: Option<f64>, format: impl Fn(f64) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), format)
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_percentiles() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0]), Some(2.5));
        assert_eq!(median([]), None);
        let sorted: Vec<u64> = (0..=100).collect();
        assert_eq!(percentile(&sorted, 0.99), Some(99));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn ratios_compare_within_a_round() {
        let mut table = Table::default();
        // A noisy second round hits both alike, so the ratio stays.
        for (server, values) in [("bare", [10.0, 100.0]), ("ours", [20.0, 200.0])] {
            values
                .iter()
                .enumerate()
                .for_each(|(round, value)| table.add("echo", server, round, "cpu µs", *value));
        }
        let values = table.values();
        assert_eq!(values.lines().next(), Some("echo\tbare\tcpu µs\t0\t10"));
        assert_eq!(values.lines().count(), 4);
        table.fail("echo", "other", "no answer");
        table.fail("echo", "other", "no answer");
        assert_eq!(
            table.markdown("bare"),
            "\n**echo**\n\n| server | cpu µs | × bare |\n|---|---|---|\n| bare | 55.0 | 1.00 |\n| ours | 110 | 2.00 |\n\nFailed:\n\n- other / echo: no answer\n"
        );
    }

    #[test]
    fn sizes_are_named() {
        assert_eq!(
            [100, 1024, 10_240, 1 << 20, 1500].map(size_name),
            ["100 B", "1 KiB", "10 KiB", "1 MiB", "1500 B"]
        );
    }
}
