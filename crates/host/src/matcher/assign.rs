//! Which fact goes to which parameter: the assignment with the best total.

/// Gives each row at most one column and each column at most one row, so that
/// the sum of the scores is greatest. A score of zero or less is no pair.
///
/// The Hungarian method, on a square of the larger side: the work grows with
/// its third power, so callers bound both sides.
pub(super) fn best(scores: &[Vec<f64>]) -> Vec<Option<usize>> {
    let columns = scores.iter().map(Vec::len).max().unwrap_or(0);
    let size = scores.len().max(columns);
    let cost = |row: usize, column: usize| {
        -scores.get(row).and_then(|r| r.get(column)).copied().unwrap_or(0.0).max(0.0)
    };
    let owner = owners(size, cost);
    let mut result = vec![None; scores.len()];
    for (column, row) in owner.into_iter().enumerate() {
        let pair = row.filter(|row| cost(*row, column) < 0.0);
        if let Some(slot) = pair.and_then(|row| result.get_mut(row)) {
            *slot = Some(column);
        }
    }
    result
}

/// The row that owns each column in an assignment of least cost. Rows enter
/// one by one; each looks for the cheapest way to free a column for itself.
#[expect(
    clippy::indexing_slicing,
    reason = "every index is below the size the arrays are made with"
)]
fn owners(size: usize, cost: impl Fn(usize, usize) -> f64) -> Vec<Option<usize>> {
    // Column `size` is a place where the entering row waits.
    let mut owner: Vec<Option<usize>> = vec![None; size + 1];
    let mut row_potential = vec![0.0; size];
    let mut column_potential = vec![0.0; size + 1];
    for row in 0..size {
        owner[size] = Some(row);
        let mut at = size;
        let mut slack = vec![f64::INFINITY; size];
        let mut from = vec![size; size];
        let mut visited = vec![false; size + 1];
        while let Some(current) = owner[at] {
            visited[at] = true;
            let (mut next, mut least) = (size, f64::INFINITY);
            for column in (0..size).filter(|c| !visited[*c]) {
                let reduced =
                    cost(current, column) - row_potential[current] - column_potential[column];
                if reduced < slack[column] {
                    slack[column] = reduced;
                    from[column] = at;
                }
                if slack[column] < least {
                    least = slack[column];
                    next = column;
                }
            }
            for column in 0..=size {
                match owner[column] {
                    Some(owning) if visited[column] => {
                        row_potential[owning] += least;
                        column_potential[column] -= least;
                    }
                    _ if column < size => slack[column] -= least,
                    _ => {}
                }
            }
            at = next;
        }
        while at != size {
            let previous = from[at];
            owner[at] = owner[previous];
            at = previous;
        }
    }
    owner.truncate(size);
    owner
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_counts_and_not_the_first_choice() {
        // Greedy would give row 0 its best column and leave row 1 nothing.
        assert_eq!(best(&[vec![1.0, 0.9], vec![0.9, 0.0]]), [Some(1), Some(0)]);
    }

    #[test]
    fn rows_and_columns_may_differ_in_number() {
        assert_eq!(best(&[vec![0.2, 0.0, 0.5]]), [Some(2)]);
        assert_eq!(best(&[vec![0.2], vec![0.5], vec![0.0]]), [None, Some(0), None]);
        assert!(best(&[]).is_empty());
    }

    #[test]
    fn it_is_the_best_of_all_assignments() {
        // A small generator of scores; every permutation of four is tried.
        let mut seed = 7_u32;
        for _ in 0..200 {
            let scores: Vec<Vec<f64>> = (0..4)
                .map(|_| {
                    (0..4)
                        .map(|_| {
                            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                            f64::from(seed >> 24) / 256.0
                        })
                        .collect()
                })
                .collect();
            let found: f64 = best(&scores)
                .iter()
                .enumerate()
                .map(|(row, column)| column.map_or(0.0, |c| scores[row][c]))
                .sum();
            assert!((found - best_by_trying(&scores, 0, &mut [false; 4])).abs() < 1e-9);
        }
    }

    fn best_by_trying(scores: &[Vec<f64>], row: usize, used: &mut [bool; 4]) -> f64 {
        if row == scores.len() {
            return 0.0;
        }
        let mut best = f64::MIN;
        for column in 0..4 {
            if !used[column] {
                used[column] = true;
                let rest = best_by_trying(scores, row + 1, used);
                best = best.max(scores[row][column] + rest);
                used[column] = false;
            }
        }
        best
    }
}
