//! The live table: redrawn in place on a terminal, a line a second elsewhere.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use crate::clients::Named;
use crate::figures::Reading;
use crate::observer::Sight;

#[derive(Debug)]
pub(crate) struct Table {
    style: Style,
    /// How many lines were drawn the last time, to go back over them.
    drawn: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    InPlace,
    LineByLine,
}

impl Table {
    pub(crate) fn new() -> Table {
        let style = if stdout().is_terminal() { Style::InPlace } else { Style::LineByLine };
        Table { style, drawn: 0 }
    }

    pub(crate) fn draw(&mut self, since: Duration, clients: &[Named], sight: &Sight) {
        let text = match self.style {
            Style::LineByLine => line(since, clients, sight),
            Style::InPlace => {
                let lines = live(since, clients, sight);
                let back = if self.drawn > 0 { format!("\x1b[{}A", self.drawn) } else { String::new() };
                self.drawn = lines.len();
                // Each line is cleared to its end, as the one before may have been longer.
                back + &lines.iter().map(|line| format!("{line}\x1b[K\n")).collect::<String>()
            }
        };
        show(&text);
    }

    /// What is drawn stays; what follows goes below it.
    pub(crate) fn leave(&mut self) {
        self.drawn = 0;
    }

    pub(crate) fn print_totals(worked: Duration, clients: &[Named]) {
        show(&totals(worked, clients));
    }
}

fn show(text: &str) {
    let mut out = stdout().lock();
    // Nobody may be reading any more; that is no reason to fail.
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

const DECIDED_HEAD: &str = "to the proxy            passed      held    held for   rejected";
const HEAD: &str = "client       queries   queries/s        p50        p99    errors";

fn live(since: Duration, clients: &[Named], sight: &Sight) -> Vec<String> {
    let mut lines = vec![String::new(), HEAD.to_owned()];
    lines.extend(clients.iter().map(|(name, reading)| row(name, reading)));
    lines.push(String::new());
    lines.extend(decided(sight));
    lines.push(String::new());
    lines.push(format!("proxy: {} sessions   {}   {}s", or_unknown(sight.sessions), replica(sight), since.as_secs()));
    lines
}

/// What the proxy made of them, by the names that it knows them by.
fn decided(sight: &Sight) -> Vec<String> {
    let mut lines = vec![DECIDED_HEAD.to_owned()];
    lines.extend(sight.decided.iter().take(6).map(|one| {
        let name: String = one.client.chars().take(20).collect();
        let (passed, held, rejected, held_for) = (one.passed, one.held, one.rejected, one.held_for.as_secs_f64());
        format!("{name:<20} {passed:>9}   {held:>7}   {held_for:>8.1}s   {rejected:>8}")
    }));
    lines
}

fn row(name: &str, reading: &Reading) -> String {
    let (p50, p99) = (latency(reading, reading.p50), latency(reading, reading.p99));
    let Reading { queries, errors, .. } = reading;
    let rate = reading.per_second();
    let error = reading.first_error.as_ref().map(|error| format!("   {}", first_words(error))).unwrap_or_default();
    format!("{name:<10} {queries:>9}   {rate:>9.0}   {p50:>8}   {p99:>8}   {errors:>7}{error}")
}

fn line(since: Duration, clients: &[Named], sight: &Sight) -> String {
    let clients: String = clients
        .iter()
        .map(|(name, reading)| {
            let (p50, p99) = (latency(reading, reading.p50), latency(reading, reading.p99));
            let (rate, errors) = (reading.per_second(), reading.errors);
            format!("{name} {rate:.0}/s p50 {p50} p99 {p99} errors {errors} | ")
        })
        .collect();
    let held: String = sight
        .decided
        .iter()
        .filter(|one| one.held > 0)
        .map(|one| format!("held {} {}x {:.1}s | ", one.client, one.held, one.held_for.as_secs_f64()))
        .collect();
    format!("{:>4}s  {clients}{held}sessions {} | {}\n", since.as_secs(), or_unknown(sight.sessions), replica(sight))
}

fn totals(worked: Duration, clients: &[Named]) -> String {
    let mut text = format!("\nIn {:.1} s, through the proxy:\n{HEAD}\n", worked.as_secs_f64());
    for (name, reading) in clients {
        text.push_str(&row(name, reading));
        text.push('\n');
    }
    text
}

fn replica(sight: &Sight) -> String {
    match (sight.primary, sight.replica) {
        (Some(primary), Some(replica)) => format!("replica: {replica} of {primary} changes"),
        (primary, replica) => format!("replica: {} of {} changes", or_unknown(replica), or_unknown(primary)),
    }
}

fn or_unknown(value: Option<u64>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

fn latency(reading: &Reading, value: Duration) -> String {
    let milliseconds = value.as_secs_f64() * 1000.0;
    match () {
        () if reading.queries == 0 => "-".to_owned(),
        () if milliseconds < 10.0 => format!("{milliseconds:.2}ms"),
        () => format!("{milliseconds:.0}ms"),
    }
}

/// So much that a line of 120 columns does not break: a broken line could not be drawn over.
fn first_words(error: &str) -> String {
    error.lines().next().unwrap_or_default().chars().take(50).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observer::Decided;

    fn reading(queries: u64) -> Reading {
        Reading {
            queries,
            over: Duration::from_secs(2),
            p50: Duration::from_micros(412),
            p99: Duration::from_millis(31),
            errors: 0,
            first_error: None,
            changes: 0,
        }
    }

    fn sight() -> Sight {
        let report = Decided {
            client: "report:etl".to_owned(),
            passed: 20,
            held: 18,
            rejected: 0,
            held_for: Duration::from_millis(9_840),
        };
        Sight { sessions: Some(5), decided: vec![report], primary: Some(12), replica: Some(11) }
    }

    #[test]
    fn a_line_says_everything() {
        let clients = [("web", reading(1200)), ("report", reading(0))];
        assert_eq!(
            line(Duration::from_millis(3040), &clients, &sight()),
            "   3s  web 600/s p50 0.41ms p99 31ms errors 0 | report 0/s p50 - p99 - errors 0 | held report:etl 18x 9.8s | sessions 5 | replica: 11 of 12 changes\n"
        );
    }

    #[test]
    fn what_was_held_stands_below_its_heads() {
        let lines = decided(&sight());
        assert_eq!(lines.last().unwrap(), "report:etl                  20        18        9.8s          0");
        assert_eq!(lines[0].len(), lines[1].len());
    }

    #[test]
    fn columns_stand_below_their_heads() {
        let web = row("web", &reading(1200));
        assert_eq!(web, "web             1200         600     0.41ms       31ms         0");
        assert_eq!(web.len(), HEAD.len());
    }

    #[test]
    fn a_long_error_is_cut_to_one_line() {
        let mut failed = reading(1);
        failed.errors = 3;
        failed.first_error = Some(format!("Server error: `{}\nmore", "x".repeat(200)));
        let drawn = row("web", &failed);
        assert!(!drawn.contains('\n') && drawn.len() < 120, "{drawn}");
    }

    #[test]
    fn what_cannot_be_seen_is_a_question_mark() {
        let blind = Sight { sessions: None, decided: Vec::new(), primary: Some(3), replica: None };
        let drawn = live(Duration::ZERO, &[], &blind).join("\n");
        assert!(drawn.contains("proxy: ? sessions") && drawn.contains("replica: ? of 3 changes"), "{drawn}");
    }
}
