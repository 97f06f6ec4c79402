//! The index against the slow and obvious way, over random rules, clients and statements.

#[path = "property/check.rs"]
mod check;
#[path = "property/oracle.rs"]
mod oracle;
#[path = "property/subjects.rs"]
mod subjects;

use check::{Seen, check};
use identity::Name;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rules::{Mode, Timestamp};
use subjects::{Dice, NOW};

struct Seeded(StdRng);

impl Dice for Seeded {
    fn below(&mut self, limit: usize) -> usize {
        self.0.random_range(0..limit)
    }
}

#[test]
fn the_index_and_the_oracle_agree() {
    let mut seen = Seen::default();
    for seed in 0..2_000 {
        let mut dice = Seeded(StdRng::seed_from_u64(seed));
        let most = dice.pick(&[2, 6, 12, 40]);
        let rules = subjects::rules(&mut dice, most);
        for _ in 0..4 {
            let (trusted, all) = subjects::identities(&mut dice);
            let asked = subjects::asked(&mut dice);
            // A failure prints the seed.
            let _shown = Shown(seed);
            let now = Timestamp(NOW.0 + i64::try_from(dice.below(3)).unwrap() - 1);
            let mode = dice.pick(&[Mode::Enforce, Mode::Enforce, Mode::Warn, Mode::Off]);
            check(&rules, [&trusted, &all], &asked, now, mode, &mut seen);
        }
    }
    // If the words met too seldom, nothing would be shown.
    assert!(seen.shares * 4 > seen.cases, "{seen:?}");
    assert!(seen.limits * 5 > seen.cases, "{seen:?}");
    assert!(seen.thresholds * 5 > seen.cases, "{seen:?}");
    assert!(seen.skips * 40 > seen.cases, "{seen:?}");
    assert!(seen.weights * 10 > seen.cases, "{seen:?}");
    assert!(seen.connections * 20 > seen.cases, "{seen:?}");
    assert!(seen.warned * 20 > seen.cases, "{seen:?}");
    assert!(seen.stricter_by_claim * 50 > seen.cases, "{seen:?}");
    assert!(seen.idle * 20 > seen.cases, "{seen:?}");
    assert!(seen.shielded * 20 > seen.cases, "{seen:?}");
    assert!(seen.parsed * 10 > seen.cases && seen.parsed * 10 < seen.cases * 9, "{seen:?}");
}

struct Shown(u64);

impl Drop for Shown {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("seed {}", self.0);
        }
    }
}

/// With rules that come and go at every minute of two weeks around both changes of the clocks, what is remembered of a
/// rule's hours is never out of date, in whatever order it is asked.
#[test]
fn remembered_hours_are_what_the_wall_clock_shows() {
    for seed in 0..80 {
        let mut dice = Seeded(StdRng::seed_from_u64(seed));
        let active = subjects::active(&mut dice);
        let rule = rules::Rule { active: Some(active.clone()), ..always() };
        let set = rules::RuleSet::new(vec![rule], &|_| None);
        let identity = identity::Identity { name: Name::new("x"), ..Default::default() };
        let candidates = set.candidates(&identity);
        let asked = subjects::asked(&mut dice);
        for start in ["2026-03-26T00:00:00Z", "2026-10-22T00:00:00Z", "1969-12-30T00:00:00Z"] {
            let mut now = Timestamp::parse(start).unwrap();
            for _ in 0..300 {
                let step = dice.pick(&[1, 59_999, 60_000, 1_800_000, 7_200_000, 86_400_000, -3_600_000, -90_000_000]);
                now = Timestamp(now.0 + step);
                let _shown = Shown(seed);
                let judgement = set.judge(&candidates, &identity, &check::Asking::new(&asked), now, Mode::Enforce);
                assert_eq!(judgement.enforced.share.is_some(), oracle::is_active(&active, now), "{active:?} {now}");
                if dice.one_in(8) {
                    check_next_change(&set, &active, now);
                }
            }
        }
    }
}

fn check_next_change(set: &rules::RuleSet, active: &rules::Active, now: Timestamp) {
    match set.next_change(now) {
        None => assert!(active.days.0 == 0 || active.days.0 == 127, "{active:?} changes"),
        Some(change) => {
            assert!(change > now);
            assert_ne!(oracle::is_active(active, change), oracle::is_active(active, Timestamp(change.0 - 1)));
            let same = oracle::is_active(active, Timestamp(change.0 - 1)) == oracle::is_active(active, now);
            assert!(same, "{active:?} changed between {now} and {change}");
        }
    }
}

fn always() -> rules::Rule {
    let mut dice = Seeded(StdRng::seed_from_u64(0));
    let rule = loop {
        if let Some(rule) = subjects::rules(&mut dice, 1).pop() {
            break rule;
        }
    };
    rules::Rule {
        matching: rules::Match::default(),
        effect: rules::Do { share: Some(rules::Share::Hold), ..rules::Do::default() },
        mode: Some(Mode::Enforce),
        expires: None,
        ..rule
    }
}

#[test]
fn scopes_match_as_the_oracle_says() {
    let alphabet = ["a", "b", "ab", "*", "a*", "b*", "", "**"];
    let parts = ["a", "b", "ab", "ba", "*"];
    let mut dice = Seeded(StdRng::seed_from_u64(7));
    let mut matched = 0;
    for _ in 0..50_000 {
        let scope: Vec<&str> = (0..1 + dice.below(5)).map(|_| dice.pick(&alphabet)).collect();
        let name: Vec<&str> = (0..1 + dice.below(6)).map(|_| dice.pick(&parts)).collect();
        let (scope, name) = (scope.join(":"), Name::new(&name.join(":")));
        if scope.is_empty() {
            continue;
        }
        let rule = rules::Rule { matching: scoped(&scope), ..always() };
        let set = rules::RuleSet::new(vec![rule], &|_| None);
        let found = !set.candidates(&identity::Identity { name: name.clone(), ..Default::default() }).is_empty();
        assert_eq!(found, oracle::in_scope(&scope, &name), "{scope} {name}");
        matched += u32::from(found);
    }
    assert!(matched > 5_000, "{matched}");
}

fn scoped(scope: &str) -> rules::Match {
    let values = vec![rules::Value::Scope(rules::Scope { text: scope.into() })];
    rules::Match { conditions: vec![rules::Condition { key: rules::Key::Scope, values }], not: Vec::new() }
}
