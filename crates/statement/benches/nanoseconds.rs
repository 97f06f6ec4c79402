//! Prints nanoseconds a call: `cargo bench -p statement`. The least of several rounds, since the clock of a shared machine is noisy.

use statement::{Mode, ParseCache, Server, fingerprint, scan};
use std::hint::black_box;
use std::time::Instant;

const ROUNDS: u32 = 50;

fn main() {
    let mode = Mode { server: Server::MySql(90_704), ..Mode::default() };
    let long = format!("INSERT INTO t (a, b, c) VALUES {}(1, 'x', 2.5)", "(1, 'some text', 2.5), ".repeat(500));
    let texts = [
        ("point select", "SELECT c FROM sbtest1 WHERE id=12345"),
        (
            "framework select",
            "SELECT `users`.`id`, `users`.`name`, `users`.`email` FROM `users` WHERE `users`.`deleted_at` IS NULL AND \
             `users`.`account_id` IN (1, 2, 3) ORDER BY `users`.`id` DESC LIMIT 20 \
             /*controller='users',action='index',traceparent='00-5bd66ef5095369c7b0d1f8f4bd33716a-c532cb4098ac3dd2-01'*/",
        ),
        ("update", "UPDATE sbtest1 SET k=k+1 WHERE id=12345"),
        (
            "insert",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (0, 5012, '08566691963-88624912351', '63188288836-92351140030')",
        ),
        ("commit", "COMMIT"),
        ("set", "SET NAMES utf8mb4"),
        ("ping", "/* ping */ SELECT 1"),
        ("22 KiB insert", &long),
    ];
    println!("{:<18} {:>6} {:>8} {:>12}", "", "bytes", "scan", "fingerprint");
    for (name, text) in texts {
        let sql = text.as_bytes();
        println!(
            "{name:<18} {:>6} {:>8.0} {:>12.0}",
            sql.len(),
            measure(|| black_box(scan(black_box(sql), mode)).free),
            measure(|| black_box(fingerprint(black_box(sql), mode)).0 == 0),
        );
    }
    let sql = b"SELECT f(a) FROM t JOIN u USING (id) WHERE b = 1";
    let cache = ParseCache::new();
    let parsed = |cache: &ParseCache| {
        let scan = scan(black_box(sql), mode);
        cache.get_or_parse(&scan, black_box(sql)).foreign_functions
    };
    println!(
        "scanned and parsed: {:.0}, from the cache: {:.0}",
        measure(|| parsed(&ParseCache::new())),
        measure(|| parsed(&cache))
    );
}

/// Of a call, in nanoseconds.
fn measure(call: impl Fn() -> bool) -> f64 {
    let started = Instant::now();
    let mut calls = 1_u32;
    while started.elapsed().as_micros() < 1000 {
        black_box(call());
        calls += 1;
    }
    let round = || {
        let started = Instant::now();
        for _ in 0..calls {
            black_box(call());
        }
        started.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}
