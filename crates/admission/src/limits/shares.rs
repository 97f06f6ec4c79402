//! Start-time fair queueing: of those who wait, the one who got least so far is next.
//!
//! Virtual time moves with what is served. Who comes back after a pause starts at the present, so nobody saves up; who
//! asks more than the others waits behind them. See Goyal, Vin, Cheng: Start-time Fair Queueing (1996).

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// What one turn costs at weight 1.
const TURN: u64 = 1 << 16;

#[derive(Debug)]
pub(crate) struct Shares<K> {
    virtual_time: u64,
    /// Those who wait, by when their turn starts; the second number keeps the order of arrival.
    starts: BTreeMap<(u64, u64), K>,
    of: HashMap<K, Share>,
    arrivals: u64,
}

#[derive(Debug, Clone, Copy)]
struct Share {
    /// When what it got so far is paid for.
    paid: u64,
    waits_at: Option<(u64, u64)>,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Shares { virtual_time: 0, starts: BTreeMap::new(), of: HashMap::new(), arrivals: 0 }
    }
}

impl<K: Clone + Eq + Hash> Shares<K> {
    /// It waits from now on, if it did not already.
    pub(crate) fn arrive(&mut self, key: &K) {
        let virtual_time = self.virtual_time;
        let share = self.of.entry(key.clone()).or_insert(Share { paid: virtual_time, waits_at: None });
        if share.waits_at.is_some() {
            return;
        }
        self.arrivals += 1;
        let at = (share.paid.max(virtual_time), self.arrivals);
        share.waits_at = Some(at);
        self.starts.insert(at, key.clone());
    }

    /// Who is next.
    pub(crate) fn first(&self) -> Option<&K> {
        self.starts.first_key_value().map(|(_, key)| key)
    }

    /// It had its turn.
    pub(crate) fn serve(&mut self, key: &K, weight: f64) {
        let Some(start) = self.leave(key) else { return };
        self.virtual_time = self.virtual_time.max(start);
        let turn = turn(weight);
        if let Some(share) = self.of.get_mut(key) {
            share.paid = start + turn;
        }
        self.forget_the_paid();
    }

    /// It waits no more. When its turn would have started.
    pub(crate) fn leave(&mut self, key: &K) -> Option<u64> {
        let at = self.of.get_mut(key)?.waits_at.take()?;
        self.starts.remove(&at);
        if self.starts.is_empty() && self.of.get(key).is_some_and(|share| share.paid <= self.virtual_time) {
            self.of.remove(key);
        }
        Some(at.0)
    }

    /// Who owes nothing and does not wait is like one who never came.
    fn forget_the_paid(&mut self) {
        if self.of.len() > 2 * self.starts.len() + 64 {
            let present = self.virtual_time;
            self.of.retain(|_, share| share.waits_at.is_some() || share.paid > present);
        }
    }
}

/// As large as a weight may be, a turn is never nothing.
fn turn(weight: f64) -> u64 {
    (TURN as f64 / weight.clamp(1.0 / 1024.0, 1024.0)) as u64
}

/// What each got of several queues together, where only those who are first in theirs are compared.
#[derive(Debug)]
pub(crate) struct Turns<K> {
    present: u64,
    paid: HashMap<K, u64>,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Turns { present: 0, paid: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash> Turns<K> {
    /// When what it got so far is paid for: who is first by this is next.
    pub(crate) fn paid(&self, key: &K) -> u64 {
        self.paid.get(key).map_or(self.present, |paid| self.present.max(*paid))
    }

    pub(crate) fn serve(&mut self, key: &K, weight: f64) {
        let start = self.paid(key);
        self.present = start;
        let present = self.present;
        if self.paid.len() > 256 {
            self.paid.retain(|_, paid| *paid > present);
        }
        self.paid.insert(key.clone(), start + turn(weight));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everyone always wants more; who got how many of `turns`.
    fn served(weights: &[(&'static str, u32)], turns: usize) -> HashMap<&'static str, usize> {
        let mut shares = Shares::default();
        let mut got = HashMap::new();
        weights.iter().for_each(|(key, _)| shares.arrive(key));
        for _ in 0..turns {
            let key = *shares.first().unwrap();
            let weight = weights.iter().find(|(known, _)| *known == key).unwrap().1;
            shares.serve(&key, f64::from(weight));
            shares.arrive(&key);
            *got.entry(key).or_default() += 1;
        }
        got
    }

    #[test]
    fn turns_go_by_weight() {
        let got = served(&[("a", 1), ("b", 1), ("c", 2)], 4000);
        for (key, due) in [("a", 1000), ("b", 1000), ("c", 2000)] {
            assert!(got[key].abs_diff(due) <= 2, "{got:?}");
        }
    }

    #[test]
    fn a_pause_saves_nothing_up() {
        let mut shares = Shares::default();
        shares.arrive(&"busy");
        for _ in 0..1000 {
            shares.serve(&"busy", 1.0);
            shares.arrive(&"busy");
        }
        shares.arrive(&"new");
        let mut order = Vec::new();
        for _ in 0..6 {
            let key = *shares.first().unwrap();
            shares.serve(&key, 1.0);
            shares.arrive(&key);
            order.push(key);
        }
        assert_eq!(order.iter().filter(|key| **key == "new").count(), 3, "{order:?}");
    }

    #[test]
    fn who_has_left_is_forgotten() {
        let mut shares = Shares::default();
        for key in 0..10_000 {
            shares.arrive(&key);
            shares.serve(&key, 1.0);
        }
        assert!(shares.of.len() <= 66, "{}", shares.of.len());
        shares.arrive(&1);
        shares.leave(&1);
        assert!(shares.first().is_none());
    }
}
