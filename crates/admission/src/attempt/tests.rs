use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::samples::with_only;

const MILLISECOND: Duration = Duration::from_millis(1);

/// Rolls that were thought of before; asking for more of them is a mistake.
struct Rolls(Vec<f64>);

impl Rolls {
    fn next(&mut self) -> f64 {
        assert!(!self.0.is_empty(), "one roll too many");
        self.0.remove(0)
    }
}

fn step(attempt: &mut Attempt, rule: &str, at: Duration, rolls: &[f64]) -> Step {
    let mut rolls = Rolls(rolls.to_vec());
    let now = attempt.arrival + at;
    let step = with_only(rule, |rule| attempt.step(Some(rule), &Defaults::default(), now, &mut || rolls.next()));
    assert!(rolls.0.is_empty(), "{} rolls too few", rolls.0.len());
    step
}

fn wait(attempt: &Attempt, millis: u32) -> Step {
    Step::Wait(attempt.arrival + MILLISECOND * millis)
}

#[test]
fn nobody_owns_it() {
    let mut attempt = Attempt::new(Instant::now(), Bound::Full);
    let now = attempt.arrival;
    let mut step = |rule: Option<&CompiledRule>| attempt.step(rule, &Defaults::default(), now, &mut || unreachable!());
    assert_eq!(step(None), Step::Go);
    with_only("r | scope=* | concurrency=1", |rule| assert_eq!(step(Some(rule)), Step::Go));
}

/// What is said first, by the owner's words, by the bound, and by the rolls that it takes.
#[test]
fn first_words() {
    let (full, reads, brief, locked) = (Bound::Full, Bound::AfterReads, Bound::Brief, Bound::Locked);
    for (words, bound, rolls, expected) in [
        ("exempt", full, &[][..], "exempt"),
        ("exempt", locked, &[], "exempt"),
        ("ratio=0", full, &[], "go"),
        ("ratio=0 reject", full, &[], "go"),
        ("ratio=0.9", full, &[0.9], "go"),
        ("ratio=0.9", full, &[0.95], "go"),
        ("ratio=1", full, &[0.999_999, 0.5], "100"),
        // 100 ms, more or less by half.
        ("ratio=0.9", full, &[0.899, 0.0], "50"),
        ("ratio=0.9", full, &[0.0, 0.5], "100"),
        ("ratio=0.9", full, &[0.0, 0.99], "149"),
        ("ratio=0.9 delay=60", full, &[0.0, 0.5], "60"),
        ("ratio=0.9 delay=0", full, &[0.0, 0.5], "refuse ratio"),
        ("ratio=0.9 reject", full, &[0.0], "refuse ratio"),
        ("ratio=0.9 reject", brief, &[0.0], "refuse ratio"),
        ("ratio=0.9 delay=60000", brief, &[0.0, 0.5], "100"),
        ("hold delay=60000", full, &[], "60000"),
        ("hold", full, &[], "3000"),
        ("hold reject", full, &[], "3000"),
        ("hold delay=0", full, &[], "refuse hold"),
        ("hold delay=60000", brief, &[], "1000"),
        ("hold delay=10", brief, &[], "10"),
        ("hold delay=60000", reads, &[], "1000"),
        ("hold delay=10", reads, &[], "10"),
        ("ratio=0.9 reject", reads, &[0.0], "refuse ratio"),
        // What holds locks must finish, unless the rule says otherwise of those that have written.
        ("hold delay=60000", locked, &[], "250"),
        ("hold delay=10", locked, &[], "10"),
        ("hold delay=0", locked, &[], "go"),
        ("hold in_transaction=delay", locked, &[], "250"),
        ("hold in_transaction=reject", locked, &[], "refuse hold"),
        ("ratio=0.9 reject", locked, &[0.0, 0.5], "100"),
        ("ratio=0.9 in_transaction=delay reject", locked, &[0.0, 0.5], "100"),
        ("ratio=0.9 in_transaction=reject", locked, &[0.0], "refuse ratio"),
        ("ratio=0.9 in_transaction=reject", locked, &[0.95], "go"),
        ("ratio=0.9 in_transaction=reject", full, &[0.0, 0.5], "100"),
    ] {
        let mut attempt = Attempt::new(Instant::now(), bound);
        let found = match step(&mut attempt, &format!("r | scope=* | {words}"), Duration::ZERO, rolls) {
            Step::Go => "go".to_owned(),
            Step::Exempt => "exempt".to_owned(),
            Step::Refuse(reason) => format!("refuse {reason}"),
            Step::Wait(until) => (until - attempt.arrival).as_millis().to_string(),
        };
        assert_eq!(found, expected, "{words}, {bound:?}, {rolls:?}");
    }
}

/// What was chosen for transactions that have only read is for no others, and is never more than the rule's own delay.
#[test]
fn a_longer_delay_after_reads() {
    let defaults = Defaults { max_delay_after_reads: MILLISECOND * 30_000, ..Defaults::default() };
    for (words, bound, expected) in [
        ("hold delay=60000", Bound::AfterReads, 30_000),
        ("hold", Bound::AfterReads, 3000),
        ("hold delay=60000", Bound::Full, 60_000),
        ("hold delay=60000", Bound::Brief, 1000),
        ("hold delay=60000", Bound::Locked, 250),
    ] {
        let attempt = Attempt::new(Instant::now(), bound);
        let deadline = with_only(&format!("r | scope=* | {words}"), |rule| attempt.deadline(rule, &defaults));
        assert_eq!(deadline - attempt.arrival, MILLISECOND * expected, "{words}, {bound:?}");
    }
}

#[test]
fn a_won_roll_stands_until_its_rule_changes() {
    let mut attempt = Attempt::new(Instant::now(), Bound::Full);
    let later = MILLISECOND * 10_000;
    assert_eq!(step(&mut attempt, "r | scope=* | ratio=0.5", Duration::ZERO, &[0.6]), Step::Go);
    assert_eq!(step(&mut attempt, "r | scope=* | ratio=0.5", later, &[]), Step::Go);
    assert_eq!(step(&mut attempt, "r | scope=* | ratio=0.5 delay=1 reject", later, &[]), Step::Go);
    // Another ratio, then another rule, each for itself.
    assert_eq!(step(&mut attempt, "r | scope=* | ratio=0.7", later, &[0.8]), Step::Go);
    assert_eq!(step(&mut attempt, "s | scope=* | ratio=0.7 reject", later, &[0.6]), Step::Refuse(Reason::Ratio));
    assert_eq!(step(&mut attempt, "s | scope=* | hold delay=9000", later, &[]), Step::Refuse(Reason::Hold));
}

#[test]
fn a_lost_roll_is_rolled_again_until_the_deadline() {
    let rule = "r | scope=* | ratio=0.5 delay=250";
    let mut attempt = Attempt::new(Instant::now(), Bound::Full);
    assert_eq!(step(&mut attempt, rule, Duration::ZERO, &[0.0, 0.5]), wait(&attempt, 100));
    // Asked again before its time, as when something else changes: no roll.
    assert_eq!(step(&mut attempt, rule, MILLISECOND * 40, &[]), wait(&attempt, 100));
    assert_eq!(step(&mut attempt, rule, MILLISECOND * 100, &[0.1, 0.0]), wait(&attempt, 150));
    assert_eq!(step(&mut attempt, rule, MILLISECOND * 150, &[0.1, 0.9]), wait(&attempt, 250));
    // The deadline has the last word, not another roll.
    assert_eq!(step(&mut attempt, rule, MILLISECOND * 250, &[]), Step::Refuse(Reason::Ratio));

    let mut lucky = Attempt::new(Instant::now(), Bound::Full);
    assert_eq!(step(&mut lucky, rule, Duration::ZERO, &[0.0, 0.5]), wait(&lucky, 100));
    assert_eq!(step(&mut lucky, rule, MILLISECOND * 100, &[0.5]), Step::Go);
}

#[test]
fn another_rule_rolls_for_itself_whatever_was_lost_before() {
    let mut attempt = Attempt::new(Instant::now(), Bound::Full);
    assert_eq!(
        step(&mut attempt, "r | scope=* | ratio=0.5 delay=9000", Duration::ZERO, &[0.0, 0.5]),
        wait(&attempt, 100)
    );
    // One roll each, although their deadlines are over.
    let later = MILLISECOND * 2000;
    assert_eq!(
        step(&mut attempt, "r | scope=* | ratio=0.4 delay=1000", later, &[0.0, 0.5]),
        Step::Refuse(Reason::Ratio)
    );
    assert_eq!(step(&mut attempt, "s | scope=* | ratio=0.4 delay=1000", later, &[0.4]), Step::Go);
    assert_eq!(step(&mut attempt, "s | scope=* | ratio=0 delay=1000", later, &[]), Step::Go);
}

#[test]
fn a_lock_holder_waits_a_little_and_passes() {
    for rule in ["r | scope=* | ratio=1 delay=60000", "r | scope=* | hold delay=60000"] {
        let mut attempt = Attempt::new(Instant::now(), Bound::Locked);
        let mut dice = SmallRng::seed_from_u64(1);
        let mut at = attempt.arrival;
        let passed = with_only(rule, |rule| {
            for _ in 0..10 {
                match attempt.step(Some(rule), &Defaults::default(), at, &mut || dice.random()) {
                    Step::Wait(until) => at = until,
                    Step::Go => return true,
                    Step::Exempt | Step::Refuse(_) => return false,
                }
            }
            false
        });
        assert!(passed, "{rule}");
        assert_eq!(at - attempt.arrival, LOCKED);
    }
}

#[test]
fn a_delay_of_ages_does_no_harm() {
    let mut attempt = Attempt::new(Instant::now(), Bound::Full);
    let defaults = Defaults { max_delay: Duration::MAX, ..Defaults::default() };
    let now = attempt.arrival;
    let waits =
        with_only("r | scope=* | hold", |rule| attempt.step(Some(rule), &defaults, now, &mut || unreachable!()));
    assert!(matches!(waits, Step::Wait(until) if until > now + Duration::from_secs(1_000_000)), "{waits:?}");
}

/// The pass counts of 10,000 units are within four standard deviations of what the ratio says.
#[test]
fn dice_are_fair() {
    for (ratio, seed) in [(0.9, 1), (0.1, 2), (0.5, 3), (0.99, 4), (0.0, 5), (1.0, 6)] {
        let mut dice = SmallRng::seed_from_u64(seed);
        let units = 10_000_u32;
        let now = Instant::now();
        let passed = with_only(&format!("r | scope=* | ratio={ratio} reject"), |rule| {
            let pass = |_: &u32| {
                let mut attempt = Attempt::new(now, Bound::Full);
                attempt.step(Some(rule), &Defaults::default(), now, &mut || dice.random()) == Step::Go
            };
            (0..units).filter(pass).count()
        });
        let expected = f64::from(units) * (1.0 - ratio);
        let deviation = (f64::from(units) * ratio * (1.0 - ratio)).sqrt();
        assert!((passed as f64 - expected).abs() <= 4.0 * deviation, "ratio {ratio}, seed {seed}: {passed} passed");
    }
}

/// With `delay`, who loses comes back about every 100 ms: of r = 0.9 within a second about ten rolls, so most pass in time.
#[test]
fn delays_are_as_the_ratio_says() {
    let mut dice = SmallRng::seed_from_u64(7);
    let (mut waits, mut waited) = (0_u32, Duration::ZERO);
    with_only("r | scope=* | ratio=0.9 delay=1000000", |rule| {
        for _ in 0..2000 {
            let mut attempt = Attempt::new(Instant::now(), Bound::Full);
            let mut at = attempt.arrival;
            while let Step::Wait(until) = attempt.step(Some(rule), &Defaults::default(), at, &mut || dice.random()) {
                let length = until - at;
                assert!(length >= MILLISECOND * 50 && length <= MILLISECOND * 150, "{length:?}");
                (waits, waited, at) = (waits + 1, waited + length, until);
            }
        }
    });
    // Nine losses to a win, with a deviation of 9.5 a unit.
    assert!((f64::from(waits) / 2000.0 - 9.0).abs() < 4.0 * 9.5 / 2000_f64.sqrt(), "{waits}");
    let mean = waited.as_secs_f64() / f64::from(waits);
    assert!((mean - 0.1).abs() < 0.002, "{mean}");
}
