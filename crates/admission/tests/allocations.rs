//! A query that passes allocates nothing, whatever rules and open gates there are.

#[path = "../benches/decide/session.rs"]
mod session;

use std::hint::black_box;

use allocation_counter::measure;
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

/// Else the test above proves nothing.
#[test]
fn allocations_are_counted() {
    let counted = measure(|| (0..QUERIES).for_each(|number| drop(black_box(Box::new(number)))));
    assert_eq!(counted.count_total, QUERIES);
}
