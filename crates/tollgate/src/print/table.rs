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
    too_long: TooLong,
}

/// What becomes of a text for which there is no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TooLong {
    Cut,
    /// In the last column it goes on below.
    Wrap,
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
        Table { columns: columns.to_vec(), rows: Vec::new(), too_long: TooLong::Cut }
    }

    /// The last column is read to its end, whatever room there is.
    pub(crate) fn wrapping(self) -> Table {
        Table { too_long: TooLong::Wrap, ..self }
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
        let mut out = self.line(head, &widths, style);
        for row in &self.rows {
            for line in self.lines(row, &widths) {
                let cells = line.iter().map(|(text, tone)| (text.as_str(), *tone));
                out.push_str(&self.line(cells, &widths, style));
            }
        }
        out
    }

    /// A row's texts, in as many lines as its last one needs.
    fn lines(&self, row: &[Cell], widths: &[usize]) -> Vec<Vec<(String, Tone)>> {
        let cell = |cell: &Cell| (cell.text.clone(), cell.tone);
        let (TooLong::Wrap, Some((last, others)), Some(width)) = (self.too_long, row.split_last(), widths.last())
        else {
            return vec![row.iter().map(cell).collect()];
        };
        let parts = wrapped(&last.text, *width).into_iter().enumerate();
        parts
            .map(|(number, part)| {
                let beside = |other| if number == 0 { cell(other) } else { (String::new(), Tone::Plain) };
                others.iter().map(beside).chain([(part, last.tone)]).collect()
            })
            .collect()
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

/// Between words, where there are any.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && length(line) + 1 + length(word) <= width {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        let chars: Vec<char> = word.chars().collect();
        for part in chars.chunks(width.max(1)) {
            let part: String = part.iter().collect();
            match lines.last_mut() {
                Some(line) if line.is_empty() => *line = part,
                _ => lines.push(part),
            }
        }
    }
    lines
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
    fn a_text_that_must_be_read_goes_on_below() {
        let mut table = Table::new(&[("RULE", Align::Left), ("WHY", Align::Left)]).wrapping();
        let plain = |text: &str| (text.to_owned(), Tone::Plain);
        table.row([plain("everyone"), plain("matches; share is owned by another_rule, which is stricter")]);
        table.row([plain("r"), plain("")]);
        assert_eq!(
            table.render(&Style { colour: false, width: Some(40) }),
            "RULE      WHY\n\
             everyone  matches; share is owned by\n\
             \x20         another_rule, which is\n\
             \x20         stricter\n\
             r\n"
        );
        assert_eq!(table.render(&Style::PLAIN).lines().count(), 3);
        assert_eq!(wrapped("abcdefgh ij", 3), ["abc", "def", "gh", "ij"]);
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
