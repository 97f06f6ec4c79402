//! The storm with injected time: minutes in milliseconds, seeded, by the laws that the proxy runs.
//!
//! `cargo test -p health --test simulation -- --nocapture` shows the figures.
#![forbid(unsafe_code)]

#[path = "simulation/model.rs"]
mod model;

use health::{Control, Over};
use model::{Figures, Storm, run};

const SEEDS: std::ops::Range<u64> = 1..7;

/// The worst of all seeds.
fn worst(name: &str, storm: &Storm) -> Figures {
    let runs = SEEDS.map(|seed| run(storm, seed));
    let worst = runs.reduce(|one, two| Figures {
        p50: one.p50.max(two.p50),
        p99: one.p99.max(two.p99),
        most: one.most.max(two.most),
        first_peak: one.first_peak.max(two.first_peak),
        used: one.used.min(two.used),
        growth: one.growth.max(two.growth),
    });
    let figures = worst.expect("seeds");
    let Figures { p50, p99, most, first_peak, used, growth } = figures;
    println!(
        "{name:27} lag p50 {p50:6.2} p99 {p99:6.2} most {most:6.2} first peak {first_peak:6.2}  used {used:4.2}  growth {growth:3.0}"
    );
    figures
}

/// 400 a second in the middle third instead of 1,000.
fn drops(now: f64) -> (f64, f64) {
    if (50.0..100.0).contains(&now) { (0.0025, 0.0) } else { (0.001, 0.0) }
}

fn very_different(dice: f64) -> f64 {
    if dice < 0.9 { 1.0 } else { 50.0 }
}

fn by_row(_: f64) -> (f64, f64) {
    (0.0001, 0.0005)
}

/// As the rig's: 400 rows a second, whatever their transactions.
fn by_slow_row(_: f64) -> (f64, f64) {
    (0.0, 0.0025)
}

fn second() -> Storm {
    Storm { threshold: 1.0, price: |_| (0.0022, 0.0), primary: 2500.0, writers: 48, ..Storm::default() }
}

/// A primary that commits forty times of what the replica applies, and one at a time five times.
fn very_fast() -> Storm {
    Storm { primary: 19_000.0, service: 0.0001, steps: 10_000, price: |_| (0.0025, 0.0), ..second() }
}

fn permits() -> Storm {
    Storm { control: Some(Control::Permits), heartbeat: false, ..Storm::default() }
}

#[test]
fn without_a_gate_lag_grows_without_end_and_an_on_off_gate_overshoots() {
    let off = worst("off", &Storm { control: None, ..Storm::default() });
    assert!(off.p99 > 100.0 && off.used > 0.99, "{off:?}");
    let binary = worst("binary", &Storm { control: Some(Control::Binary), ..Storm::default() });
    assert!(binary.p99 > 4.0 * 5.0, "{binary:?}");
}

#[test]
fn paced_lag_stays_under_its_threshold_at_the_replicas_full_rate() {
    for (name, storm) in [
        ("paced", Storm::default()),
        ("paced, 1 s", second()),
        ("paced, 1 s, a fifth around", Storm { around: 80.0, ..second() }),
        ("paced, a fifth around", Storm { around: 200.0, ..Storm::default() }),
        ("paced, a third beside", Storm { beside: 333.0, ..Storm::default() }),
        ("paced, 1 s, a third beside", Storm { beside: 150.0, ..second() }),
        ("paced, sizes", Storm { rows: very_different, price: by_row, ..Storm::default() }),
        ("paced, sizes, 1 s", Storm { rows: very_different, price: by_row, ..second() }),
        ("paced, slow rows, 1 s", Storm { rows: very_different, price: by_slow_row, ..second() }),
        ("paced, slow rows", Storm { rows: very_different, price: by_slow_row, threshold: 5.0, ..second() }),
        ("paced, one large", Storm { large: Some((60.0, 2500.0)), price: |_| (0.0001, 0.001), ..Storm::default() }),
    ] {
        let figures = worst(name, &storm);
        assert!(figures.p99 < storm.threshold, "{name}: {figures:?}");
        assert!(figures.first_peak < 1.5 * storm.threshold, "{name}: {figures:?}");
        assert!(figures.p50 < 0.45 * storm.threshold, "{name}: {figures:?}");
        assert!(figures.used > 0.9, "{name}: {figures:?}");
    }
}

#[test]
fn paced_follows_a_replica_that_becomes_slower() {
    for (name, storm) in [
        ("paced, drop", Storm { price: drops, ..Storm::default() }),
        ("paced, drop, 1 s", Storm { price: drops, threshold: 1.0, ..Storm::default() }),
    ] {
        let figures = worst(name, &storm);
        assert!(figures.p99 < 1.5 * storm.threshold, "{name}: {figures:?}");
        assert!(figures.used > 0.9, "{name}: {figures:?}");
    }
}

/// By the best replica, whatever becomes of the other.
#[test]
fn the_best_replica_sets_the_pace_where_the_scope_says_so() {
    let best = |storm: Storm| Storm { over: Over::Min, one_is_stuck: true, ..storm };
    for (name, storm) in [
        ("paced, min, one stuck", best(Storm::default())),
        ("paced, min, one stuck, 1 s", best(second())),
        ("permits, min, one stuck", best(permits())),
    ] {
        let figures = worst(name, &storm);
        assert!(figures.p99 < storm.threshold, "{name}: {figures:?}");
        assert!(figures.first_peak < 1.5 * storm.threshold, "{name}: {figures:?}");
        assert!(figures.used > 0.9, "{name}: {figures:?}");
    }
}

/// By the age of what a replica is applying, and what had been committed so long ago.
#[test]
fn without_a_heartbeat_it_is_paced_as_well() {
    let blind = |storm: Storm| Storm { heartbeat: false, ..storm };
    for (name, storm) in [
        ("no beats", blind(Storm::default())),
        ("no beats, 1 s", blind(second())),
        ("no beats, 1 s, very fast", blind(very_fast())),
        ("no beats, a fifth around", blind(Storm { around: 200.0, ..Storm::default() })),
        ("no beats, slow rows, 1 s", blind(Storm { rows: very_different, price: by_slow_row, ..second() })),
        ("no beats, drop", blind(Storm { price: drops, ..Storm::default() })),
        ("no beats, drop, 1 s", blind(Storm { price: drops, threshold: 1.0, ..Storm::default() })),
    ] {
        let figures = worst(name, &storm);
        assert!(figures.p99 < 1.5 * storm.threshold, "{name}: {figures:?}");
        assert!(figures.first_peak < 1.5 * storm.threshold, "{name}: {figures:?}");
        assert!(figures.used > 0.9, "{name}: {figures:?}");
    }
}

#[test]
fn whole_seconds_are_enough_to_pace_by() {
    let storm = Storm { heartbeat: false, whole_seconds: true, ..Storm::default() };
    let figures = worst("no beats, whole seconds", &storm);
    assert!(figures.p99 < storm.threshold, "{figures:?}");
    assert!(figures.first_peak < 2.0 * storm.threshold, "{figures:?}");
    assert!(figures.used > 0.9, "{figures:?}");
}

/// Whatever one at a time comes to: a hundredth of what the replica applies, or forty times as much.
#[test]
fn permits_without_a_heartbeat_carry_the_same_pace() {
    let at_once = |storm: Storm| Storm { control: Some(Control::Permits), heartbeat: false, ..storm };
    for (name, storm) in [
        ("permits", permits()),
        ("permits, 1 s", Storm { threshold: 1.0, ..permits() }),
        ("permits, 1 s, fast", at_once(Storm { service: 0.002, ..second() })),
        ("permits, 1 s, very fast", at_once(very_fast())),
        ("permits, 1 s, slow primary", at_once(Storm { service: 0.1, ..second() })),
        ("permits, a fifth around", at_once(Storm { around: 200.0, ..Storm::default() })),
        ("permits, a third beside", at_once(Storm { beside: 333.0, ..Storm::default() })),
        ("permits, slow rows, 1 s", at_once(Storm { rows: very_different, price: by_slow_row, ..second() })),
        ("permits, drop", at_once(Storm { price: drops, ..Storm::default() })),
        ("permits, drop, 1 s", at_once(Storm { price: drops, threshold: 1.0, ..Storm::default() })),
    ] {
        let figures = worst(name, &storm);
        assert!(figures.p99 < 1.5 * storm.threshold, "{name}: {figures:?}");
        assert!(figures.first_peak < 1.5 * storm.threshold, "{name}: {figures:?}");
        assert!(figures.used > 0.85, "{name}: {figures:?}");
    }
}

#[test]
fn nobody_comes_as_a_herd() {
    for (name, storm) in [
        ("binary", Storm { control: Some(Control::Binary), ..Storm::default() }),
        ("permits", permits()),
        ("paced, drop", Storm { price: drops, ..Storm::default() }),
    ] {
        let figures = worst(name, &storm);
        // Half of what is in flight, at the most; 64 writers are there in all.
        assert!(figures.growth <= 32.0, "{name}: {figures:?}");
    }
}
