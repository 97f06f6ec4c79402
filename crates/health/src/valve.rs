//! A flow, unit by unit: whether the next one may go now, and what it takes from those after it.

use std::time::{Duration, Instant};

use crate::appliers::Price;
use crate::control::paced::Pace;
use crate::gate::Flow;
use crate::work::Work;

/// Of what is given out, how much may be taken by what does not come through here. A single large one beside is felt in the
/// backlog anyhow; it must not be paid for twice.
const BESIDE: f64 = 0.9;

/// Between two, where one at a time is too much. After a long one there is no long rest.
const LONGEST_REST: Duration = Duration::from_secs(1);

/// What may be saved up.
const BURST: Duration = Duration::from_millis(50);

/// What may be owed, as the time in which it is made good. What a large unit costs beyond it is felt in the backlog, if it is true:
/// what a server counts as changed need not be what a replica has to do.
const DEBT: Duration = Duration::from_secs(1);

/// How much one more unit changes what the next is expected to be, once there were some.
const LEARNS: f64 = 0.05;

/// No unit is taken for more than so many times of what one usually is.
const UNUSUAL: f64 = 20.0;

/// What one is taken to run for at first.
const SHORT: f64 = 0.001;

/// However short they are, one may take this. Not more: before a quick server twenty times a millisecond are counted as three hundred
/// statements, and for as long as these would have taken everybody rests.
const SHORTEST: f64 = 0.000_1;

#[derive(Debug)]
pub struct Valve {
    flow: Flow,
    /// So many a second go whatever else runs, where there are only so many at once.
    trickle: f64,
    /// Of the pace's budget, or of the trickle's units. In debt after a unit that was larger than expected.
    tokens: f64,
    filled: Option<Instant>,
    /// When the last of a trickle went.
    trickled: Option<Instant>,
    /// What has come through here.
    through: Work,
    /// All that had been committed, and what of it had come through here, at the last look.
    looked: Option<(Instant, Work, Work)>,
    /// Rows in the transactions so far.
    mean_rows: f64,
    learnt: u32,
    /// One at a time, and after this one a rest.
    rest: Option<Rest>,
    /// The seconds that statements ran, all added up, and how long one of late.
    ran: f64,
    mean_ran: f64,
}

/// After one that began then, and ran for so long, of which so many seconds were counted.
#[derive(Debug, Clone, Copy)]
struct Rest {
    from: Instant,
    ran: Duration,
    counted: f64,
}

/// What a unit was charged when it went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Charge {
    price: Price,
    expected: f64,
}

impl Default for Valve {
    fn default() -> Self {
        Valve {
            flow: Flow::Open,
            trickle: 0.0,
            tokens: 0.0,
            filled: None,
            trickled: None,
            through: Work::NONE,
            looked: None,
            mean_rows: 1.0,
            learnt: 0,
            rest: None,
            ran: 0.0,
            mean_ran: SHORT,
        }
    }
}

impl Valve {
    pub fn flow(&self) -> Flow {
        self.flow
    }

    /// The seconds that statements ran, all added up, as far as they were [told](Valve::ended).
    pub fn ran(&self) -> f64 {
        self.ran
    }

    /// Where there are only so many at once, those who nobody may hold can be as many already: so many a second go all the same.
    pub fn set_trickle(&mut self, rate: f64) {
        self.trickle = rate;
    }

    pub fn set(&mut self, flow: Flow, now: Instant) {
        self.fill(now);
        match (self.flow, flow) {
            // Debt is of the replica's time, however fast it goes.
            (Flow::Paced(one), Flow::Paced(two)) if alike(one.price, two.price) => {}
            (Flow::Trickle(_), Flow::Trickle(_)) | (Flow::AtOnce(_), Flow::AtOnce(_)) => {}
            (_, Flow::Trickle(rate)) => self.tokens = self.trickle_by(rate, now),
            _ => self.tokens = 0.0,
        }
        self.flow = flow;
        self.filled = Some(now);
        if !matches!(flow, Flow::AtOnce(_)) {
            self.rest = None;
        }
        self.tokens = self.tokens.min(self.most());
    }

    /// The first of a trickle goes at once, but not sooner after the last one of a trickle before: a metric that goes to and fro over
    /// its threshold would let one through each time.
    fn trickle_by(&self, rate: f64, now: Instant) -> f64 {
        if rate <= 0.0 {
            return 0.0;
        }
        self.trickled.map_or(1.0, |last| (rate * now.saturating_duration_since(last).as_secs_f64()).min(1.0))
    }

    /// All that has been committed by now. What did not come through here, because nobody may hold it, takes of the same
    /// replica's time, so there is less for those who wait.
    pub fn committed(&mut self, work: Work, now: Instant) {
        self.fill(now);
        let Some((last, committed, through)) = self.looked.replace((now, work, self.through)) else { return };
        if let Flow::Paced(pace) = self.flow {
            let beside = (work - committed) - (self.through - through);
            let given = pace.budget * now.saturating_duration_since(last).as_secs_f64();
            self.tokens -= pace.price.of(beside).min(BESIDE * given);
            self.tokens = self.tokens.max(most_owed(pace));
        }
    }

    pub fn has_room(&mut self, now: Instant, in_flight: f64) -> bool {
        self.fill(now);
        self.would_have_room(now, in_flight)
    }

    /// As far as it has been filled.
    pub fn would_have_room(&self, now: Instant, in_flight: f64) -> bool {
        match self.flow {
            Flow::Open => true,
            Flow::Waking => false,
            Flow::Paced(_) => self.tokens > 0.0,
            Flow::Trickle(_) => self.tokens >= 1.0,
            Flow::AtOnce(pool) => {
                let rested = self.pause().is_none_or(|pause| now >= pause);
                (in_flight + 1.0 <= pool.max(1.0) && rested) || self.tokens >= 1.0
            }
        }
    }

    /// When somebody might go who may not now, if nobody gives anything back before.
    pub fn next(&self, now: Instant) -> Option<Instant> {
        let after = |missing: f64, rate: f64| {
            if rate <= 0.0 {
                return None;
            }
            let wait = Duration::try_from_secs_f64((missing / rate).max(0.0)).ok()?;
            now.checked_add(wait)
        };
        match self.flow {
            Flow::Open | Flow::Waking => None,
            Flow::Paced(pace) => after(-self.tokens, pace.budget),
            Flow::Trickle(rate) => after(1.0 - self.tokens, rate),
            // A pause that is over is nothing to wait for: then it is for who runs to end.
            Flow::AtOnce(_) => {
                let pause = self.pause().filter(|pause| *pause > now);
                pause.into_iter().chain(after(1.0 - self.tokens, self.trickle)).min()
            }
        }
    }

    /// It goes.
    pub fn take(&mut self) -> Option<Charge> {
        match self.flow {
            Flow::Open | Flow::Waking => None,
            Flow::AtOnce(_) => {
                if self.tokens >= 1.0 {
                    self.trickled = self.filled;
                }
                // It is for when nobody went.
                self.tokens = 0.0;
                None
            }
            Flow::Trickle(_) => {
                self.tokens -= 1.0;
                self.trickled = self.filled;
                None
            }
            Flow::Paced(Pace { price, .. }) => {
                let expected = price.of(Work { transactions: 1.0, rows: self.mean_rows });
                self.tokens -= expected;
                Some(Charge { price, expected })
            }
        }
    }

    /// What it came to.
    pub fn settle(&mut self, charge: Charge, work: Work) {
        self.through = self.through + work;
        let Flow::Paced(pace) = self.flow else { return };
        if alike(pace.price, charge.price) {
            self.tokens = (self.tokens + charge.expected - charge.price.of(work)).max(most_owed(pace));
        }
    }

    /// A transaction had so many rows.
    pub fn learn(&mut self, rows: f64) {
        self.learnt = self.learnt.saturating_add(1);
        let rows = rows.min(UNUSUAL * self.mean_rows.max(1.0));
        self.mean_rows += LEARNS.max(1.0 / f64::from(self.learnt)) * (rows - self.mean_rows);
    }

    /// One that ran for so long has ended.
    pub fn ended(&mut self, ran: Duration, now: Instant) {
        // One that waited for a lock until it gave up says nothing of what a second of running brings about.
        let counted = ran.as_secs_f64().min(UNUSUAL * self.mean_ran.max(SHORTEST));
        self.ran += counted;
        self.mean_ran += LEARNS * (counted - self.mean_ran);
        if let Flow::AtOnce(pool) = self.flow
            && pool < 1.0
        {
            // Clocks do not ring by the microsecond: whoever was called late makes up for it.
            let began = now.checked_sub(ran).unwrap_or(now);
            let late = self.pause().map_or(Duration::ZERO, |due| began.saturating_duration_since(due)).min(BURST);
            self.rest = began.checked_sub(late).map(|from| Rest { from, ran, counted });
        }
    }

    /// Where one at a time is too much: when the next may go, by how many there may be now. A pool that was small for a moment is no
    /// reason to rest for long.
    fn pause(&self) -> Option<Instant> {
        let Flow::AtOnce(pool) = self.flow else { return None };
        let Rest { from, ran, counted } = self.rest.filter(|_| pool < 1.0)?;
        // By what was counted of it: the pool is made from that, and what is too long to be counted is nobody's turn.
        let turn = Duration::try_from_secs_f64(counted / pool).unwrap_or(Duration::MAX);
        from.checked_add(turn.min(ran.saturating_add(LONGEST_REST)))
    }

    /// Time has passed.
    pub fn fill(&mut self, now: Instant) {
        let rate = match self.flow {
            Flow::Paced(pace) => pace.budget,
            Flow::Trickle(rate) => rate,
            Flow::AtOnce(_) => self.trickle,
            Flow::Open | Flow::Waking => return,
        };
        let since = self.filled.replace(now).unwrap_or(now);
        let more = rate * now.saturating_duration_since(since).as_secs_f64();
        self.tokens = (self.tokens + more).min(self.most());
    }

    fn most(&self) -> f64 {
        match self.flow {
            Flow::Paced(pace) => pace.budget * BURST.as_secs_f64(),
            Flow::Trickle(_) | Flow::AtOnce(_) => 1.0,
            Flow::Open | Flow::Waking => f64::MAX,
        }
    }
}

/// As tokens, so under zero.
fn most_owed(pace: Pace) -> f64 {
    -pace.budget * DEBT.as_secs_f64()
}

/// Both in a replica's time, or both in what nobody knows the time of.
fn alike(one: Price, two: Price) -> bool {
    (one == Price::UNKNOWN) == (two == Price::UNKNOWN)
}

#[cfg(test)]
mod tests;
