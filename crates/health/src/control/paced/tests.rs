use super::*;
use crate::board::Replica;

struct Stage {
    law: Paced,
    start: Instant,
    seconds: f64,
    committed: f64,
}

impl Stage {
    fn new(law: Paced) -> Stage {
        Stage { law, start: Instant::now(), seconds: 0.0, committed: 0.0 }
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
            work: work(self.committed),
            waiting,
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
fn the_slowest_replica_counts() {
    let mut stage = Stage::new(Paced::default());
    let mut pace = None;
    for _ in 0..12 {
        let (slow, fast) = (300.0 * (stage.seconds + 0.25), 900.0 * (stage.seconds + 0.25));
        let committed = fast + 1800.0 - stage.committed;
        pace = stage.sample(committed, 1, &[(fast, 2.0), (slow, 2.0)]);
    }
    assert!(pace.unwrap().transactions_a_second() < 300.0, "{pace:?}");
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
    assert_eq!(stage.law.glance(work(10.0 + 19.0), later), None);
    assert!(stage.law.glance(work(10.0 + 21.0), later).is_some());
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
