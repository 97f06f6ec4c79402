use super::*;
use crate::board::Replica;

struct Stage {
    law: Paced,
    start: Instant,
    seconds: f64,
    committed: f64,
    in_flight: f64,
    over: Over,
}

impl Stage {
    fn new(law: Paced) -> Stage {
        Stage { law, start: Instant::now(), seconds: 0.0, committed: 0.0, in_flight: 0.0, over: Over::Max }
    }

    fn now(&self) -> Instant {
        self.start + Duration::from_secs_f64(self.seconds)
    }

    /// A sample later so much more was committed, and each replica has applied this much, with this lag.
    fn sample(&mut self, committed: f64, waiting: usize, replicas: &[(f64, f64)]) -> Option<Pace> {
        self.seconds += 0.25;
        self.committed += committed;
        let work = |transactions| Work { transactions, rows: transactions };
        let replica = |(n, (applied, lag)): (usize, &(f64, f64))| Replica {
            server: format!("replica-{n}").into(),
            lag: *lag,
            applied: Some(work(*applied)),
            at: self.now(),
        };
        let replicas: Vec<Replica> = replicas.iter().enumerate().map(replica).collect();
        let backlog = Backlog {
            replicas: &replicas,
            over: self.over,
            work: work(self.committed),
            waiting,
            in_flight: self.in_flight,
            threshold: 5.0,
            interval: Duration::from_millis(250),
            now: self.now(),
        };
        self.law.observe(&backlog)
    }

    /// A replica that applies so many a second and is this far behind.
    fn behind(&mut self, speed: f64, lag: f64) -> Pace {
        let mut pace = None;
        for _ in 0..12 {
            let applied = speed * (self.seconds + 0.25);
            let committed = applied + speed * lag - self.committed;
            pace = self.sample(committed, 1, &[(applied, lag)]);
        }
        pace.unwrap()
    }
}

#[test]
fn the_wait_is_held_at_its_target() {
    for (wait, faster) in [(0.6, 1.28), (2.0, 1.0), (4.5, 0.5)] {
        let pace = Stage::new(Paced::default()).behind(1000.0, wait);
        assert!((pace.budget - faster).abs() < 0.05, "{wait}: {pace:?}");
        let rate = pace.transactions_a_second();
        assert!((rate - 1000.0 * faster).abs() < 60.0, "{wait}: {rate}");
    }
}

#[test]
fn the_replica_counts_that_the_scope_says() {
    // One that applies 900 a second and has two seconds of them before it; one that applies 300, and more and more before it.
    for (over, rates) in [(Over::Max, 0.0..300.0), (Over::Min, 880.0..920.0), (Over::Avg, 0.0..300.0)] {
        let mut stage = Stage { over, ..Stage::new(Paced::default()) };
        let mut pace = None;
        for _ in 0..12 {
            let (slow, fast) = (300.0 * (stage.seconds + 0.25), 900.0 * (stage.seconds + 0.25));
            let committed = fast + 1800.0 - stage.committed;
            pace = stage.sample(committed, 1, &[(fast, 2.0), (slow, 2.0)]);
        }
        let rate = pace.unwrap().transactions_a_second();
        assert!(rates.contains(&rate), "{over}: {rate}");
    }
}

/// One keeps up, one applies nothing any more.
#[test]
fn the_best_replica_is_not_held_back_by_one_that_is_stuck() {
    let mut stage = Stage { over: Over::Min, ..Stage::new(Paced::default()) };
    for _ in 0..400 {
        let applied = stage.committed + 90.0;
        assert_eq!(stage.sample(90.0, 0, &[(applied, 0.1), (0.0, 1000.0)]), None);
    }
    // It falls behind: no faster than was borne, until it is known what it applies; then by that.
    let start = stage.committed;
    let mut rates = Vec::new();
    for n in 1..=12 {
        let applied = start + 100.0 * f64::from(n);
        let pace =
            stage.sample(start + 100.0 * f64::from(n) + 800.0 - stage.committed, 1, &[(applied, 2.0), (0.0, 1000.0)]);
        rates.push(pace.unwrap().transactions_a_second());
    }
    assert!(rates.iter().all(|rate| (80.0..=480.0).contains(rate)), "{rates:?}");
    assert!((rates[11] - 400.0).abs() < 30.0, "{rates:?}");
}

/// One keeps up; the other's wait may be twice what is wanted of both in the mean.
#[test]
fn the_mean_wait_is_held_at_its_target() {
    for (wait, faster) in [(2.0, 1.2), (4.0, 1.0), (8.0, 0.6)] {
        let mut stage = Stage { over: Over::Avg, ..Stage::new(Paced::default()) };
        let mut pace = None;
        for _ in 0..12 {
            let applied = 1000.0 * (stage.seconds + 0.25);
            let committed = applied + 1000.0 * wait - stage.committed;
            pace = stage.sample(committed, 1, &[(applied, wait), (applied + 1000.0 * wait, 0.1)]);
        }
        let rate = pace.unwrap().transactions_a_second();
        assert!((rate - 1000.0 * faster).abs() < 60.0, "{wait}: {rate}");
    }
}

#[test]
fn while_it_keeps_up_there_is_no_limit() {
    let mut stage = Stage::new(Paced::default());
    for _ in 0..40 {
        let committed = 90.0;
        let applied = stage.committed + committed;
        assert_eq!(stage.sample(committed, 0, &[(applied, 0.1)]), None);
    }
}

#[test]
fn a_rate_that_nobody_has_seen_borne_rises_by_steps() {
    let mut stage = Stage::new(Paced::default());
    stage.sample(10.0, 0, &[(0.0, 0.0)]);
    let mut rates = Vec::new();
    for _ in 0..9 {
        let applied = stage.committed + 5000.0;
        rates.push(stage.sample(5000.0, 40, &[(applied, 0.1)]).unwrap().transactions_a_second());
    }
    assert_eq!(rates, [400.0, 400.0, 400.0, 800.0, 800.0, 800.0, 1600.0, 1600.0, 1600.0]);
}

#[test]
fn a_crowd_that_comes_between_two_samples_is_seen() {
    let mut stage = Stage::new(Paced::default());
    stage.sample(10.0, 0, &[(10.0, 0.0)]);
    let later = stage.now() + Duration::from_millis(50);
    let work = |transactions| Work { transactions, rows: transactions };
    assert_eq!(stage.law.glance(work(10.0 + 19.0), 0.0, later), None);
    // What is under way will be committed, and is as large as they usually are.
    assert_eq!(stage.law.allows(work(10.0)), Some(20.0));
    assert_eq!(stage.law.glance(work(10.0 + 10.0), 9.0, later), None);
    assert!(stage.law.glance(work(10.0 + 10.0), 11.0, later).is_some());
    assert_eq!(stage.law.allows(work(10.0)), None, "there is a limit already");
    let large = Work { transactions: 20.0, rows: 20.0 * 39.0 };
    let mut stage = Stage::new(Paced::default());
    stage.sample(10.0, 0, &[(10.0, 0.0)]);
    assert!(stage.law.glance(large, 0.0, later).is_some());
}

#[test]
fn a_crowd_that_waited_for_the_first_sample_is_no_herd() {
    let mut stage = Stage::new(Paced::default());
    assert_eq!(stage.sample(0.0, 20, &[(0.0, 0.0)]), None);
    assert!(stage.sample(0.0, 21, &[(0.0, 0.0)]).is_some());
}

#[test]
fn a_rate_that_shows_is_taken_back_at_once() {
    let mut stage = Stage::new(Paced::default());
    stage.sample(10.0, 0, &[(10.0, 0.0)]);
    let rate = |pace: Option<Pace>| pace.unwrap().transactions_a_second();
    assert_eq!(rate(stage.sample(150.0, 40, &[(100.0, 0.1)])), 400.0);
    // Not yet two beats are missing, so it is not behind; but it does not keep up.
    assert_eq!(rate(stage.sample(100.0, 40, &[(150.0, 0.4)])), 200.0);
}

#[test]
fn before_a_replicas_speed_is_known_no_more_is_let_through_than_fits_before_it() {
    for (backlog, rate) in [(100.0, 200.0), (680.0, 0.0)] {
        let mut stage = Stage::new(Paced::default());
        stage.sample(10.0, 0, &[(10.0, 0.0)]);
        let pace = stage.sample(backlog * 5.0 / 2.0, 40, &[(10.0, 0.6)]).unwrap();
        assert!((pace.transactions_a_second() - rate).abs() < 5.0, "{backlog}: {pace:?}");
    }
}

#[test]
fn what_shows_at_once_took_as_long_as_nothing_showed() {
    // Everything was committed between two beats, so that for three seconds no beat shows; then one does.
    let mut stage = Stage::new(Paced::default());
    stage.sample(0.0, 0, &[(0.0, 0.0)]);
    stage.sample(900.0, 40, &[(0.0, 0.2)]);
    for n in 2..12 {
        stage.sample(0.0, 40, &[(0.0, 0.25 * f64::from(n))]);
    }
    let pace = stage.sample(0.0, 40, &[(600.0, 3.0)]).unwrap();
    let rate = 1.0 / pace.price.of(Work { transactions: 1.0, rows: 1.0 });
    assert!((rate - 220.0).abs() < 25.0, "600 in almost 3 s, not in the last quarter of one: {rate}");
}

#[test]
fn one_that_hangs_is_no_slow_one_for_ever() {
    let mut stage = Stage::new(Paced::default());
    stage.behind(1000.0, 2.0);
    let applied = 1000.0 * stage.seconds;
    for n in 0..40 {
        let pace = stage.sample(0.0, 40, &[(applied, 2.0 + 0.25 * f64::from(n))]).unwrap();
        // What it has before it takes at least as long as it has hung already.
        assert!(n < 20 || pace.budget == 0.0, "{n}: {pace:?}");
    }
    let guarded = stage.sample(0.0, 1, &[(stage.committed, 0.0)]).unwrap();
    assert!(guarded.transactions_a_second() > 500.0, "it went at 1,000 before: {guarded:?}");
}

#[test]
fn what_was_borne_is_remembered() {
    let mut stage = Stage::new(Paced::remembering(50.0));
    stage.sample(0.0, 0, &[(0.0, 0.0)]);
    let pace = stage.sample(100.0, 40, &[(100.0, 0.1)]).unwrap();
    assert_eq!(pace.transactions_a_second(), 100.0);
    let mut stage = Stage::new(Paced::default());
    stage.behind(80.0, 2.0);
    assert!((stage.law.borne() - 80.0).abs() < 5.0, "{}", stage.law.borne());
    let guarded = stage.sample(0.0, 1, &[(stage.committed, 0.0)]).unwrap();
    assert!(guarded.transactions_a_second() < 100.0, "an overload is expected again");
}

#[test]
fn what_ran_before_the_sample_is_no_crowd() {
    let mut stage = Stage::new(Paced::default());
    stage.in_flight = 30.0;
    stage.sample(10.0, 0, &[(10.0, 0.0)]);
    let work = Work { transactions: 10.0, rows: 10.0 };
    assert_eq!(stage.law.glance(work, 45.0, stage.now()), None);
    assert!(stage.law.glance(work, 55.0, stage.now()).is_some());
}

/// It is behind with writes that go around us, and has done all of ours.
#[test]
fn what_is_not_ours_neither_stops_us_nor_makes_it_slow() {
    let mut stage = Stage::new(Paced::default());
    stage.behind(1000.0, 2.0);
    for _ in 0..400 {
        let pace = stage.sample(0.0, 1, &[(stage.committed, 3.0)]).unwrap();
        assert!(pace.budget > 1.0 && pace.transactions_a_second() > 500.0, "{pace:?}");
    }
    // The first of ours after a long time is no slow one.
    let applied = stage.committed;
    stage.sample(10.0, 1, &[(applied, 3.0)]);
    stage.sample(0.0, 1, &[(applied + 10.0, 3.0)]);
    assert!(stage.law.borne() > 100.0, "{}", stage.law.borne());
}

#[test]
fn one_that_is_far_away_keeps_up_if_nothing_piles_up() {
    let mut stage = Stage::new(Paced::default());
    stage.sample(10.0, 0, &[(10.0, 0.4)]);
    let mut rates = Vec::new();
    for _ in 0..60 {
        // A beat and a half late, always.
        let applied = stage.committed;
        rates.push(stage.sample(150.0, 40, &[(applied, 0.4)]).unwrap().transactions_a_second());
    }
    assert_eq!(rates[..10], [200.0; 10]);
    assert!(rates[59] > 800.0, "{rates:?}");
}
