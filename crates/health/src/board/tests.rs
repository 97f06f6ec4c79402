use super::*;
use crate::settings::Over;

fn report(server: &str, reading: Reading, at: Instant) -> Report {
    Report { metric: "replication_lag".into(), server: server.into(), reading, at, applied: None }
}

fn fresh(now: Instant) -> Fresh {
    Fresh { now, stale_after: Duration::from_secs(5), not_before: None }
}

fn value(value: f64) -> Reading {
    Reading::Value(value)
}

fn unknown_for(why: Unknown) -> Reading {
    Reading::Unknown(why)
}

#[test]
fn servers_add_up() {
    use Aggregate::{Known, Unknown as Not};
    let now = Instant::now();
    for (readings, over, ignore_worst, adds_up_to) in [
        (vec![value(1.0), value(4.0), value(2.0)], Over::Max, 0, Known(4.0)),
        (vec![value(1.0), value(4.0), value(2.0)], Over::Min, 0, Known(1.0)),
        (vec![value(1.0), value(4.0), value(2.5)], Over::Avg, 0, Known(2.5)),
        (vec![value(1.0), value(4.0), value(2.0)], Over::Max, 1, Known(2.0)),
        (vec![value(1.0), value(4.0)], Over::Max, 9, Known(1.0)),
        (vec![value(1.0), unknown_for(Unknown::Unreachable)], Over::Max, 0, Known(1.0)),
        (vec![value(1.0), Reading::Delayed], Over::Max, 0, Known(1.0)),
        (vec![unknown_for(Unknown::Stopped)], Over::Max, 0, Not(Unknown::Stopped)),
        (vec![Reading::Delayed], Over::Max, 0, Not(Unknown::NoServer)),
        (vec![Reading::Idle], Over::Max, 0, Aggregate::Idle),
        (vec![], Over::Max, 0, Not(Unknown::NotYet)),
    ] {
        let mut board = Board::default();
        for (n, reading) in readings.iter().enumerate() {
            board.report(report(&format!("server-{n}"), *reading, now));
        }
        let scope = Scope { over, ignore_worst };
        assert_eq!(board.aggregate("replication_lag", scope, fresh(now)), adds_up_to, "{readings:?} {scope:?}");
    }
}

#[test]
fn a_value_counts_for_a_while_and_not_for_ever() {
    let start = Instant::now();
    let at = |seconds| start + Duration::from_secs(seconds);
    let mut board = Board::default();
    let lag = |board: &Board, now| board.aggregate("replication_lag", Scope::default(), fresh(now));
    board.report(report("r", value(3.0), at(0)));
    board.report(report("r", unknown_for(Unknown::TimedOut), at(1)));
    assert_eq!(lag(&board, at(5)), Aggregate::Known(3.0));
    assert_eq!(lag(&board, at(6)), Aggregate::Unknown(Unknown::TimedOut));
    board.report(report("r", value(2.0), at(7)));
    assert_eq!(lag(&board, at(7)), Aggregate::Known(2.0));
    assert_eq!(lag(&board, at(20)), Aggregate::Unknown(Unknown::TimedOut), "nobody said anything more");
}

#[test]
fn what_a_server_says_for_certain_ends_its_value() {
    for why in [Unknown::Stopped, Unknown::NotAReplica] {
        let now = Instant::now();
        let mut board = Board::default();
        board.report(report("r", value(3.0), now));
        board.report(report("r", unknown_for(why), now));
        assert_eq!(board.aggregate("replication_lag", Scope::default(), fresh(now)), Aggregate::Unknown(why));
    }
}

#[test]
fn nothing_from_before_a_pause_counts() {
    let start = Instant::now();
    let woken = start + Duration::from_secs(2);
    let mut board = Board::default();
    board.report(report("r", value(3.0), start));
    let fresh = Fresh { not_before: Some(woken), ..fresh(woken) };
    let lag = |board: &Board| board.aggregate("replication_lag", Scope::default(), fresh);
    assert_eq!(lag(&board), Aggregate::Unknown(Unknown::NotYet));
    board.report(report("r", value(1.0), woken));
    assert_eq!(lag(&board), Aggregate::Known(1.0));
}

#[test]
fn the_younger_of_two_reports_stands() {
    let now = Instant::now();
    let later = now + Duration::from_millis(1);
    let mut board = Board::default();
    board.report(report("r", value(1.0), later));
    board.report(report("r", value(9.0), now));
    assert_eq!(board.aggregate("replication_lag", Scope::default(), fresh(later)), Aggregate::Known(1.0));
}

#[test]
fn who_is_forgotten_says_nothing_more() {
    let now = Instant::now();
    let mut board = Board::default();
    board.report(report("one", value(1.0), now));
    board.report(report("two", value(2.0), now));
    board.forget_server("two");
    let replicas = board.replicas("replication_lag", Scope::default(), fresh(now));
    assert_eq!(replicas.iter().map(|replica| &*replica.server).collect::<Vec<_>>(), ["one"]);
    board.forget_all();
    assert_eq!(board.standings().count(), 0);
}
