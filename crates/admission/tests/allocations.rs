//! A query that passes allocates nothing, whatever rules and open gates there are.

#[path = "../benches/decide/session.rs"]
mod session;

use std::hint::black_box;

use allocation_counter::measure;
use identity::Identity;
use rules::{Do, Key, Limits, Mode, RuleSet, Share, Timestamp};
use session::{ROWS, Session};

const RULES: usize = 1_000;
const QUERIES: u64 = 1_000;

#[test]
fn a_query_that_passes_allocates_nothing() {
    for row in &ROWS {
        let mut session = Session::new(row, RULES);
        // What is remembered of a statement, and counted of a client, is made by the first.
        session.ask();
        let counted = measure(|| (0..QUERIES).for_each(|_| session.ask()));
        assert_eq!(counted.count_total, 0, "{}: {counted:?}", row.what);
    }
}

/// Limits have no owner: all that match are kept.
#[test]
fn judging_four_matching_limits_allocates_nothing() {
    let limits = Limits { max_concurrency: None, max_connections: Some(9) };
    let limited = |number: usize| rules::Rule {
        effect: Do { limits, ..Do::default() },
        ..session::rule(&format!("limit-{number}"), Key::User, "app", Share::Hold)
    };
    let set = RuleSet::new((0..4).map(limited).collect(), &|_| None);
    let who = Identity { user: b"app"[..].into(), ..Identity::default() };
    let candidates = set.candidates(&who);
    let judge = || set.judge_login(&candidates, &who, None, Timestamp(0), Mode::Enforce);
    assert_eq!(judge().enforced.len(), 4);
    let counted = measure(|| drop(black_box(judge().stricter(judge()))));
    assert_eq!(counted.count_total, 0, "{counted:?}");
}

/// Else the test above proves nothing.
#[test]
fn allocations_are_counted() {
    let counted = measure(|| (0..QUERIES).for_each(|number| drop(black_box(Box::new(number)))));
    assert_eq!(counted.count_total, QUERIES);
}
