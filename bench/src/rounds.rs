//! The rounds: in each, every workload is run once by every contestant, in an order shuffled anew. What disturbs
//! the machine for seconds then falls on all of them alike, and ratios taken within a round do not see it.

use crate::contestant::{Contestant, Role};
use crate::figure::{Figure, Sample};
use crate::options::Options;
use crate::progress::Progress;
use crate::rig::Rig;
use crate::stats::{Median, median, ratios};
use crate::workload::Workload;
use rand::seq::SliceRandom;
use std::collections::BTreeMap;
use std::time::Duration;

/// A contestant that fails a workload this often is not asked to run it again.
const FAILURES_ALLOWED: usize = 2;

/// What the rounds gave.
#[derive(Debug)]
pub struct Rounds {
    pub blocks: Vec<Block>,
    pub contestants: Vec<Name>,
    pub failures: Vec<Failure>,
    pub done: u32,
    pub planned: u32,
    pub elapsed: Duration,
}

#[derive(Clone, Debug)]
pub struct Name {
    pub name: String,
    pub role: Role,
}

/// One workload: for each contestant its samples, by round, with a gap where it failed.
#[derive(Debug)]
pub struct Block {
    pub workload: Workload,
    pub samples: Vec<Vec<Option<Sample>>>,
}

#[derive(Debug)]
pub struct Failure {
    pub workload: String,
    pub contestant: String,
    pub round: u32,
    pub reason: String,
}

impl Rounds {
    pub fn run(options: &Options, rig: &Rig, workloads: &[Workload], contestants: &mut [Contestant]) -> Self {
        let names = contestants.iter().map(|c| Name { name: c.entry.name.clone(), role: c.entry.role }).collect();
        let blocks = workloads
            .iter()
            .map(|workload| Block { workload: *workload, samples: vec![Vec::new(); contestants.len()] });
        let planned = options.round_count();
        let mut rounds = Self {
            blocks: blocks.collect(),
            contestants: names,
            failures: Vec::new(),
            done: 0,
            planned,
            elapsed: Duration::ZERO,
        };
        let runs = workloads.iter().map(|workload| {
            let takers = contestants.iter().filter(|contestant| workload.suits(contestant)).count();
            workload.rounds(options) * u32::try_from(takers).unwrap_or(0)
        });
        let mut progress = Progress::new(runs.sum());
        while rounds.done < planned && !rig.interrupt.asked() && rounds.fits(options.limit(), progress.elapsed()) {
            rounds.one_round(options, rig, contestants, &mut progress);
            if !rig.interrupt.asked() {
                rounds.done += 1;
            }
        }
        progress.finish();
        rounds.elapsed = progress.elapsed();
        rounds
    }

    /// Whether another round as long as those before would end within the limit.
    fn fits(&self, limit: Option<Duration>, elapsed: Duration) -> bool {
        limit.is_none_or(|limit| self.done == 0 || elapsed + elapsed / self.done <= limit)
    }

    fn one_round(&mut self, options: &Options, rig: &Rig, contestants: &mut [Contestant], progress: &mut Progress) {
        for block in &mut self.blocks {
            let workload = block.workload;
            if self.done >= workload.rounds(options) {
                continue;
            }
            let mut order: Vec<usize> = (0..contestants.len()).collect();
            order.shuffle(&mut rand::rng());
            for index in order {
                let contestant = &mut contestants[index];
                let (workload_name, name) = (workload.name(), contestant.entry.name.clone());
                let failed =
                    self.failures.iter().filter(|f| f.workload == workload_name && f.contestant == name).count();
                if rig.interrupt.asked() || !workload.suits(contestant) || failed >= FAILURES_ALLOWED {
                    block.samples[index].push(None);
                    continue;
                }
                progress.show(self.done + 1, self.planned, &format!("{workload_name} · {name}"));
                let sample = match workload.measure(rig, contestant) {
                    Ok(sample) => Some(sample),
                    Err(_) if rig.interrupt.asked() => None,
                    Err(error) => {
                        let reason = format!("{error:#}");
                        self.failures.push(Failure {
                            workload: workload_name,
                            contestant: name,
                            round: self.done + 1,
                            reason,
                        });
                        None
                    }
                };
                block.samples[index].push(sample);
                progress.advance();
            }
        }
    }

    pub fn with_role(&self, role: Role) -> Option<usize> {
        self.contestants.iter().position(|name| name.role == role)
    }
}

impl Block {
    /// The figures that any contestant has here, in the order in which they are shown.
    pub fn figures(&self) -> Vec<Figure> {
        let seen: BTreeMap<Figure, ()> =
            self.samples.iter().flatten().flatten().flat_map(Sample::figures).map(|(figure, _)| (figure, ())).collect();
        seen.into_keys().collect()
    }

    pub fn median(&self, contestant: usize, figure: Figure) -> Option<Median> {
        let values: Vec<f64> = self.values(contestant, figure).into_iter().flatten().collect();
        median(&values)
    }

    /// The median of the ratios of the rounds, not the ratio of the medians.
    pub fn ratio(&self, contestant: usize, to: usize, figure: Figure) -> Option<Median> {
        median(&ratios(&self.values(contestant, figure), &self.values(to, figure)))
    }

    fn values(&self, contestant: usize, figure: Figure) -> Vec<Option<f64>> {
        let samples = self.samples.get(contestant).map(Vec::as_slice).unwrap_or_default();
        samples.iter().map(|sample| sample.as_ref()?.value(figure)).collect()
    }
}
