//! Counting what happens too often to be told each time.

use std::sync::atomic::{AtomicU64, Ordering};

/// How often something has happened.
#[derive(Debug, Default)]
pub(crate) struct Tally(AtomicU64);

impl Tally {
    pub(crate) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts one more, and gives the count when it is worth telling: at 1, 10, 100 and so on.
    pub(crate) fn add(&self) -> Option<u64> {
        let count = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        is_told(count).then_some(count)
    }
}

/// Whether a count is worth telling.
pub(crate) fn is_told(count: u64) -> bool {
    count.checked_ilog10().is_some_and(|digits| 10_u64.pow(digits) == count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f32_of_very_many_few_are_told() {
        let tally = Tally::default();
        let told: Vec<u64> = (0..200_000).filter_map(|_| tally.add()).collect();
        assert_eq!(told, [1, 10, 100, 1000, 10_000, 100_000]);
        assert!(!is_told(0) && !is_told(u64::MAX) && is_told(10_u64.pow(19)));
    }
}
