//! Numbers as JSON writes them, compared by what they are worth.

/// Digits after or before the point that [`Number::plain`] writes.
const LONGEST: i64 = 40;

/// `0.ddd` times a power of ten: no two of them are the same number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number {
    negative: bool,
    /// Without zeros at either end; empty for zero.
    digits: String,
    exponent: i64,
}

impl Number {
    /// Reads a number of JSON; none if it is not one, or its exponent is beyond counting.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        // JSON's own rules: no sign in front, no leading zeros, no bare point.
        serde_json::from_str::<&serde_json::value::RawValue>(text).ok()?;
        if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
            return None;
        }
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let leading = i64::try_from(all.len() - digits.len()).ok()?;
        let point = i64::try_from(whole.len()).ok()?.checked_sub(leading)?;
        let digits = digits.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Some(Self { negative: false, digits, exponent: 0 });
        }
        let exponent = exponent.checked_add(point)?;
        Some(Self { negative: text.starts_with('-'), digits, exponent })
    }

    /// The number without an exponent and without zeros that say nothing; none if that
    /// would be long.
    pub(crate) fn plain(&self) -> Option<String> {
        let sign = if self.negative { "-" } else { "" };
        let count = i64::try_from(self.digits.len()).ok()?;
        if self.digits.is_empty() {
            return Some("0".to_owned());
        }
        if self.exponent.abs() > LONGEST || count > LONGEST {
            return None;
        }
        let zeros = |count: i64| "0".repeat(usize::try_from(count).unwrap_or(0));
        Some(match self.exponent {
            small if small <= 0 => format!("{sign}0.{}{}", zeros(-small), self.digits),
            large if large >= count => format!("{sign}{}{}", self.digits, zeros(large - count)),
            point => {
                let (whole, fraction) = self.digits.split_at(usize::try_from(point).ok()?);
                format!("{sign}{whole}.{fraction}")
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f07_numbers_are_what_they_are_worth() {
        for (text, plain) in [
            ("1", "1"),
            ("1.0", "1"),
            ("1e0", "1"),
            ("10E-1", "1"),
            ("0.01e+2", "1"),
            ("-0", "0"),
            ("0e99999999", "0"),
            ("1200", "1200"),
            ("1.2e3", "1200"),
            ("0.00120", "0.0012"),
            ("-12.50", "-12.5"),
            ("18446744073709551616", "18446744073709551616"),
        ] {
            let number = Number::parse(text).unwrap();
            assert_eq!(number.plain().as_deref(), Some(plain), "{text}");
            assert_eq!(Some(number), Number::parse(plain), "{text}");
        }
        assert_ne!(Number::parse("9007199254740993"), Number::parse("9007199254740992"));
        assert_ne!(Number::parse("1"), Number::parse("-1"));
        assert_eq!(Number::parse("1e400").unwrap().plain(), None);
        for text in [
            "",
            "+1",
            "01",
            ".5",
            "1.",
            "0x1",
            "NaN",
            "true",
            "\"1\"",
            "1 2",
            "1e99999999999999999999",
        ] {
            assert_eq!(Number::parse(text), None, "{text}");
        }
    }
}
