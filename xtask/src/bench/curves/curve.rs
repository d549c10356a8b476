//! One curve: the cost of something for several servers, and how steep it is.

use std::fmt::Write as _;

use crate::bench::generator::CPU;
use crate::bench::values::Values;

/// The cost in µs of processor time, by what it grows with.
pub(super) struct Curve {
    /// The name of its files.
    pub(super) name: &'static str,
    /// What is measured.
    pub(super) title: &'static str,
    /// What it grows with.
    x: &'static str,
    /// By server, in the order in which they came.
    points: Vec<(String, Vec<(f64, f64)>)>,
    /// The slope is that of the cost times x.
    times_x: bool,
    /// The slope is that of the points above.
    above: f64,
}

impl Curve {
    pub(super) fn new(name: &'static str, title: &'static str, x: &'static str) -> Curve {
        Curve { name, title, x, points: Vec::new(), times_x: false, above: 0.0 }
    }

    /// The same, with the slope of the cost of all x together.
    pub(super) fn times_x(mut self) -> Curve {
        self.times_x = true;
        self
    }

    /// The same, with the slope of the points above `x`.
    pub(super) fn slope_above(mut self, x: f64) -> Curve {
        self.above = x;
        self
    }

    /// Adds the servers' costs in a scenario as their points at `x`.
    pub(super) fn take(&mut self, values: &Values, scenario: &str, x: f64) {
        for server in values.servers(scenario) {
            if let Some(cost) = values.median(scenario, server, CPU) {
                self.add(server, x, cost);
            }
        }
    }

    fn add(&mut self, server: &str, x: f64, cost: f64) {
        match self.points.iter_mut().find(|(name, _)| name == server) {
            Some((_, points)) => points.push((x, cost)),
            None => self.points.push((server.to_owned(), vec![(x, cost)])),
        }
    }

    pub(super) fn servers(&self) -> impl Iterator<Item = &str> {
        self.points.iter().map(|(server, _)| server.as_str())
    }

    /// A row for each x, a column for each server; empty where there is no value.
    pub(super) fn csv(&self) -> String {
        let servers: Vec<&str> = self.servers().collect();
        let mut out = format!("{},{}\n", self.x, servers.join(","));
        let mut all: Vec<f64> =
            self.points.iter().flat_map(|(_, points)| points.iter().map(|(x, _)| *x)).collect();
        all.sort_by(f64::total_cmp);
        all.dedup();
        for x in all {
            let _ = write!(out, "{x}");
            for (_, points) in &self.points {
                let cost = points.iter().find(|(at, _)| *at == x);
                let cost = cost.map(|(_, cost)| format!("{cost:.3}")).unwrap_or_default();
                let _ = write!(out, ",{cost}");
            }
            out.push('\n');
        }
        out
    }

    /// How steep a server's curve is with logarithms on both sides: 1 is in proportion.
    pub(super) fn slope(&self, server: &str) -> Option<f64> {
        let (_, points) = self.points.iter().find(|(name, _)| name == server)?;
        let counted = points.iter().filter(|(x, _)| *x > self.above);
        let factor = |x: f64| if self.times_x { x } else { 1.0 };
        let logarithms: Vec<(f64, f64)> =
            counted.map(|(x, cost)| (x.ln(), (cost * factor(*x)).ln())).collect();
        least_squares(&logarithms)
    }
}

/// The slope of the straight line that is nearest to some points.
fn least_squares(points: &[(f64, f64)]) -> Option<f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (mean_x, mean_y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    let common: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    (spread > 0.0).then(|| common / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(cost: fn(f64) -> f64) -> Curve {
        let mut curve = Curve::new("x", "X", "things");
        for x in [1.0, 10.0, 100.0, 1000.0] {
            curve.add("ours", x, cost(x));
        }
        curve
    }

    fn is_near(slope: Option<f64>, expected: f64) -> bool {
        slope.is_some_and(|slope| (slope - expected).abs() < 1e-9)
    }

    #[test]
    fn the_slope_is_the_power() {
        assert!(is_near(curve(|x| 3.0 * x).slope("ours"), 1.0));
        assert!(is_near(curve(|x| 0.5 * x * x).slope("ours"), 2.0));
        assert!(is_near(curve(|_| 7.0).slope("ours"), 0.0));
        assert!(is_near(curve(|_| 7.0).times_x().slope("ours"), 1.0));
        assert_eq!(curve(|x| x).slope("other"), None);
    }

    #[test]
    fn what_is_below_does_not_count() {
        let flat_first = |x: f64| if x <= 10.0 { 5.0 } else { x };
        assert!(is_near(curve(flat_first).slope_above(10.0).slope("ours"), 1.0));
        assert_eq!(curve(flat_first).slope_above(100.0).slope("ours"), None);
    }

    #[test]
    fn rows_have_a_column_for_each_server() {
        let mut curve = Curve::new("x", "X", "things");
        curve.add("bare", 1.0, 2.0);
        curve.add("bare", 10.0, 2.5);
        curve.add("ours", 10.0, 4.0);
        assert_eq!(curve.csv(), "things,bare,ours\n1,2.000,\n10,2.500,4.000\n");
    }
}
