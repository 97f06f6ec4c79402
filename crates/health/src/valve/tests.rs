use super::*;

fn paced(budget: f64, transaction: f64, row: f64) -> Flow {
    Flow::Paced(Pace { budget, price: Price { transaction, row } })
}

/// How many go in so many seconds, if somebody always waits.
fn released(valve: &mut Valve, start: Instant, seconds: u64, mut work: impl FnMut(&mut Valve, Option<Charge>)) -> u32 {
    let mut count = 0;
    for ms in 0..seconds * 1000 {
        while valve.has_room(start + Duration::from_millis(ms), 0.0) {
            let charge = valve.take();
            work(valve, charge);
            count += 1;
        }
    }
    count
}

#[test]
fn a_pace_is_kept_in_the_replicas_time() {
    let start = Instant::now();
    for (budget, rows, price, due) in
        [(1.0, 1.0, (0.002, 0.0), 5000), (0.5, 1.0, (0.001, 0.001), 2500), (1.0, 50.0, (0.0, 0.001), 200)]
    {
        let mut valve = Valve::default();
        valve.set(paced(budget, price.0, price.1), start);
        let count = released(&mut valve, start, 10, |valve, charge| {
            valve.settle(charge.unwrap(), Work { transactions: 1.0, rows });
            valve.learn(rows);
        });
        assert!(count.abs_diff(due) <= due / 20, "{count} of {due}");
    }
}

#[test]
fn what_was_larger_than_expected_is_paid_for_later() {
    let start = Instant::now();
    let mut valve = Valve::default();
    valve.set(paced(1.0, 0.001, 0.001), start);
    assert!(valve.has_room(start + Duration::from_millis(10), 0.0));
    let charge = valve.take().unwrap();
    valve.settle(charge, Work { transactions: 1.0, rows: 700.0 });
    assert!(!valve.has_room(start + Duration::from_millis(690), 0.0));
    assert!(valve.has_room(start + Duration::from_millis(710), 0.0));
}

/// An UPDATE that matched a million rows and changed none, as some drivers have it counted.
#[test]
fn one_that_seems_enormous_holds_nobody_up_for_long() {
    let start = Instant::now();
    let mut valve = Valve::default();
    valve.set(paced(1.0, 0.001, 0.001), start);
    assert!(valve.has_room(start + Duration::from_millis(10), 0.0));
    let charge = valve.take().unwrap();
    valve.settle(charge, Work { transactions: 1.0, rows: 1e6 });
    valve.learn(1e6);
    assert!(!valve.has_room(start + Duration::from_millis(1000), 0.0));
    let later = start + Duration::from_millis(1020);
    assert!(valve.has_room(later, 0.0));
    valve.take();
    assert!(valve.has_room(later + Duration::from_millis(30), 0.0), "the next is not taken for as large");
}

/// Twenty run that nobody may hold, and the pool is of five.
#[test]
fn a_pool_that_others_fill_lets_a_trickle_through() {
    let start = Instant::now();
    for (trickle, due) in [(1.0, 10), (0.0, 0)] {
        let mut valve = Valve::default();
        valve.set_trickle(trickle);
        let mut count = 0;
        for ms in 0..=10_000 {
            let now = start + Duration::from_millis(ms);
            if ms % 250 == 0 {
                valve.set(Flow::AtOnce(5.0), now);
            }
            if valve.has_room(now, 20.0) {
                valve.take();
                count += 1;
            }
        }
        assert_eq!(count, due);
        let late = start + Duration::from_secs(10);
        assert_eq!(valve.next(late), (trickle > 0.0).then(|| late + Duration::from_secs(1)));
    }
    // It is for when nobody goes, and not on top.
    let mut valve = Valve::default();
    valve.set_trickle(1.0);
    valve.set(Flow::AtOnce(5.0), start);
    for seconds in 1..5 {
        assert!(valve.has_room(start + Duration::from_secs(seconds), 4.0));
        valve.take();
        assert!(!valve.has_room(start + Duration::from_secs(seconds), 5.0));
    }
}

#[test]
fn who_waited_long_for_nothing_counts_as_one_that_ran_long() {
    let start = Instant::now();
    let mut valve = Valve::default();
    for _ in 0..100 {
        valve.ended(Duration::from_millis(10), start);
    }
    let usual = valve.ran();
    assert!((usual - 1.0).abs() < 0.1, "{usual}");
    valve.ended(Duration::from_secs(50), start);
    assert!(valve.ran() - usual <= 0.2 + 1e-9, "{}", valve.ran() - usual);
    // Where all run long, that is soon believed.
    let before = valve.ran();
    for _ in 0..100 {
        valve.ended(Duration::from_secs(5), start);
    }
    assert!(valve.ran() - before > 400.0, "{}", valve.ran() - before);
}

#[test]
fn one_that_came_to_nothing_costs_nothing() {
    let start = Instant::now();
    let mut valve = Valve::default();
    valve.set(paced(1.0, 10.0, 0.0), start);
    assert!(valve.has_room(start + Duration::from_millis(10), 0.0));
    let charge = valve.take().unwrap();
    assert!(!valve.has_room(start + Duration::from_millis(20), 0.0));
    valve.settle(charge, Work::NONE);
    assert!(valve.has_room(start + Duration::from_millis(20), 0.0));
}

#[test]
fn nothing_is_saved_up() {
    let start = Instant::now();
    let mut valve = Valve::default();
    valve.set(paced(1.0, 0.001, 0.0), start);
    let later = start + Duration::from_secs(100);
    let mut burst = 0;
    while valve.has_room(later, 0.0) {
        valve.take();
        burst += 1;
    }
    assert_eq!(burst, 50);
}

#[test]
fn a_trickle_is_one_at_once_and_then_at_its_rate() {
    let start = Instant::now();
    let mut valve = Valve::default();
    valve.set(Flow::Trickle(1.0), start);
    assert_eq!(released(&mut valve, start, 10, |_, _| {}), 10);
    valve.set(Flow::Trickle(0.0), start + Duration::from_secs(10));
    let mut closed = Valve::default();
    closed.set(Flow::Trickle(0.0), start);
    assert_eq!(released(&mut closed, start, 10, |_, _| {}), 0, "none at all");
}

/// Four times a second over the threshold and under it again.
#[test]
fn a_trickle_that_comes_and_goes_is_no_more_than_a_trickle() {
    let start = Instant::now();
    for between in [paced(0.0, 1.0, 0.0), Flow::Waking, Flow::AtOnce(1.0)] {
        let mut valve = Valve::default();
        valve.set_trickle(1.0);
        let mut count = 0;
        for ms in 0..10_000 {
            let now = start + Duration::from_millis(ms);
            if ms % 125 == 0 {
                valve.set(if ms % 250 == 0 { Flow::Trickle(1.0) } else { between }, now);
            }
            if valve.has_room(now, 20.0) {
                valve.take();
                count += 1;
            }
        }
        assert!((9..=10).contains(&count), "{count}, {between}");
    }
}

#[test]
fn at_once_counts_and_under_one_pauses() {
    let start = Instant::now();
    let mut valve = Valve::default();
    valve.set(Flow::AtOnce(2.9), start);
    assert_eq!([0.0, 1.0, 2.0].map(|in_flight| valve.has_room(start, in_flight)), [true, true, false]);
    valve.set(Flow::AtOnce(0.25), start);
    assert_eq!([0.0, 1.0].map(|in_flight| valve.has_room(start, in_flight)), [true, false]);
    usually_take(&mut valve, Duration::from_millis(100), start);
    valve.ended(Duration::from_millis(100), start);
    assert!(!valve.has_room(start + Duration::from_millis(299), 0.0));
    assert_eq!(valve.next(start), Some(start + Duration::from_millis(300)));
    assert!(valve.has_room(start + Duration::from_millis(300), 0.0));
}

/// Statements were as long as this for a while.
fn usually_take(valve: &mut Valve, ran: Duration, now: Instant) {
    let flow = valve.flow();
    valve.set(Flow::Open, now);
    (0..200).for_each(|_| valve.ended(ran, now));
    valve.set(flow, now);
}

/// One in four hundred hangs for a while: it is taken for one that was rather long, and the others do not rest for as long as it hung.
#[test]
fn after_one_that_hung_there_is_no_long_rest() {
    for (usual, pool) in [(300, 0.12), (60, 0.024)] {
        let usual = Duration::from_micros(usual);
        let start = Instant::now();
        let mut valve = Valve::default();
        usually_take(&mut valve, usual, start);
        let counted = valve.ran();
        valve.set(Flow::AtOnce(pool), start);
        let (mut count, mut free, mut last, mut longest) = (0, start, start, Duration::ZERO);
        for ms in 0..10_000 {
            let now = start + Duration::from_millis(ms);
            while now >= free && valve.has_room(now, 0.0) {
                longest = longest.max(now.saturating_duration_since(last));
                count += 1;
                let ran = if count % 400 == 0 { Duration::from_millis(100) } else { usual };
                free = now + ran;
                last = free;
                valve.ended(ran, free);
            }
        }
        // As much as the pool was made for, by what was counted.
        let share = (valve.ran() - counted) / (10.0 * pool);
        assert!((0.95..1.05).contains(&share), "{share} of it, {count}");
        assert!(longest < Duration::from_millis(100), "{usual:?}: {longest:?}");
    }
}

/// For one sample hardly anybody was to go.
#[test]
fn a_rest_is_as_long_as_the_pool_says_now() {
    let start = Instant::now();
    let after = |ms: u64| start + Duration::from_millis(ms);
    let ran = Duration::from_micros(100);
    let mut valve = Valve::default();
    usually_take(&mut valve, ran, start);
    valve.set(Flow::AtOnce(1e-4), start);
    valve.ended(ran, start + ran);
    assert_eq!(valve.next(start + ran), Some(start + LONGEST_REST));
    assert!(!valve.has_room(after(100), 0.0));
    for (pool, room) in [(0.04, true), (5e-4, false), (1.0, true), (1e-4, false)] {
        valve.set(Flow::AtOnce(pool), after(100));
        assert_eq!(valve.has_room(after(100), 0.0), room, "{pool} at once");
    }
}

/// Each runs for 0.1 ms, and a twenty-fifth at once is 400 a second, though whoever releases them comes only every
/// millisecond.
#[test]
fn pauses_add_up_to_the_rate_whatever_the_clock() {
    let start = Instant::now();
    let mut valve = Valve::default();
    valve.set(Flow::AtOnce(0.04), start);
    let ran = Duration::from_micros(100);
    let mut count = 0;
    for ms in 0..10_000 {
        let now = start + Duration::from_millis(ms);
        if valve.has_room(now, 0.0) {
            count += 1;
            valve.ended(ran, now + ran);
        }
    }
    assert!((3990..=4010).contains(&count), "{count}");
    assert!((valve.ran() - f64::from(count) * 1e-4).abs() < 1e-6);
    // A long rest is not made up for by a crowd.
    let late = start + Duration::from_secs(60);
    let crowd = (0..100).map(|tenth| late + Duration::from_micros(100 * tenth)).filter(|now| {
        let room = valve.has_room(*now, 0.0);
        if room {
            valve.ended(ran, *now + ran);
        }
        room
    });
    assert!(crowd.count() <= 25, "50 ms of it, at the most");
}

#[test]
fn nobody_passes_while_nobody_has_looked() {
    let start = Instant::now();
    let mut valve = Valve::default();
    valve.set(Flow::Waking, start);
    assert!(!valve.has_room(start + Duration::from_secs(1000), 0.0));
    valve.set(Flow::Open, start);
    assert!(valve.has_room(start, 1e9));
}

#[test]
fn what_passes_beside_it_takes_of_the_same_time() {
    // Of a replica's 1,000 a second so many pass that nobody may hold; at most nine tenths are theirs.
    for (beside, due) in [(0.0, 1000), (400.0, 600), (5000.0, 100)] {
        let start = Instant::now();
        let mut valve = Valve::default();
        valve.set(paced(1.0, 0.001, 0.0), start);
        let (mut count, mut committed) = (0, Work::NONE);
        for ms in 0..10_000 {
            let now = start + Duration::from_millis(ms);
            if ms % 100 == 0 {
                committed = committed + Work { transactions: beside / 10.0, rows: 0.0 };
                valve.committed(committed, now);
            }
            while valve.has_room(now, 0.0) {
                let charge = valve.take().unwrap();
                let one = Work { transactions: 1.0, rows: 0.0 };
                valve.settle(charge, one);
                committed = committed + one;
                count += 1;
            }
        }
        assert!(f64::abs(f64::from(count) / 10.0 - f64::from(due)) < 25.0, "{beside}: {count} of {due} a second");
    }
}

/// Somebody looks again then; where nothing comes of looking, nobody need.
#[test]
fn when_the_next_might_go() {
    let start = Instant::now();
    let after = |ms| start + Duration::from_millis(ms);
    // The first of a trickle goes at once; a pace begins with nothing.
    for (flow, taken, due) in [
        (Flow::Open, 1, None),
        (Flow::Waking, 0, None),
        (Flow::Trickle(4.0), 0, Some(0)),
        (Flow::Trickle(4.0), 1, Some(250)),
        (Flow::Trickle(0.0), 0, None),
        (paced(0.5, 0.1, 0.0), 0, Some(0)),
        (paced(0.5, 0.1, 0.0), 1, Some(200)),
        // Nothing is given out until the replica has caught up.
        (paced(0.0, 0.1, 0.0), 0, None),
        (paced(0.0, 0.1, 0.0), 1, None),
        (Flow::AtOnce(2.0), 2, None),
    ] {
        let mut valve = Valve::default();
        valve.set(flow, start);
        for _ in 0..taken {
            valve.take();
        }
        assert_eq!(valve.next(start), due.map(after), "{flow:?} after {taken}");
    }
    // One that runs a quarter of the time: after 100 ms it rests for 300.
    let mut valve = Valve::default();
    usually_take(&mut valve, Duration::from_millis(100), start);
    valve.set(Flow::AtOnce(0.25), start);
    assert_eq!(valve.next(start), None, "it may go now");
    valve.ended(Duration::from_millis(100), after(100));
    for (now, due) in [(100, Some(400)), (399, Some(400)), (400, None), (5000, None)] {
        assert_eq!(valve.next(after(now)), due.map(after), "at {now} ms");
    }
}
