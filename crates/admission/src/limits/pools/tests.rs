//! Ten thousand interleavings against a slow, obvious model. A failure prints the seed of its interleaving.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::*;

const RULES: [&str; 4] = ["a", "b", "c", "d"];
const INTERLEAVINGS: u64 = 10_000;
const STEPS: usize = 40;

type Set = BTreeSet<&'static str>;

struct Simulation {
    dice: SmallRng,
    pools: Pools,
    model: Model,
    running: Vec<(Needs, Set)>,
    /// What the policy says now, and said before.
    policies: Vec<BTreeMap<&'static str, u32>>,
}

/// What must be true, in as many words.
#[derive(Default)]
struct Model {
    used: BTreeMap<&'static str, u32>,
    /// Limits as far as anybody who asked has told them.
    known: BTreeMap<&'static str, (u32, u64)>,
    waiting: Vec<(Ticket, Set, Waiter)>,
}

impl Model {
    fn has_room(&self, set: &Set) -> bool {
        set.iter().all(|rule| self.used(rule) < self.known.get(rule).map_or(0, |(limit, _)| *limit))
    }

    fn used(&self, rule: &str) -> u32 {
        self.used.get(rule).copied().unwrap_or(0)
    }

    fn is_awaited(&self, set: &Set) -> bool {
        self.waiting.iter().any(|(_, awaited, _)| awaited == set)
    }

    fn learn(&mut self, needs: &[Need]) {
        for need in needs {
            let (limit, generation) = self.known.entry(name(&need.thing)).or_insert((0, 0));
            if need.generation >= *generation {
                (*limit, *generation) = (need.limit, need.generation);
            }
        }
    }

    fn occupy(&mut self, set: &Set) {
        set.iter().for_each(|rule| *self.used.entry(rule).or_default() += 1);
    }

    fn release(&mut self, set: &Set) {
        set.iter().for_each(|rule| *self.used.get_mut(rule).unwrap() -= 1);
    }

    /// What nobody runs under or waits for is as if it had never been.
    fn forget(&mut self) {
        let Model { used, known, waiting } = self;
        known.retain(|rule, _| {
            used.get(rule).is_some_and(|used| *used > 0) || waiting.iter().any(|(_, set, _)| set.contains(rule))
        });
    }
}

fn name(thing: &Thing) -> &'static str {
    let Thing::Rule(rule) = thing else { panic!("not a rule: {thing:?}") };
    RULES.into_iter().find(|known| *known == &**rule).unwrap()
}

impl Simulation {
    fn new(seed: u64) -> Simulation {
        let mut dice = SmallRng::seed_from_u64(seed);
        let limits = RULES.into_iter().map(|rule| (rule, dice.random_range(0..4))).collect();
        Simulation {
            dice,
            pools: Pools::default(),
            model: Model::default(),
            running: Vec::new(),
            policies: vec![limits],
        }
    }

    fn needs(&mut self, set: &Set) -> Vec<Need> {
        // Most sessions know the newest policy; some have asked for its predecessor's limits a moment ago.
        let newest = self.policies.len() - 1;
        let generation = if self.dice.random_bool(0.1) { self.dice.random_range(0..=newest) } else { newest };
        let need = |rule: &&str| Need::rule((*rule).into(), self.policies[generation][rule], generation as u64);
        let mut needs: Vec<Need> = set.iter().map(need).collect();
        if self.dice.random_bool(0.1) {
            needs.extend(needs.first().cloned());
        }
        needs
    }

    fn step(&mut self) -> Result<(), String> {
        match self.dice.random_range(0..11) {
            0..5 => self.request()?,
            5..8 => self.give_back()?,
            8 => self.cancel()?,
            9 => self.join()?,
            _ => self.change_a_limit()?,
        }
        self.check()
    }

    fn request(&mut self) -> Result<(), String> {
        let size = [1, 1, 2, 3].choose(&mut self.dice).copied().unwrap();
        let set: Set = (0..size).map(|_| *RULES.choose(&mut self.dice).unwrap()).collect();
        let needs = self.needs(&set);
        let taken = self.pools.take(&needs);
        self.model.learn(&needs);
        self.serve()?;
        let expected = self.model.has_room(&set) && !self.model.is_awaited(&set);
        if taken.is_some() != expected {
            return Err(format!("{set:?} was {}taken", if expected { "not " } else { "" }));
        }
        match taken {
            Some(taken) => {
                self.model.occupy(&set);
                self.running.push((taken.needs, set));
            }
            None if self.dice.random_bool(0.8) => {
                let waiter = Waiter {
                    user: [b'u', self.dice.random_range(0..3)][..].into(),
                    name: ["x", "y"].choose(&mut self.dice).copied().unwrap().into(),
                    weight: 1.0,
                };
                let ticket = self.pools.queue(&needs, waiter.clone());
                self.model.learn(&needs);
                self.model.waiting.push((ticket, set, waiter));
                self.serve()?;
            }
            None => {}
        }
        Ok(())
    }

    /// One that passes for another reason, over the limits if need be.
    fn join(&mut self) -> Result<(), String> {
        let size = self.dice.random_range(1..3);
        let set: Set = (0..size).map(|_| *RULES.choose(&mut self.dice).unwrap()).collect();
        let needs = self.needs(&set);
        let (grant, _) = self.pools.join(&needs);
        self.model.learn(&needs);
        // A limit that was raised has let others in before.
        self.serve()?;
        self.model.occupy(&set);
        self.running.push((grant.needs, set));
        Ok(())
    }

    fn give_back(&mut self) -> Result<(), String> {
        if self.running.is_empty() {
            return Ok(());
        }
        let at = self.dice.random_range(0..self.running.len());
        let (needs, set) = self.running.swap_remove(at);
        self.pools.give_back(&needs);
        self.model.release(&set);
        self.serve()
    }

    fn cancel(&mut self) -> Result<(), String> {
        if self.model.waiting.is_empty() {
            return Ok(());
        }
        let at = self.dice.random_range(0..self.model.waiting.len());
        let (ticket, ..) = self.model.waiting.remove(at);
        let left = self.pools.cancel(ticket);
        if !left || self.pools.cancel(ticket) {
            return Err("one who waits leaves once".to_owned());
        }
        self.serve()
    }

    /// A new policy; those who wait hear of it.
    fn change_a_limit(&mut self) -> Result<(), String> {
        let mut limits = self.policies.last().unwrap().clone();
        limits.insert(RULES.choose(&mut self.dice).unwrap(), self.dice.random_range(0..5));
        self.policies.push(limits);
        for (_, set, _) in self.model.waiting.clone() {
            let needs = self.needs(&set);
            self.pools.learn(&needs);
            self.model.learn(&needs);
            self.serve()?;
        }
        Ok(())
    }

    /// Those who got their places, in the order in which they did.
    fn serve(&mut self) -> Result<(), String> {
        for (ticket, Grant { needs, .. }) in self.pools.take_served() {
            let Some(at) = self.model.waiting.iter().position(|(waiting, ..)| *waiting == ticket) else {
                return Err(format!("{ticket:?} was served and did not wait"));
            };
            let (_, set, waiter) = self.model.waiting.remove(at);
            if !needs.iter().map(name).eq(set.iter().copied()) {
                return Err(format!("{ticket:?} waited for {set:?} and got {needs:?}"));
            }
            if !self.model.has_room(&set) {
                return Err(format!("{ticket:?} was let in over a limit"));
            }
            if self.model.waiting[..at].iter().any(|(_, other, before)| *other == set && *before == waiter) {
                return Err(format!("{ticket:?} overtook one of its own name"));
            }
            self.model.occupy(&set);
            self.running.push((needs, set));
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        self.model.forget();
        for rule in RULES {
            let (found, expected) = (self.pools.used(rule), self.model.used(rule));
            if found != expected {
                return Err(format!("{found} run under {rule}, and should be {expected}"));
            }
        }
        if self.pools.waiting() != self.model.waiting.len() {
            return Err(format!("{} wait, and should be {}", self.pools.waiting(), self.model.waiting.len()));
        }
        match self.model.waiting.iter().find(|(_, set, _)| self.model.has_room(set)) {
            Some((_, set, _)) => Err(format!("somebody waits for {set:?} although there is room")),
            None => Ok(()),
        }
    }

    /// Everybody leaves; nothing stays behind.
    fn end(mut self) -> Result<(), String> {
        while !(self.running.is_empty() && self.model.waiting.is_empty()) {
            if self.dice.random_bool(0.5) {
                self.give_back()?
            } else {
                self.cancel()?
            }
            self.check()?;
        }
        let Pools { pools, queues, waiting, served, .. } = &self.pools;
        if pools.is_empty() && queues.is_empty() && waiting.is_empty() && served.is_empty() {
            return Ok(());
        }
        Err(format!("left behind: {:?}", self.pools))
    }
}

#[test]
fn interleavings() {
    for seed in 0..INTERLEAVINGS {
        let mut simulation = Simulation::new(seed);
        let ran = (0..STEPS).try_for_each(|_| simulation.step()).and_then(|()| simulation.end());
        if let Err(error) = ran {
            panic!("seed {seed}: {error}");
        }
    }
}

fn need(rule: &str, limit: u32) -> Need {
    Need::rule(rule.into(), limit, 1)
}

#[test]
fn what_is_only_counted_is_never_stopped() {
    let mut pools = Pools::default();
    let needs = [need("a", 1), need("b", 3)];
    let joined: Vec<_> = (0..3).map(|_| pools.join(&needs)).collect();
    let full: Vec<usize> = joined.iter().map(|(_, full)| full.len()).collect();
    assert_eq!(full, [0, 1, 1]);
    assert_eq!(pools.join(&needs).1.len(), 2);
    assert_eq!((pools.used("a"), pools.used("b")), (4, 4));
    joined.iter().for_each(|(taken, _)| pools.give_back(&taken.needs));
    assert_eq!(pools.used("a"), 1);
}

#[test]
fn a_limit_of_nothing_lets_nobody_in() {
    let mut pools = Pools::default();
    assert!(pools.take(&[need("a", 0)]).is_none());
    assert!(pools.pools.is_empty());
}

/// A gate at which a rule sets a threshold of 20, and 200 who wait for it.
struct Crowd {
    pools: Pools,
    now: Instant,
    running: Vec<Grant>,
}

const AT: Slot = Slot(3);

impl Crowd {
    fn new(needs: &[Need]) -> Crowd {
        let now = Instant::now();
        let mut crowd = Crowd { pools: Pools::new(Arc::default(), now), now, running: Vec::new() };
        assert_eq!(crowd.sample(Flow::Open, Some(21.0)), 0);
        assert!(crowd.pools.take(needs).is_none());
        for _ in 0..200 {
            crowd.pools.queue(needs, Waiter { user: b"batch"[..].into(), name: "batch".into(), weight: 1.0 });
        }
        crowd
    }

    /// A sample later: how many more run.
    fn sample(&mut self, flow: Flow, value: Option<f64>) -> usize {
        self.later(250);
        self.pools.set_flow(AT, flow, value);
        self.release()
    }

    fn later(&mut self, ms: u64) {
        self.now += Duration::from_millis(ms);
        self.pools.turn_to(self.now);
    }

    fn release(&mut self) -> usize {
        self.pools.release();
        let served = self.pools.take_served();
        let more = served.len();
        self.running.extend(served.into_iter().map(|(_, grant)| grant));
        more
    }
}

#[test]
fn a_rules_threshold_opens_well_under_it_and_lets_out_no_herd() {
    let at_it = [Need::under(AT, 20.0, 16.0)];
    let at_both = [Need::under(AT, 20.0, 16.0), Need::gate(AT)];
    // The metric has fallen, or nobody knows it any more and the gate is open.
    for (needs, opens) in [(&at_it[..], Some(16.0)), (&at_both, Some(16.0)), (&at_it, None)] {
        let mut crowd = Crowd::new(needs);
        for (flow, value) in [(Flow::Open, Some(19.0)), (Flow::Open, Some(16.1)), (Flow::Trickle(1.0), None)] {
            assert_eq!(crowd.sample(flow, value), 0, "{value:?}");
        }
        crowd.sample(Flow::Waking, Some(1.0));
        assert!(crowd.running.is_empty(), "nobody has looked");
        let mut steps = 0;
        while crowd.pools.waiting() > 0 {
            let before = crowd.running.len() as f64;
            let more = crowd.sample(Flow::Open, opens);
            assert!(more >= 1 && more as f64 <= (before * 0.5).max(1.0) + 1.0, "{before} and {more} more");
            assert!(crowd.pools.take(needs).is_none() || crowd.pools.waiting() == 0, "nobody overtakes them");
            steps += 1;
        }
        assert!((8..20).contains(&steps), "{steps}");
        // Nobody waits any more: it is open, and closes over the threshold again.
        crowd.later(250);
        assert!((0..100).all(|_| crowd.pools.take(needs).is_some()));
        crowd.sample(Flow::Open, Some(20.0));
        assert!(crowd.pools.take(needs).is_some());
        crowd.sample(Flow::Open, Some(20.1));
        assert!(crowd.pools.take(needs).is_none());
    }
}

#[test]
fn steps_of_a_rules_threshold_do_not_wait_for_samples_that_are_rare() {
    let mut crowd = Crowd::new(&[Need::under(AT, 20.0, 16.0)]);
    assert_eq!(crowd.sample(Flow::Open, Some(1.0)), 1);
    for (ms, more) in [(240, 0), (10, 1), (240, 0), (10, 1), (250, 1), (250, 2)] {
        crowd.later(ms);
        assert_eq!(crowd.release(), more, "{} run", crowd.running.len());
    }
    // It is too much again.
    assert_eq!(crowd.sample(Flow::Open, Some(21.0)), 0);
    crowd.later(10_000);
    assert_eq!(crowd.release(), 0);
    // What has ended makes room for others, and for no more.
    crowd.sample(Flow::Open, Some(1.0));
    let ended = crowd.running.pop().unwrap();
    crowd.pools.give_back(&ended.needs);
    assert_eq!(crowd.release(), 1);
    assert_eq!(crowd.release(), 0);
}

#[test]
fn lines_of_gates_that_are_all_open_are_told_apart() {
    let (lag, threads, other) = (Slot(0), Slot(1), Slot(2));
    let full = need("full", 0);
    for (needs, restricting, awaited) in [
        (vec![Need::gate(lag), Need::gate(threads)], 0, lag.bit() | threads.bit()),
        (vec![Need::gate(lag), Need::gate(threads)], lag.bit(), 0),
        (vec![Need::gate(lag), Need::gate(threads)], other.bit(), lag.bit() | threads.bit()),
        (vec![Need::under(lag, 2.0, 1.6), Need::gate(threads)], lag.bit(), 0),
        (vec![Need::under(lag, 2.0, 1.6), Need::gate(threads)], 0, threads.bit()),
        (vec![], 0, 0),
    ] {
        let mut pools = Pools::default();
        let needs: Vec<Need> = needs.into_iter().chain([full.clone()]).collect();
        pools.queue(&needs, Waiter { user: b"u"[..].into(), name: "n".into(), weight: 1.0 });
        assert_eq!(pools.awaited_without(restricting), awaited, "{needs:?}, {restricting:b}");
    }
}
