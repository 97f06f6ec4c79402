//! Whether all was as it should be, and the last word.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::Instant;

use crate::clients::Named;
use crate::observer::Observer;
use crate::parts::Part;
use crate::proxy_process::THRESHOLD;
use crate::stage::Seen;

/// The changes of a few seconds; a replica that needs longer does not follow.
const REPLICA_DEADLINE: Duration = Duration::from_secs(30);

/// A part that lasted less says little.
const SHOWN: Duration = Duration::from_secs(2);

#[derive(Debug, Default)]
pub(crate) struct Verdict {
    failures: Vec<String>,
    replication: Option<String>,
    rules: Option<String>,
    gate: Vec<String>,
}

impl Verdict {
    pub(crate) fn failure(&mut self, what: String) {
        self.failures.push(what);
    }

    pub(crate) fn is_good(&self) -> bool {
        self.failures.is_empty()
    }

    pub(crate) fn judge_clients(&mut self, clients: &[Named]) {
        for (name, reading) in clients {
            if let Some(error) = &reading.first_error {
                self.failure(format!("{name} saw {} errors, the first: {error}", reading.errors));
            }
            if reading.queries == 0 {
                self.failure(format!("{name} got no answer at all"));
            }
        }
    }

    /// Of two that want the same, the one that the rules favour got more.
    pub(crate) fn judge_rules(&mut self, clients: &[Named]) {
        let queries =
            |wanted: &str| clients.iter().find(|(name, _)| *name == wanted).map_or(0, |(_, reading)| reading.queries);
        let (favoured, other) = (queries("billing"), queries("report"));
        if favoured > other {
            self.rules =
                Some(format!("Two asked alike: billing got {favoured} answers, report {other}, as the rules say."));
        } else {
            self.failure(format!("billing is favoured and got {favoured} answers, report {other}"));
        }
    }

    /// With the gate the replica stayed nearer than without, and the job went on. What was shown too shortly is not judged.
    pub(crate) fn judge_gate(&mut self, seen: &[Seen]) {
        let of = |part| seen.iter().rfind(|seen| seen.part == part && seen.foreground.over >= SHOWN).map(Shown::of);
        let (Some(without), Some(with)) = (of(Part::Warned), of(Part::Enforced)) else { return };
        let Some(without) = without else {
            return self.failure("the lag could not be seen without the gate".to_owned());
        };
        let Some(with) = with else { return self.failure("the lag could not be seen with the gate".to_owned()) };
        self.gate.extend([head(), without.row("gate in warn"), with.row("gate in enforce")]);
        let threshold = THRESHOLD.as_secs_f64();
        if without.most <= threshold {
            // The machine is too busy for the job: there was nothing to hold back.
            self.gate.push(format!("The job was too slow here to make the replica later than {threshold:.1}s."));
        } else if with.mostly >= without.most {
            let Shown { mostly, .. } = with;
            self.failure(format!(
                "with the gate the lag was {mostly:.2}s, without it {:.2}s at the most",
                without.most
            ));
        } else {
            let (with, without) = (with.most, without.most);
            self.gate.push(format!(
                "The replica was up to {without:.1}s late without the gate, and up to {with:.1}s with it."
            ));
        }
        if with.job_rate <= 0.0 {
            self.failure("with the gate the job got no answer at all".to_owned());
        }
    }

    /// What a client was told is committed is on the primary, once, and comes to the replica.
    pub(crate) async fn judge_replication(&mut self, clients: &[Named], observer: &mut Observer) {
        let committed = clients.iter().map(|(_, reading)| reading.changes).sum();
        match follow(committed, observer).await {
            Ok(said) => self.replication = Some(said),
            Err(error) => self.failure(format!("{error:#}")),
        }
    }

    /// To be called when everything has ended.
    pub(crate) fn print(&self) -> ExitCode {
        for said in self.rules.iter().chain(&self.gate).chain(&self.replication) {
            println!("{said}");
        }
        for failure in &self.failures {
            println!("FAILED: {failure}");
        }
        println!("\nThe proxy and the servers have ended, and their folders are removed.");
        if let Ok(cache) = sandbox::cache_folder() {
            println!("MySQL's programs stay in {} for the next time; it may be deleted.", cache.display());
        }
        if self.is_good() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

/// A part in figures.
#[derive(Debug)]
struct Shown {
    /// Seconds of lag: half of the time under, nine tenths of the time under, and at the most.
    median: f64,
    mostly: f64,
    most: f64,
    /// The part of the time over the threshold.
    over: f64,
    job_rate: f64,
    p50: Duration,
    p99: Duration,
}

impl Shown {
    /// `None`: nobody could see the lag.
    fn of(seen: &Seen) -> Option<Shown> {
        let mut lags = seen.lags.clone();
        lags.sort_unstable();
        let at = |tenths: usize| Some(lags.get((lags.len().checked_sub(1)?) * tenths / 10)?.as_secs_f64());
        Some(Shown {
            median: at(5)?,
            mostly: at(9)?,
            most: at(10)?,
            over: lags.iter().filter(|lag| **lag > THRESHOLD).count() as f64 / lags.len() as f64,
            job_rate: seen.job.per_second(),
            p50: seen.foreground.p50,
            p99: seen.foreground.p99,
        })
    }

    /// Below [`head`].
    fn row(&self, title: &str) -> String {
        let Shown { median, most, job_rate, .. } = self;
        let over = self.over * 100.0;
        let [p50, p99] = [self.p50, self.p99].map(|latency| latency.as_secs_f64() * 1000.0);
        format!("{title:<16} {median:>6.2}s {most:>6.2}s {over:>8.0}% {job_rate:>13.0} {p50:>9.2}ms {p99:>8.2}ms")
    }
}

fn head() -> String {
    let over = format!("over {:.1}s", THRESHOLD.as_secs_f64());
    format!(
        "{:<16} {:>7} {:>7} {over:>9} {:>13} {:>11} {:>10}",
        "lag", "median", "most", "job writes/s", "web p50", "web p99"
    )
}

async fn follow(committed: u64, observer: &mut Observer) -> Result<String> {
    let begin = Instant::now();
    let primary = observer.changes_on_primary().await?;
    ensure!(primary == committed, "the clients committed {committed} changes, the primary has {primary}");
    loop {
        let replica = observer.changes_on_replica().await?;
        if replica == primary {
            return Ok(format!("{committed} changes committed, and as many on the primary and on the replica."));
        }
        let waited = begin.elapsed();
        ensure!(waited < REPLICA_DEADLINE, "the replica has {replica} of {primary} changes after {waited:.0?}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{Figures, Span};

    #[test]
    fn the_favoured_must_have_got_more() {
        let now = std::time::Instant::now();
        let (one, two) = (Figures::new(now), Figures::new(now));
        one.query(Duration::from_millis(1));
        let read = |figures: &Figures| figures.read(Span::Total, now);
        for (billing, report, good) in [(&one, &two, true), (&two, &one, false), (&two, &two, false)] {
            let mut verdict = Verdict::default();
            verdict.judge_rules(&[("billing", read(billing)), ("report", read(report))]);
            assert_eq!(verdict.is_good(), good);
        }
    }

    #[test]
    fn one_error_is_enough() {
        let now = std::time::Instant::now();
        let (good, bad, idle) = (Figures::new(now), Figures::new(now), Figures::new(now));
        good.query(Duration::from_millis(1));
        bad.query(Duration::from_millis(1));
        bad.error("lost");
        for (figures, expected) in
            [(&good, ""), (&bad, "x saw 1 errors, the first: lost"), (&idle, "x got no answer at all")]
        {
            let mut verdict = Verdict::default();
            verdict.judge_clients(&[("x", figures.read(Span::Total, now))]);
            assert_eq!(verdict.failures.join(";"), expected);
        }
    }

    /// A part of so many seconds, with a lag that rises to this in tenths of a second.
    fn part(part: Part, seconds: u64, tenths: u64, job: u64) -> Seen {
        let begin = std::time::Instant::now();
        let (foreground, writes) = (Figures::new(begin), Figures::new(begin));
        foreground.query(Duration::from_millis(1));
        (0..job).for_each(|_| writes.query(Duration::from_millis(9)));
        let end = begin + Duration::from_secs(seconds);
        Seen {
            part,
            lags: (0..=tenths).map(|tenths| Duration::from_millis(100 * tenths)).collect(),
            foreground: foreground.read(Span::Part, end),
            job: writes.read(Span::Part, end),
        }
    }

    #[test]
    fn the_gate_must_have_helped_if_there_was_anything_to_help_with() {
        use Part::{Enforced, Warned};
        for (seen, last, good) in [
            (vec![part(Warned, 5, 25, 900), part(Enforced, 5, 9, 500)], "up to 0.9s with it.", true),
            (vec![part(Warned, 5, 25, 900), part(Enforced, 5, 40, 500)], "gate in enforce", false),
            (vec![part(Warned, 5, 25, 900), part(Enforced, 5, 9, 0)], "up to 0.9s with it.", false),
            (vec![part(Warned, 5, 8, 900), part(Enforced, 5, 9, 500)], "too slow here", true),
            (vec![part(Warned, 5, 25, 900), part(Enforced, 1, 40, 500)], "", true),
            (vec![part(Warned, 5, 25, 900)], "", true),
        ] {
            let mut verdict = Verdict::default();
            verdict.judge_gate(&seen);
            assert_eq!(verdict.is_good(), good, "{:?}", verdict.failures);
            assert!(verdict.gate.last().map_or("", |said| said).contains(last), "{:?}", verdict.gate);
        }
        let blind = Seen { lags: Vec::new(), ..part(Enforced, 5, 0, 500) };
        let mut verdict = Verdict::default();
        verdict.judge_gate(&[part(Warned, 5, 25, 900), blind]);
        assert_eq!(verdict.failures, ["the lag could not be seen with the gate"]);
    }

    #[test]
    fn figures_stand_below_their_heads() {
        let shown = Shown::of(&part(Part::Warned, 5, 20, 650)).unwrap();
        let row = shown.row("gate in warn");
        assert_eq!(row, "gate in warn       1.00s   2.00s       48%           130      1.00ms     1.00ms");
        assert_eq!(row.len(), head().len());
        assert!(row.len() < 80);
    }
}
