//! Columns that line up.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Align>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(columns: Vec<Align>, header: Vec<String>) -> Self {
        Self { columns, rows: vec![header] }
    }

    pub(crate) fn row(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Nothing but its header.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.len() < 2
    }

    /// Columns without a value in any row are left out.
    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for ((cell, width), align) in
                row.iter().zip(&widths).zip(&self.columns).filter(|((_, width), _)| **width > 0)
            {
                line.push_str("  ");
                line.push_str(&match align {
                    Align::Left => format!("{cell:<width$}"),
                    Align::Right => format!("{cell:>width$}"),
                });
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        let widths =
            |rows: &[Vec<String>]| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let below = self.rows.get(1..).and_then(widths).unwrap_or(0);
        if below == 0 { 0 } else { below.max(widths(&self.rows[..1]).unwrap_or(0)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_empty_ones_go() {
        let cells = |row: [&str; 3]| row.map(str::to_owned).to_vec();
        let mut table = Table::new(vec![Align::Left, Align::Right, Align::Left], cells(["name", "µs", "empty"]));
        assert!(table.is_empty());
        table.row(cells(["a", "1", ""]));
        table.row(cells(["longer", "1000", ""]));
        assert_eq!(table.render(), "  name      µs\n  a          1\n  longer  1000\n");
    }
}
