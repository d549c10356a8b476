//! The table that is drawn.

/// Columns of numbers over the first one.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    /// What the first column holds.
    pub(crate) over: String,
    pub(crate) columns: Vec<Column>,
}

/// One line of the picture.
#[derive(Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

impl Table {
    /// Reads CSV without quotes: a row of names, then rows of numbers; what is empty is left
    /// out.
    pub(crate) fn parse(csv: &str) -> Result<Table, String> {
        let mut rows = csv.lines();
        let mut names = rows.next().unwrap_or_default().split(',').map(str::to_owned);
        let over = names.next().unwrap_or_default();
        let columns = names.map(|name| Column { name, points: Vec::new() });
        let mut table = Table { over, columns: columns.collect() };
        for row in rows {
            let number = |cell: &str| cell.parse().map_err(|_| format!("no number in {row:?}"));
            let mut cells = row.split(',');
            let x: f64 = number(cells.next().unwrap_or_default())?;
            for (column, cell) in table.columns.iter_mut().zip(cells) {
                if !cell.is_empty() {
                    column.points.push((x, number(cell)?));
                }
            }
        }
        Ok(table)
    }

    /// The least and the greatest of both axes, with some room for the greatest and the least
    /// of the second; none when there is nothing that a logarithm can be taken of.
    pub(crate) fn ranges(&self) -> Option<((f64, f64), (f64, f64))> {
        let points = || self.columns.iter().flat_map(|column| &column.points);
        let x = range(points().map(|point| point.0))?;
        let y = range(points().map(|point| point.1))?;
        Some((x, (y.0 / 1.5, y.1 * 1.5)))
    }
}

fn range(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let values: Vec<f64> = values.filter(|value| *value > 0.0).collect();
    let least = values.iter().copied().reduce(f64::min)?;
    let greatest = values.iter().copied().reduce(f64::max)?;
    Some((least, greatest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_cells_are_left_out() {
        let table = Table::parse("tools,bare,ours\n1,2,\n10,3,4.5\n").unwrap();
        assert_eq!(table.over, "tools");
        assert_eq!(
            table.columns,
            [
                Column { name: "bare".into(), points: vec![(1.0, 2.0), (10.0, 3.0)] },
                Column { name: "ours".into(), points: vec![(10.0, 4.5)] },
            ]
        );
        assert_eq!(table.ranges(), Some(((1.0, 10.0), (2.0 / 1.5, 4.5 * 1.5))));
    }

    #[test]
    fn what_is_no_number_is_refused() {
        assert!(Table::parse("tools,bare\n1,x\n").is_err());
        assert_eq!(Table::parse("tools,bare\n").unwrap().ranges(), None);
    }
}
