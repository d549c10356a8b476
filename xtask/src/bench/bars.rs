//! What a measurement is held to.

use super::values::number;

/// The bars of one part, and where Carrick stands.
#[derive(Default)]
pub(super) struct Bars(Vec<(String, Option<f64>, f64)>);

impl Bars {
    /// Adds a measured value, which should be at most `bar`.
    pub(super) fn add(&mut self, what: impl Into<String>, measured: Option<f64>, bar: f64) {
        self.0.push((what.into(), measured, bar));
    }

    /// Prints all of them as a table. A bar that is missed is told and no failure: on a busy
    /// machine that happens.
    pub(super) fn print(&self, title: &str) {
        print!("{}", self.markdown(title));
    }

    fn markdown(&self, title: &str) -> String {
        let mut out = format!("\n**{title}**\n\n| | measured | at most | |\n|---|---|---|---|\n");
        for (what, measured, bar) in &self.0 {
            let measured_text = number(*measured);
            out +=
                &format!("| {what} | {measured_text} | {bar} | {} |\n", verdict(*measured, *bar));
        }
        out
    }
}

fn verdict(measured: Option<f64>, bar: f64) -> String {
    match measured {
        None => "not measured".to_owned(),
        Some(measured) if measured <= bar => "met".to_owned(),
        Some(measured) => format!("**missed** by {:.0} %", (measured / bar - 1.0) * 100.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_met_missed_or_unknown() {
        let mut bars = Bars::default();
        bars.add("a", Some(1.5), 1.5);
        bars.add("b", Some(3.0), 2.0);
        bars.add("c", None, 2.0);
        let text = bars.markdown("x");
        assert!(text.contains("| a | 1.50 | 1.5 | met |"));
        assert!(text.contains("| b | 3.00 | 2 | **missed** by 50 % |"));
        assert!(text.contains("| c | – | 2 | not measured |"));
    }
}
