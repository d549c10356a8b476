//! Units of numbers, and what they convert to.

use std::sync::LazyLock;

use super::super::phrases::{Phrases, data_lines, items};
use super::super::text::Token;

/// The number of a unit in `data/units.txt`.
pub(in super::super) type UnitId = u16;

/// The units that are known.
#[derive(Debug)]
pub(in super::super) struct Units {
    units: Vec<Unit>,
    phrases: Phrases<UnitId>,
}

#[derive(Debug)]
struct Unit {
    name: &'static str,
    base: &'static str,
    factor: f64,
}

static UNITS: LazyLock<Units> = LazyLock::new(|| Units::parse(include_str!("../data/units.txt")));

impl Units {
    /// The units that are built in.
    pub(in super::super) fn shared() -> &'static Self {
        &UNITS
    }

    fn parse(data: &'static str) -> Self {
        let mut units = Self { units: Vec::new(), phrases: Phrases::new() };
        for line in data_lines(data) {
            let Some((head, words)) = line.split_once(':') else { continue };
            let mut fields = head.split_whitespace();
            let (Some(name), Some(base), Some(Ok(factor))) =
                (fields.next(), fields.next(), fields.next().map(str::parse))
            else {
                continue;
            };
            let Ok(id) = u16::try_from(units.units.len()) else { continue };
            units.units.push(Unit { name, base, factor });
            for word in items(words) {
                units.phrases.insert(&format!("={word}"), id);
            }
        }
        units
    }

    /// The unit that the tokens at `at` name, and how many tokens name it.
    pub(in super::super) fn named(&self, tokens: &[Token], at: usize) -> Option<(UnitId, usize)> {
        let found = self.phrases.at(tokens, at)?;
        Some((*found.means.first()?, found.len))
    }

    /// The name of a unit in the data: `day`, `usd`.
    pub(in super::super) fn name(&self, id: UnitId) -> &'static str {
        self.units.get(usize::from(id)).map_or("", |unit| unit.name)
    }

    /// A unit by its name in the data.
    pub(in super::super) fn id(&self, name: &str) -> Option<UnitId> {
        self.units.iter().position(|u| u.name == name).and_then(|at| u16::try_from(at).ok())
    }

    /// It is a currency: a unit named by three letters, with no conversion.
    pub(in super::super) fn is_currency(&self, id: UnitId) -> bool {
        self.units.get(usize::from(id)).is_some_and(|u| u.base == "-" && u.name.len() == 3)
    }

    /// A value in another unit of the same base.
    pub(in super::super) fn convert(&self, value: f64, from: UnitId, to: UnitId) -> Option<f64> {
        let (a, b) = (self.units.get(usize::from(from))?, self.units.get(usize::from(to))?);
        if from == to {
            return Some(value);
        }
        (a.base == b.base && a.base != "-").then(|| value * a.factor / b.factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::text::tokenize;

    #[test]
    fn every_line_of_the_data_is_a_unit() {
        let data = include_str!("../data/units.txt");
        assert_eq!(Units::parse(data).units.len(), data_lines(data).count());
    }

    #[test]
    fn a_week_is_seven_days_and_a_pound_is_no_dollar() {
        let units = Units::shared();
        let id = |word: &str| units.named(&tokenize(word), 0).unwrap().0;
        assert_eq!(units.convert(1.0, id("week"), id("天")), Some(7.0));
        assert_eq!(units.convert(1.0, id("week"), id("pixels")), None);
        assert_eq!(units.convert(1.0, id("usd"), id("eur")), None);
        assert!(units.is_currency(id("美元")));
    }
}
