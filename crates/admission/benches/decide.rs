//! What the gate adds to a query that passes, from its bytes to its verdict and its end. `cargo bench -p admission`
//!
//! It must be the same with 10, 1,000 and 100,000 rules. Under valgrind, `decide 100000 2000 2` (rules, times, which row)
//! asks so often and prints nothing: what two such runs differ by is what a query costs, in instructions and in
//! allocations, of which there must be none.

#[path = "decide/session.rs"]
mod session;

use std::time::{Duration, Instant};

use session::{ROWS, Session};

const SIZES: [usize; 3] = [10, 1_000, 100_000];

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    if let [size, times, at] = numbers[..] {
        let mut session = Session::new(&ROWS[at], size);
        (0..times).for_each(|_| session.ask());
        return;
    }
    println!("{:<34}{:>12}{:>12}{:>12}", "ns for ask and settled", "10 rules", "1,000", "100,000");
    for row in &ROWS {
        let cells = SIZES.map(|size| time(&mut Session::new(row, size)));
        println!("{:<34}{:>12.1}{:>12.1}{:>12.1}", row.what, cells[0], cells[1], cells[2]);
    }
}

/// The best of several short runs, in nanoseconds: other processes only ever make one longer.
fn time(session: &mut Session) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..30 {
        let start = Instant::now();
        (0..5_000).for_each(|_| session.ask());
        best = best.min(start.elapsed());
    }
    best.as_nanos() as f64 / 5_000.0
}
