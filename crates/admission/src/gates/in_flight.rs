//! What runs and what was done, counted by every statement: so the counts are spread over cache lines that sessions seldom
//! share, and added up by those who look.

use std::sync::atomic::{AtomicI32, AtomicI64, AtomicU8, AtomicU64, Ordering};

use health::Work;
use statement::Class;

use super::latency::Latencies;
use crate::limits::Slot;

const SHARDS: usize = 16;

#[derive(Debug)]
pub struct InFlight {
    shards: Box<[Shard]>,
    /// The classes that each gate concerns, where it concerns everybody.
    concerns: [AtomicU8; Slot::MOST],
}

/// Which of them a session uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShardId(usize);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Committing {
    pub run: u64,
    pub came_back: u64,
}

/// What a session that begins something is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begun {
    Quietly,
    /// So many have begun since somebody looked that somebody should.
    Look,
}

#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Shard {
    /// Statements whose verdict was asked for.
    asked: AtomicU64,
    transactions: AtomicU64,
    rows: AtomicU64,
    by_class: [AtomicI32; Class::ALL.len()],
    /// COMMITs, and writes that commit by themselves: begun, and come back, whatever became of them.
    committing: AtomicU64,
    came_back: AtomicU64,
    /// How many more that lock or write may begin before somebody should look whether it is too much.
    unlooked: AtomicI64,
    /// For gates that do not concern everybody.
    by_gate: ByGate,
    pub(super) latencies: Latencies,
}

/// Statements that run now.
#[derive(Debug)]
struct ByGate([AtomicI32; Slot::MOST]);

impl Default for ByGate {
    fn default() -> Self {
        ByGate(std::array::from_fn(|_| AtomicI32::new(0)))
    }
}

impl Default for InFlight {
    fn default() -> Self {
        let in_flight = InFlight {
            shards: std::iter::repeat_with(Shard::default).take(SHARDS).collect(),
            concerns: std::array::from_fn(|_| AtomicU8::new(0)),
        };
        in_flight.look_after(None);
        in_flight
    }
}

impl InFlight {
    /// For a session, by a number of its own.
    pub(crate) fn shard(number: u64) -> ShardId {
        ShardId(usize::try_from(number % SHARDS as u64).unwrap_or(0))
    }

    #[inline]
    pub(crate) fn asked(&self, shard: ShardId) {
        self.add(shard, |shard| &shard.asked, 1);
    }

    /// A gate concerns everybody's statements of these classes; none, if it is counted by itself.
    pub(super) fn set_concerns(&self, slot: Slot, classes: u8) {
        if let Some(concerns) = self.concerns.get(slot.index()) {
            concerns.store(classes, Ordering::Relaxed);
        }
    }

    /// A statement begins, or has ended. `gates`: those that it concerns and that do not concern everybody.
    #[inline]
    pub(crate) fn begin(&self, shard: ShardId, class: Class, gates: u64) -> Begun {
        self.change(shard, class, gates, 1);
        let Some(shard) = self.shards.get(shard.0).filter(|_| class.locks_or_writes()) else { return Begun::Quietly };
        if shard.unlooked.fetch_sub(1, Ordering::Relaxed) > 1 { Begun::Quietly } else { Begun::Look }
    }

    /// Somebody should look when about so many more that lock or write have begun. `None`: no matter how many.
    pub(super) fn look_after(&self, begun: Option<f64>) {
        let each = InFlight::look_each(begun);
        self.shards.iter().for_each(|shard| shard.unlooked.store(each, Ordering::Relaxed));
    }

    /// Somebody has looked, for this shard.
    pub(super) fn looked(&self, shard: ShardId, begun: Option<f64>) {
        if let Some(shard) = self.shards.get(shard.0) {
            shard.unlooked.store(InFlight::look_each(begun), Ordering::Relaxed);
        }
    }

    /// All shards may be busy, or one: half of an even share is early enough for most, and looking costs little.
    fn look_each(begun: Option<f64>) -> i64 {
        begun.map_or(i64::MAX, |begun| ((begun / (2 * SHARDS) as f64) as i64).max(1))
    }

    #[inline]
    pub(crate) fn end(&self, shard: ShardId, class: Class, gates: u64) {
        self.change(shard, class, gates, -1);
    }

    #[inline]
    fn change(&self, shard: ShardId, class: Class, mut gates: u64, by: i32) {
        let Some(shard) = self.shards.get(shard.0) else { return };
        if let Some(count) = shard.by_class.get(class as usize) {
            count.fetch_add(by, Ordering::Relaxed);
        }
        while gates != 0 {
            let slot = gates.trailing_zeros() as usize;
            gates &= gates - 1;
            if let Some(count) = shard.by_gate.0.get(slot) {
                count.fetch_add(by, Ordering::Relaxed);
            }
        }
    }

    /// One begins that is to commit.
    #[inline]
    pub(crate) fn commits(&self, shard: ShardId) {
        self.add(shard, |shard| &shard.committing, 1);
    }

    /// Such a one has ended, whether or not there was anything to commit.
    #[inline]
    pub(crate) fn came_back(&self, shard: ShardId) {
        self.add(shard, |shard| &shard.came_back, 1);
    }

    /// COMMITs, and writes that commit by themselves: how many run now, and how many ever came back.
    pub fn committing(&self) -> Committing {
        let sum = |counter: fn(&Shard) -> &AtomicU64| {
            self.shards.iter().map(|shard| counter(shard).load(Ordering::Relaxed)).sum::<u64>()
        };
        // In this order: what begins meanwhile is not missing.
        let came_back = sum(|shard| &shard.came_back);
        Committing { run: sum(|shard| &shard.committing).saturating_sub(came_back), came_back }
    }

    /// It has been committed.
    pub(crate) fn committed(&self, shard: ShardId, rows: u64) {
        self.add(shard, |shard| &shard.transactions, 1);
        self.add(shard, |shard| &shard.rows, rows);
    }

    #[inline]
    fn add(&self, shard: ShardId, counter: impl Fn(&Shard) -> &AtomicU64, more: u64) {
        if let Some(shard) = self.shards.get(shard.0) {
            counter(shard).fetch_add(more, Ordering::Relaxed);
        }
    }

    pub(super) fn of_shard(&self, shard: ShardId) -> Option<&Shard> {
        self.shards.get(shard.0)
    }

    pub(super) fn shards(&self) -> impl Iterator<Item = &Shard> {
        self.shards.iter()
    }

    /// Statements that a gate concerns and that run now.
    pub fn of(&self, slot: Slot) -> u32 {
        let concerns = self.concerns.get(slot.index()).map_or(0, |classes| classes.load(Ordering::Relaxed));
        let load = |count: Option<&AtomicI32>| count.map_or(0, |count| count.load(Ordering::Relaxed));
        let of_shard = |shard: &Shard| {
            let everybodys = Class::ALL.iter().filter(|class| concerns >> **class as u8 & 1 == 1);
            load(shard.by_gate.0.get(slot.index()))
                + everybodys.map(|class| load(shard.by_class.get(*class as usize))).sum::<i32>()
        };
        u32::try_from(self.shards.iter().map(of_shard).sum::<i32>()).unwrap_or(0)
    }

    /// How often a verdict was asked for.
    pub fn total_asked(&self) -> u64 {
        self.shards.iter().map(|shard| shard.asked.load(Ordering::Relaxed)).sum()
    }

    /// All that has been committed.
    pub fn work(&self) -> Work {
        let sum = |counter: fn(&Shard) -> &AtomicU64| {
            self.shards.iter().map(|shard| counter(shard).load(Ordering::Relaxed)).sum::<u64>() as f64
        };
        Work { transactions: sum(|shard| &shard.transactions), rows: sum(|shard| &shard.rows) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_begins_ends() {
        let in_flight = InFlight::default();
        in_flight.set_concerns(Slot(1), 1 << Class::Write as u8 | 1 << Class::Ddl as u8);
        let (one, two) = (InFlight::shard(1), InFlight::shard(18));
        in_flight.begin(one, Class::Write, 0b101);
        in_flight.begin(two, Class::Read, 0b100);
        in_flight.begin(two, Class::Ddl, 0);
        assert_eq!([0, 1, 2].map(|slot| in_flight.of(Slot(slot))), [1, 2, 2]);
        in_flight.end(one, Class::Write, 0b101);
        in_flight.end(two, Class::Read, 0b100);
        in_flight.end(two, Class::Ddl, 0);
        assert_eq!([0, 1, 2].map(|slot| in_flight.of(Slot(slot))), [0, 0, 0]);
    }

    #[test]
    fn work_adds_up() {
        let in_flight = InFlight::default();
        for session in 0..40 {
            in_flight.committed(InFlight::shard(session), 3);
        }
        assert_eq!(in_flight.work(), Work { transactions: 40.0, rows: 120.0 });
    }
}
