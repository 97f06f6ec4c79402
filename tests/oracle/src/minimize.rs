//! Makes a failing packet small: delta debugging on its bytes, with the server asked at each step.

use anyhow::Result;

use crate::case::{Case, Protocol, Setup};
use crate::verdict::{Kind, Milder};
use crate::worker::Worker;

/// Runs that one packet may cost.
const BUDGET: usize = 250;

/// A small packet that fails in the same way, and how. `None`: it did not fail alone.
pub fn minimize(worker: &mut Worker, case: &Case, kind: Kind) -> Result<Option<(Case, Milder)>> {
    let mut search = Search { worker, kind, budget: BUDGET };
    let Some(mut failure) = search.fails(case)? else { return Ok(None) };
    let mut best = case.clone();
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
    let mut size = (best.text.len() / 2).max(1);
    loop {
        let mut at = 0;
        let mut shorter = false;
        while at < best.text.len() && search.budget > 0 {
            let end = (at + size).min(best.text.len());
            let mut candidate = best.clone();
            candidate.text.drain(at..end);
            if search.keep(&mut best, candidate, &mut failure)? {
                shorter = true;
            } else {
                at += size;
            }
        }
        if search.budget == 0 || (size == 1 && !shorter) {
            break;
        }
        if !shorter || size > 1 {
            size = (size / 2).max(1);
        }
    }
    Ok(Some((best, failure)))
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
