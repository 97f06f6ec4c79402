//! The live table and its chart: redrawn in place on a terminal, a line a second elsewhere.

use std::io::{IsTerminal, Write, stdout};
use std::time::Duration;

use crate::chart::Paint;
use crate::clients::Named;
use crate::figures::Reading;
use crate::observer::{Decided, Sight};
use crate::parts::Part;
use crate::proxy_process::THRESHOLD;
use crate::stage::Stage;

#[derive(Debug)]
pub(crate) struct Table {
    style: Style,
    /// What was seen in the last second.
    clients: Vec<Named>,
    sight: Sight,
    /// How many lines were drawn the last time, to go back over them.
    drawn: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    InPlace(Paint),
    LineByLine,
}

impl Table {
    pub(crate) fn new() -> Table {
        // https://no-color.org
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let style = match stdout().is_terminal() {
            true => Style::InPlace(if plain { Paint::Plain } else { Paint::Coloured }),
            false => Style::LineByLine,
        };
        Table { style, clients: Vec::new(), sight: Sight::default(), drawn: 0 }
    }

    /// Once a second.
    pub(crate) fn second(&mut self, since: Duration, clients: Vec<Named>, sight: Sight, stage: &Stage) {
        (self.clients, self.sight) = (clients, sight);
        if self.style == Style::LineByLine {
            show(&line(since, &self.clients, &self.sight, &gate(stage)));
        }
    }

    /// As often as the chart moves.
    pub(crate) fn draw(&mut self, since: Duration, stage: &Stage) {
        let Style::InPlace(paint) = self.style else { return };
        let mut lines = live(&self.clients, &self.sight);
        lines.push(chart_head(stage));
        lines.extend(stage.chart.lines(paint));
        lines.push(status(since, &self.sight));
        let back = if self.drawn > 0 { format!("\x1b[{}A", self.drawn) } else { String::new() };
        // What was below is cleared, and so is each line to its end: there may have been more before.
        let text: String = lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
        self.drawn = lines.len();
        show(&format!("{back}{text}\x1b[J"));
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

const DECIDED_HEAD: &str = "to the proxy            passed      held    held for   rejected     warned";
const HEAD: &str = "client       queries   queries/s        p50        p99    errors";

/// The clients that are shown at the most, so that everything fits into 24 lines: a screen that scrolls could not be drawn over.
const DECIDED: usize = 4;

fn live(clients: &[Named], sight: &Sight) -> Vec<String> {
    let mut lines = vec![HEAD.to_owned()];
    lines.extend(clients.iter().map(|(name, reading)| row(name, reading)));
    lines.push(String::new());
    lines.extend(decided(sight));
    lines.push(String::new());
    lines
}

fn chart_head(stage: &Stage) -> String {
    let lag = stage.chart.lag().map_or_else(|| "?".to_owned(), |lag| format!("{:.2}s", lag.as_secs_f64()));
    let does = match stage.part() {
        Part::Warned => "the job runs on, and is only counted",
        Part::CatchingUp(_) => "the job rests, the replica catches up",
        Part::Enforced => "the job waits for the replica's pace",
    };
    format!("replica lag {lag:>6}   gate in mode {:<8} {does}", stage.part().mode().as_str())
}

/// The same in a line.
fn gate(stage: &Stage) -> String {
    format!("{}, threshold {:.1}s, {}", stage.part().name(), THRESHOLD.as_secs_f64(), stage.chart.bar())
}

fn status(since: Duration, sight: &Sight) -> String {
    format!("proxy: {} sessions   {}   {}s", or_unknown(sight.sessions), replica(sight), since.as_secs())
}

/// What the proxy made of them, by the names that it knows them by.
fn decided(sight: &Sight) -> Vec<String> {
    let mut lines = vec![DECIDED_HEAD.to_owned()];
    let mut clients: Vec<&Decided> = sight.decided.iter().collect();
    // Those of whom there is something to tell.
    clients.sort_by_key(|one| std::cmp::Reverse((one.held + one.rejected + one.warned, one.passed)));
    lines.extend(clients.into_iter().take(DECIDED).map(|one| {
        let name: String = one.client.chars().take(20).collect();
        let Decided { passed, held, rejected, warned, held_for, .. } = one;
        let held_for = held_for.as_secs_f64();
        format!("{name:<20} {passed:>9}   {held:>7}   {held_for:>8.1}s   {rejected:>8}   {warned:>8}")
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

fn line(since: Duration, clients: &[Named], sight: &Sight, gate: &str) -> String {
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
    let (sessions, replica) = (or_unknown(sight.sessions), replica(sight));
    format!("{:>4}s  {clients}{held}sessions {sessions} | {replica} | {gate}\n", since.as_secs())
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
            warned: 7,
            held_for: Duration::from_millis(9_840),
        };
        Sight { sessions: Some(5), decided: vec![report], primary: Some(12), replica: Some(11) }
    }

    #[test]
    fn a_line_says_everything() {
        let clients = [("web", reading(1200)), ("report", reading(0))];
        assert_eq!(
            line(Duration::from_millis(3040), &clients, &sight(), "gate: warn"),
            "   3s  web 600/s p50 0.41ms p99 31ms errors 0 | report 0/s p50 - p99 - errors 0 | held report:etl 18x 9.8s | sessions 5 | replica: 11 of 12 changes | gate: warn\n"
        );
    }

    #[test]
    fn what_was_held_stands_below_its_heads() {
        let lines = decided(&sight());
        assert_eq!(lines.last().unwrap(), "report:etl                  20        18        9.8s          0          7");
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
        let drawn = status(Duration::ZERO, &blind);
        assert!(drawn.contains("proxy: ? sessions") && drawn.contains("replica: ? of 3 changes"), "{drawn}");
    }
}
