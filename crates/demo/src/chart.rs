//! The replica's lag against its threshold, and the foreground's latency below it, as they move.
//!
//! A column is a moment. A chart is never wider than a terminal of 80 columns.

use std::collections::VecDeque;
use std::time::Duration;

use crate::parts::Part;

/// Columns.
pub(crate) const WIDTH: usize = 60;
const HEIGHT: usize = 7;
/// The threshold lies in the middle of a row, and this many rows are below that one. The first at which everything fits is taken.
const SCALES: [usize; 4] = [3, 2, 1, 0];
const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// The foreground's row goes up by equal factors from this, three times by ten: a hiccup of the machine must not hide the rest.
const LEAST_LATENCY: Duration = Duration::from_millis(1);
const TENFOLDS: f64 = 3.0;

/// A moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Column {
    /// The highest that was seen in it.
    pub(crate) lag: Option<Duration>,
    /// Of the foreground.
    pub(crate) p99: Option<Duration>,
    pub(crate) part: Part,
}

#[derive(Debug)]
pub(crate) struct Chart {
    threshold: Duration,
    columns: VecDeque<Column>,
}

/// Whether it may be in colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Paint {
    Coloured,
    Plain,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Colour {
    Green,
    Red,
    Cyan,
    Faint,
}

impl Paint {
    fn put(self, colour: Colour, text: &str) -> String {
        let code = match colour {
            Colour::Green => "32",
            Colour::Red => "31",
            Colour::Cyan => "36",
            Colour::Faint => "2",
        };
        match self {
            Paint::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
            Paint::Plain => text.to_owned(),
        }
    }
}

impl Chart {
    pub(crate) fn new(threshold: Duration) -> Chart {
        Chart { threshold, columns: VecDeque::with_capacity(WIDTH) }
    }

    pub(crate) fn add(&mut self, column: Column) {
        if self.columns.len() == WIDTH {
            self.columns.pop_front();
        }
        self.columns.push_back(column);
    }

    /// Of the last column that has one.
    pub(crate) fn lag(&self) -> Option<Duration> {
        self.columns.iter().rev().find_map(|column| column.lag)
    }

    pub(crate) fn lines(&self, paint: Paint) -> Vec<String> {
        let below = self.scale();
        let row_is = self.threshold.as_secs_f64() / (below as f64 + 0.5);
        let mut lines: Vec<String> = (0..HEIGHT).rev().map(|row| self.row(row, below, row_is, paint)).collect();
        lines.push(self.axis(paint));
        lines.push(self.foreground(paint));
        lines
    }

    /// So many rows below that of the threshold.
    fn scale(&self) -> usize {
        let most = self.columns.iter().filter_map(|column| column.lag).max().unwrap_or_default().as_secs_f64();
        let fits = |below: &&usize| most <= self.threshold.as_secs_f64() * HEIGHT as f64 / (**below as f64 + 0.5);
        SCALES.iter().find(fits).copied().unwrap_or(0)
    }

    fn row(&self, row: usize, below: usize, row_is: f64, paint: Paint) -> String {
        let label = match row {
            _ if row == below => format!("{:.1}s", self.threshold.as_secs_f64()),
            0 => "0s".to_owned(),
            _ if row == HEIGHT - 1 => format!("{:.1}s", row_is * HEIGHT as f64),
            _ => String::new(),
        };
        let empty = if row == below { paint.put(Colour::Faint, "┄") } else { " ".to_owned() };
        let mut line = format!("{label:>6} {}", if row == below { '┼' } else { '│' });
        for column in &self.columns {
            let lag = column.lag.unwrap_or_default();
            match block(lag.as_secs_f64() / row_is - row as f64) {
                ' ' => line.push_str(&empty),
                block => line.push_str(&paint.put(self.colour(lag), block.encode_utf8(&mut [0; 4]))),
            }
        }
        for _ in self.columns.len()..WIDTH {
            line.push_str(&empty);
        }
        if row == below {
            line.push_str(" threshold");
        }
        line
    }

    fn colour(&self, lag: Duration) -> Colour {
        if lag > self.threshold { Colour::Red } else { Colour::Green }
    }

    /// Which part was when: the words of its name that fit, and of the last one all, as there is room behind it.
    fn axis(&self, paint: Paint) -> String {
        let mut marks = vec!['─'; WIDTH];
        let columns: Vec<Part> = self.columns.iter().map(|column| column.part).collect();
        let mut at = 0;
        for run in columns.chunk_by(|one, two| one == two) {
            let end = at + run.len();
            let room = if end == columns.len() { WIDTH } else { end };
            if let Some(begins) = marks.get_mut(at).filter(|_| at > 0) {
                *begins = '┴';
            }
            let mut next = if at > 0 { at + 1 } else { 0 };
            for word in run.first().map_or("", |part| part.name()).split(' ') {
                let after = next + word.chars().count();
                let Some(place) = marks.get_mut(next..after).filter(|_| after <= room) else { break };
                place.iter_mut().zip(word.chars()).for_each(|(mark, c)| *mark = c);
                next = after + 1;
            }
            at = end;
        }
        format!("       └{}", paint.put(Colour::Faint, &marks.iter().collect::<String>()))
    }

    fn foreground(&self, paint: Paint) -> String {
        let block_of = |column: &Column| {
            let tenfolds = |p99: Duration| (p99.as_secs_f64() / LEAST_LATENCY.as_secs_f64()).log10();
            column.p99.map_or(' ', |p99| block((tenfolds(p99) / TENFOLDS).max(0.125)))
        };
        let blocks: String = self.columns.iter().map(block_of).collect();
        let rest = " ".repeat(WIDTH - self.columns.len());
        format!("web p99 {}{rest} 1ms to 1s", paint.put(Colour::Cyan, &blocks))
    }

    /// Where there is no terminal: the lag as a bar, with the threshold in its middle.
    pub(crate) fn bar(&self) -> String {
        const HALF: usize = 10;
        let Some(lag) = self.lag() else { return "lag ?".to_owned() };
        let cells = (lag.as_secs_f64() / self.threshold.as_secs_f64() * HALF as f64).round();
        let filled = |cell: usize| if (cell as f64) < cells { '#' } else { '.' };
        let (low, high): (String, String) = ((0..HALF).map(filled).collect(), (HALF..2 * HALF).map(filled).collect());
        format!("lag {:.1}s [{low}|{high}]", lag.as_secs_f64())
    }
}

/// So much of a cell is full.
fn block(share: f64) -> char {
    let eighths = (share.clamp(0.0, 1.0) * 8.0).round();
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 8")]
    BLOCKS[eighths as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy_process::Mode;

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    fn chart(lags: &[(u64, Part)]) -> Chart {
        let mut chart = Chart::new(ms(1000));
        for (lag, part) in lags {
            chart.add(Column { lag: Some(ms(*lag)), p99: Some(ms(10)), part: *part });
        }
        chart
    }

    #[test]
    fn the_threshold_is_marked_and_bars_pass_it() {
        let rest = Part::CatchingUp(Mode::Enforce);
        let parts = [[(1500, Part::Warned); 12], [(100, rest); 12], [(500, Part::Enforced); 12]].concat();
        let lines = chart(&parts).lines(Paint::Plain);
        let start: Vec<String> = lines.iter().map(|line| line.chars().take(46).collect()).collect();
        assert_eq!(
            start,
            [
                "  2.0s │                                      ",
                "       │▂▂▂▂▂▂▂▂▂▂▂▂                          ",
                "       │████████████                          ",
                "  1.0s ┼████████████┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄",
                "       │████████████                          ",
                "       │████████████            ▆▆▆▆▆▆▆▆▆▆▆▆  ",
                "    0s │████████████▃▃▃▃▃▃▃▃▃▃▃▃████████████  ",
                "       └gate:─warn──┴job─rests──┴gate:─enforce",
                "web p99 ▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃▃  ",
            ]
        );
        assert!(lines[3].ends_with("┄ threshold"), "{}", lines[3]);
        assert!(lines.iter().all(|line| line.chars().count() <= 79));
    }

    #[test]
    fn the_scale_follows_what_is_seen_and_the_oldest_leave() {
        let mut chart = chart(&[(9000, Part::Warned)]);
        assert!(chart.lines(Paint::Plain)[0].starts_with(" 14.0s"));
        for (lag, top) in [(2500, "  2.8s"), (1500, "  2.0s")] {
            assert!(self::chart(&[(lag, Part::Warned)]).lines(Paint::Plain)[0].starts_with(top));
        }
        for _ in 0..WIDTH {
            chart.add(Column { lag: Some(ms(4000)), p99: None, part: Part::Enforced });
        }
        assert!(chart.lines(Paint::Plain)[0].starts_with("  4.7s"));
        chart.add(Column { lag: Some(ms(3_600_000)), p99: None, part: Part::Enforced });
        assert_eq!(chart.lines(Paint::Plain)[0].chars().nth(WIDTH + 7), Some('█'), "what is too high is cut");
    }

    #[test]
    fn colours_are_where_they_may_be() {
        let chart = chart(&[(1500, Part::Warned), (500, Part::Enforced)]);
        let coloured = chart.lines(Paint::Coloured).join("\n");
        assert!(coloured.contains("\x1b[31m█") && coloured.contains("\x1b[32m█"), "{coloured}");
        assert!(!chart.lines(Paint::Plain).join("\n").contains('\x1b'));
    }

    #[test]
    fn without_a_terminal_there_is_a_bar() {
        for (lag, bar) in [
            (0, "lag 0.0s [..........|..........]"),
            (500, "lag 0.5s [#####.....|..........]"),
            (1600, "lag 1.6s [##########|######....]"),
            (9000, "lag 9.0s [##########|##########]"),
        ] {
            assert_eq!(chart(&[(lag, Part::Warned)]).bar(), bar);
        }
        assert_eq!(Chart::new(ms(1000)).bar(), "lag ?");
    }
}
