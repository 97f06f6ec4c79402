//! A primary, a replica that applies one transaction after the other, writers that always want more, and the proxy's
//! view of them: only its own commits, its heartbeats, and what the replica shows.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use health::valve::Charge;
use health::{
    Beats, Board, BuiltIn, Control, Flow, Gate, Observation, Over, Reading, Report, Scope, Settings, Valve, Work,
    WorkLog,
};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

#[derive(Clone)]
pub(crate) struct Storm {
    /// `None`: no gate.
    pub(crate) control: Option<Control>,
    pub(crate) heartbeat: bool,
    /// Without a heartbeat: lag is told in whole seconds, as MariaDB does.
    pub(crate) whole_seconds: bool,
    pub(crate) threshold: f64,
    pub(crate) over: Over,
    /// There is another replica that applies nothing.
    pub(crate) one_is_stuck: bool,
    pub(crate) seconds: u64,
    /// In parts of a second: nothing can be quicker than a step.
    pub(crate) steps: u64,
    pub(crate) writers: usize,
    /// Of one write on an idle primary, and how many a second it can do.
    pub(crate) service: f64,
    pub(crate) primary: f64,
    /// Seconds of the replica's time a transaction and a row take, by the second of the run.
    pub(crate) price: fn(f64) -> (f64, f64),
    /// How much the replica's speed changes from second to second, as a part.
    pub(crate) noise: f64,
    /// Writes a second that do not come through the proxy.
    pub(crate) around: f64,
    /// Writes a second that come through the proxy and that the gate does not concern.
    pub(crate) beside: f64,
    /// Rows of a write, given a number from 0 to 1.
    pub(crate) rows: fn(f64) -> f64,
    /// At this second one write of so many rows.
    pub(crate) large: Option<(f64, f64)>,
}

impl Default for Storm {
    fn default() -> Self {
        Storm {
            control: Some(Control::Paced),
            heartbeat: true,
            whole_seconds: false,
            threshold: 5.0,
            over: Over::Max,
            one_is_stuck: false,
            seconds: 150,
            steps: 1000,
            writers: 64,
            service: 0.005,
            primary: 5000.0,
            price: |_| (0.001, 0.0),
            noise: 0.2,
            around: 0.0,
            beside: 0.0,
            rows: |_| 1.0,
            large: None,
        }
    }
}

/// What came of it, in seconds and as a part of what the replica could have applied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Figures {
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) most: f64,
    pub(crate) first_peak: f64,
    pub(crate) used: f64,
    /// The largest growth of what is in flight from one sample to the next, after the first time the gate was closed.
    pub(crate) growth: f64,
}

enum Item {
    Write { rows: f64, committed: f64 },
    Beat { number: u64, committed: f64 },
}

struct Running {
    ends: f64,
    rows: f64,
    charge: Option<Charge>,
    began: f64,
}

pub(crate) fn run(storm: &Storm, seed: u64) -> Figures {
    let mut dice = SmallRng::seed_from_u64(seed);
    let epoch = Instant::now();
    let at = |seconds: f64| epoch + Duration::from_secs_f64(seconds);
    let settings = storm.control.map(|control| Settings {
        control,
        max_closed: None,
        scope: Scope { over: storm.over, ignore_worst: 0 },
        ..Settings::new(BuiltIn::ReplicationLag, storm.threshold)
    });
    let interval = settings.as_ref().map_or(0.25, |settings| settings.interval.as_secs_f64());
    let mut gate = settings.clone().map(Gate::new);
    let (mut valve, mut board, mut beats) = (Valve::default(), Board::default(), Beats::default());
    let mut queue: VecDeque<Item> = VecDeque::new();
    let mut running: Vec<Running> = Vec::new();
    let mut waiting = storm.writers;
    let (mut work, mut busy, mut speed, mut free_at) = (Work::NONE, 0.0_f64, 1.0, 0.0_f64);
    let (mut shown, mut number, mut next_beat, mut next_sample) = (0_u64, 0_u64, 0.0, 0.0);
    let mut lags = Vec::new();
    let (mut closed_once, mut at_sample, mut growth) = (false, 0.0_f64, 0.0_f64);
    let mut large = storm.large;
    let mut log = WorkLog::default();
    let a_step = 1.0 / storm.steps as f64;
    for step in 0..storm.seconds * storm.steps {
        let now = step as f64 * a_step;
        if step % storm.steps == 0 {
            speed = (1.0 + storm.noise * (dice.random::<f64>() * 2.0 - 1.0)).max(0.2);
        }
        // The primary.
        let ended: Vec<usize> = (0..running.len()).rev().filter(|at| running[*at].ends <= now).collect();
        for index in ended {
            let done = running.swap_remove(index);
            work = work + Work { transactions: 1.0, rows: done.rows };
            queue.push_back(Item::Write { rows: done.rows, committed: now });
            valve.learn(done.rows);
            if let Some(charge) = done.charge {
                valve.settle(charge, Work { transactions: 1.0, rows: done.rows });
            }
            valve.ended(Duration::from_secs_f64(now - done.began), at(now));
            waiting += 1;
        }
        if dice.random::<f64>() < storm.around * a_step {
            queue.push_back(Item::Write { rows: (storm.rows)(dice.random()), committed: now });
        }
        if dice.random::<f64>() < storm.beside * a_step {
            let rows = (storm.rows)(dice.random());
            work = work + Work { transactions: 1.0, rows };
            queue.push_back(Item::Write { rows, committed: now });
        }
        if now >= next_beat {
            next_beat += interval;
            number += 1;
            beats.wrote(number, at(now), work);
            queue.push_back(Item::Beat { number, committed: now });
        }
        // The replica.
        let (transaction, row) = (storm.price)(now);
        while let Some(item) = queue.front() {
            if free_at > now {
                break;
            }
            let (committed, takes) = match item {
                Item::Beat { committed, .. } => (*committed, 0.0),
                Item::Write { rows, committed } => (*committed, (transaction + row * rows) / speed),
            };
            if let Item::Beat { number, .. } = item {
                shown = *number;
            }
            let start = free_at.max(committed);
            free_at = start + takes;
            busy += takes;
            queue.pop_front();
        }
        let lag = match queue.front() {
            Some(Item::Beat { committed, .. } | Item::Write { committed, .. }) => now - committed,
            None => 0.0,
        };
        lags.push((now, lag));
        // The proxy.
        log.note(at(now), work);
        if now >= next_sample {
            next_sample += interval;
            if let (Some(gate), Some(settings)) = (&mut gate, &settings) {
                let known = beats.shown(shown, at(now));
                let (reading, applied) = if storm.heartbeat {
                    (known.map_or(0.0, |shown| shown.lag.as_secs_f64()), known.map(|shown| shown.applied))
                } else {
                    // What performance_schema shows: the age of what is being applied.
                    let lag = if storm.whole_seconds { lag.floor() } else { lag };
                    (lag, log.at(at(now - lag)))
                };
                board.report(Report {
                    metric: settings.metric.clone(),
                    server: "replica".into(),
                    reading: Reading::of(reading),
                    at: at(now),
                    applied,
                });
                if storm.one_is_stuck {
                    board.report(Report {
                        metric: settings.metric.clone(),
                        server: "stuck".into(),
                        reading: Reading::of(1000.0 + now),
                        at: at(now),
                        applied: Some(Work::NONE),
                    });
                }
                let fresh = health::board::Fresh { now: at(now), stale_after: settings.stale_after, not_before: None };
                let replicas = board.replicas(&settings.metric, settings.scope, fresh);
                let in_flight = running.len() as f64;
                let flow = gate.observe(&Observation {
                    now: at(now),
                    aggregate: board.aggregate(&settings.metric, settings.scope, fresh),
                    replicas: &replicas,
                    work,
                    in_flight,
                    ran: valve.ran(),
                    waiting,
                    asleep: false,
                });
                valve.committed(work, at(now));
                valve.set(flow, at(now));
                if closed_once {
                    growth = growth.max(in_flight - at_sample);
                }
                at_sample = in_flight;
                closed_once |= matches!(flow, Flow::Trickle(_));
            }
        }
        loop {
            if let Some(flow) = gate.as_mut().and_then(|gate| gate.glance(work, running.len() as f64, at(now))) {
                valve.set(flow, at(now));
            }
            if waiting == 0 || !valve.has_room(at(now), running.len() as f64) {
                break;
            }
            waiting -= 1;
            let charge = valve.take();
            let takes = storm.service.max((running.len() + 1) as f64 / storm.primary);
            let rows = match large {
                Some((when, rows)) if now >= when => {
                    large = None;
                    rows
                }
                _ => (storm.rows)(dice.random()),
            };
            running.push(Running { ends: now + takes, rows, charge, began: now });
        }
    }
    let mut after: Vec<f64> = lags.iter().filter(|(now, _)| *now > 30.0).map(|(_, lag)| *lag).collect();
    after.sort_by(f64::total_cmp);
    let rank = |part: f64| after[(after.len() as f64 * part) as usize];
    Figures {
        p50: rank(0.5),
        p99: rank(0.99),
        most: *after.last().unwrap(),
        first_peak: lags.iter().filter(|(now, _)| *now <= 30.0).map(|(_, lag)| *lag).fold(0.0, f64::max),
        used: busy / storm.seconds as f64,
        growth,
    }
}
