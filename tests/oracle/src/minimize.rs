//! Makes a failing case small: packets before the judged one are dropped, then bytes, with the server asked at each step.

use anyhow::Result;

use crate::case::{Case, Protocol, Setup};
use crate::verdict::{Kind, Milder};
use crate::worker::Worker;

/// Runs that one case may cost.
const BUDGET: usize = 250;

/// A small case that fails in the same way, and how. `None`: it did not fail alone.
pub fn minimize(worker: &mut Worker, case: &Case, kind: Kind) -> Result<Option<(Case, Milder)>> {
    let mut search = Search { worker, kind, budget: BUDGET };
    let Some(mut failure) = search.fails(case)? else { return Ok(None) };
    let mut best = case.clone();
    search.drop_packets(&mut best, &mut failure)?;
    let simpler = [
        Setup { before: String::new(), ..best.setup.clone() },
        Setup::usual(),
        Setup { charset: "utf8mb4".into(), before: String::new(), ..best.setup.clone() },
        Setup { sql_mode: String::new(), before: String::new(), ..best.setup.clone() },
    ];
    for setup in simpler {
        let candidate = Case { setup, ..best.clone() };
        search.keep(&mut best, candidate, &mut failure)?;
    }
    let candidate = Case { protocol: Protocol::Text, ..best.clone() };
    search.keep(&mut best, candidate, &mut failure)?;
    for packet in (0..=best.earlier.len()).rev() {
        search.drop_bytes(&mut best, packet, &mut failure)?;
    }
    Ok(Some((best, failure)))
}

/// The text of a packet by its number; the judged one comes last.
fn text_of(case: &mut Case, packet: usize) -> &mut Vec<u8> {
    case.earlier.get_mut(packet).unwrap_or(&mut case.text)
}

struct Search<'a> {
    worker: &'a mut Worker,
    kind: Kind,
    budget: usize,
}

impl Search<'_> {
    fn fails(&mut self, case: &Case) -> Result<Option<Milder>> {
        self.budget = self.budget.saturating_sub(1);
        let outcomes = self.worker.run(std::slice::from_ref(case))?;
        let failures = outcomes.into_iter().flat_map(|outcome| outcome.failures);
        Ok(failures.into_iter().find(|failure| failure.kind == self.kind))
    }

    /// The last ones first, since they depend on those before them.
    fn drop_packets(&mut self, best: &mut Case, failure: &mut Milder) -> Result<()> {
        for packet in (0..best.earlier.len()).rev() {
            let mut candidate = best.clone();
            candidate.earlier.remove(packet);
            self.keep(best, candidate, failure)?;
        }
        Ok(())
    }

    fn drop_bytes(&mut self, best: &mut Case, packet: usize, failure: &mut Milder) -> Result<()> {
        let mut size = (text_of(best, packet).len() / 2).max(1);
        loop {
            let mut at = 0;
            let mut shorter = false;
            while at < text_of(best, packet).len() && self.budget > 0 {
                let mut candidate = best.clone();
                let text = text_of(&mut candidate, packet);
                let end = (at + size).min(text.len());
                text.drain(at..end);
                if self.keep(best, candidate, failure)? {
                    shorter = true;
                } else {
                    at += size;
                }
            }
            if self.budget == 0 || (size == 1 && !shorter) {
                return Ok(());
            }
            if !shorter || size > 1 {
                size = (size / 2).max(1);
            }
        }
    }

    fn keep(&mut self, best: &mut Case, candidate: Case, failure: &mut Milder) -> Result<bool> {
        if self.budget == 0 || candidate == *best {
            return Ok(false);
        }
        match self.fails(&candidate)? {
            Some(found) => {
                (*best, *failure) = (candidate, found);
                Ok(true)
            }
            None => Ok(false),
        }
    }
}
