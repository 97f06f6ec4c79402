//! Whether all was as it should be, and the last word.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};
use tokio::time::Instant;

use crate::clients::Named;
use crate::observer::Observer;

/// The changes of a few seconds; a replica that needs longer does not follow.
const REPLICA_DEADLINE: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(crate) struct Verdict {
    failures: Vec<String>,
    replication: Option<String>,
    rules: Option<String>,
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
        for said in [&self.rules, &self.replication].into_iter().flatten() {
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
    use crate::figures::Figures;

    #[test]
    fn the_favoured_must_have_got_more() {
        let now = std::time::Instant::now();
        let (one, two) = (Figures::new(now), Figures::new(now));
        one.query(Duration::from_millis(1));
        let over = Duration::from_secs(1);
        for (billing, report, good) in [(&one, &two, true), (&two, &one, false), (&two, &two, false)] {
            let mut verdict = Verdict::default();
            verdict.judge_rules(&[("billing", billing.total(over)), ("report", report.total(over))]);
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
        let over = Duration::from_secs(1);
        for (figures, expected) in
            [(&good, ""), (&bad, "x saw 1 errors, the first: lost"), (&idle, "x got no answer at all")]
        {
            let mut verdict = Verdict::default();
            verdict.judge_clients(&[("x", figures.total(over))]);
            assert_eq!(verdict.failures.join(";"), expected);
        }
    }
}
