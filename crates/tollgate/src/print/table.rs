//! Columns that stand below their heads.

use super::{Style, Tone, harmless};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Debug)]
struct Cell {
    text: String,
    tone: Tone,
}

const GAP: &str = "  ";
/// However narrow the terminal is, this much of a column is shown.
const LEAST: usize = 8;

impl Table {
    pub(crate) fn new(columns: &[(&'static str, Align)]) -> Table {
        Table { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// As many cells as there are columns.
    pub(crate) fn row<const N: usize>(&mut self, cells: [(String, Tone); N]) {
        self.rows.push(cells.map(|(text, tone)| Cell { text: harmless(&text), tone }).into());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(crate) fn render(&self, style: &Style) -> String {
        let widths = self.widths(style.width);
        let head = self.columns.iter().map(|(name, _)| (*name, Tone::Bold));
        let mut lines = vec![self.line(head, &widths, style)];
        for row in &self.rows {
            let cells = row.iter().map(|cell| (cell.text.as_str(), cell.tone));
            lines.push(self.line(cells, &widths, style));
        }
        lines.concat()
    }

    fn line<'a>(&self, cells: impl Iterator<Item = (&'a str, Tone)>, widths: &[usize], style: &Style) -> String {
        let mut line = String::new();
        let last = self.columns.len().saturating_sub(1);
        for (index, (((text, tone), (_, align)), width)) in cells.zip(&self.columns).zip(widths).enumerate() {
            let text = cut(text, *width);
            let space = " ".repeat(width.saturating_sub(length(&text)));
            let painted = if text.is_empty() { String::new() } else { style.paint(tone, &text) };
            match align {
                Align::Right => line.push_str(&format!("{space}{painted}")),
                Align::Left if index == last => line.push_str(&painted),
                Align::Left => line.push_str(&format!("{painted}{space}")),
            }
            if index < last {
                line.push_str(GAP);
            }
        }
        format!("{}\n", line.trim_end())
    }

    /// As wide as their longest cell; if that is too much together, the widest give way to the others.
    fn widths(&self, most: Option<usize>) -> Vec<usize> {
        let longest = |(index, (name, _)): (usize, &(&str, Align))| {
            let cells = self.rows.iter().filter_map(|row| row.get(index)).map(|cell| length(&cell.text));
            cells.chain([length(name)]).max().unwrap_or_default()
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(longest).collect();
        let Some(most) = most else { return widths };
        let gaps = GAP.len() * widths.len().saturating_sub(1);
        while widths.iter().sum::<usize>() + gaps > most {
            match widths.iter_mut().max().filter(|width| **width > LEAST) {
                Some(widest) => *widest -= 1,
                None => break,
            }
        }
        widths
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn cut(text: &str, width: usize) -> String {
    if length(text) <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&[("CLIENT", Align::Left), ("SEEN", Align::Right), ("REASON", Align::Left)]);
        let row = |name: &str, seen: &str, reason: &str| {
            [(name.to_owned(), Tone::Plain), (seen.to_owned(), Tone::Plain), (reason.to_owned(), Tone::Careful)]
        };
        table.row(row("etl:loader", "12", "INC-42: the write path is degraded"));
        table.row(row("web", "123456", ""));
        table
    }

    #[test]
    fn columns_stand_below_their_heads() {
        assert_eq!(
            table().render(&Style::PLAIN),
            "CLIENT        SEEN  REASON\n\
             etl:loader      12  INC-42: the write path is degraded\n\
             web         123456\n"
        );
    }

    #[test]
    fn on_a_narrow_terminal_the_widest_column_is_cut() {
        let narrow = Style { colour: false, width: Some(40) };
        assert_eq!(
            table().render(&narrow),
            "CLIENT        SEEN  REASON\n\
             etl:loader      12  INC-42: the write p…\n\
             web         123456\n"
        );
        for width in 1..60 {
            let shown = table().render(&Style { colour: false, width: Some(width) });
            let longest = shown.lines().map(length).max().unwrap();
            assert!(longest <= width.max(3 * LEAST + 2 * GAP.len()), "{width}\n{shown}");
        }
    }

    #[test]
    fn colours_do_not_move_columns() {
        let coloured = table().render(&Style { colour: true, width: None });
        assert!(coloured.contains("\x1b[33mINC-42"), "{coloured}");
        let codes = ["\x1b[1m", "\x1b[33m", "\x1b[0m"];
        let plain = codes.iter().fold(coloured, |text, code| text.replace(code, ""));
        assert_eq!(plain, table().render(&Style::PLAIN));
    }

    #[test]
    fn a_name_cannot_steer_the_terminal() {
        let mut table = Table::new(&[("CLIENT", Align::Left)]);
        table.row([("\x1b[2Jx\ny".to_owned(), Tone::Plain)]);
        assert_eq!(table.render(&Style::PLAIN), "CLIENT\n\u{fffd}[2Jx\u{fffd}y\n");
    }
}
