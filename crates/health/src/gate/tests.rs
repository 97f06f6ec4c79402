use super::*;
use crate::metric::BuiltIn;
use crate::ramp::GROWS_BY;
use crate::settings::Over;

/// A gate, its clock, and a metric that is set by hand.
struct Stage {
    gate: Gate,
    now: Instant,
    waiting: usize,
    in_flight: f64,
    asleep: bool,
}

fn stage(settings: Settings) -> Stage {
    Stage { gate: Gate::new(settings), now: Instant::now(), waiting: 0, in_flight: 0.0, asleep: false }
}

fn lag(change: impl FnOnce(&mut Settings)) -> Stage {
    let mut settings = Settings { control: Control::Binary, ..Settings::new(BuiltIn::ReplicationLag, 5.0) };
    change(&mut settings);
    stage(settings)
}

impl Stage {
    /// After so long, this is known.
    fn after(&mut self, ms: u64, aggregate: Aggregate) -> (State, Flow) {
        self.now += Duration::from_millis(ms);
        let flow = self.gate.observe(&Observation {
            now: self.now,
            aggregate,
            replicas: &[],
            work: Work::NONE,
            in_flight: self.in_flight,
            ran: 0.0,
            waiting: self.waiting,
            asleep: self.asleep,
        });
        (self.gate.state(), flow)
    }
}

use Aggregate::Known;

const LOST: Aggregate = Aggregate::Unknown(Unknown::Unreachable);

#[test]
fn over_the_threshold_there_is_a_trickle() {
    let mut stage = lag(|_| {});
    assert_eq!(stage.after(250, Known(4.9)), (State::Open, Flow::Open));
    assert_eq!(stage.after(250, Known(5.1)), (State::Closed, Flow::Trickle(1.0)));
    assert_eq!(stage.after(250, Known(4.5)), (State::Closed, Flow::Trickle(1.0)));
    assert_eq!(stage.after(250, Known(3.9)), (State::Open, Flow::Open));
    let mut stage = lag(|settings| settings.trickle = 0.0);
    assert_eq!(stage.after(250, Known(6.0)), (State::Closed, Flow::Trickle(0.0)));
}

#[test]
fn a_gate_that_knows_nothing_waits_a_moment_and_then_does_what_it_was_told() {
    let of = |on_stale| lag(|settings| settings.on_stale = on_stale);
    for (on_stale, then) in
        [(OnStale::Open, Flow::Open), (OnStale::Closed, Flow::Trickle(1.0)), (OnStale::HoldLast, Flow::Open)]
    {
        let mut stage = of(on_stale);
        assert_eq!(stage.after(0, LOST), (State::Waking, Flow::Waking));
        assert_eq!(stage.after(900, LOST), (State::Waking, Flow::Waking));
        assert_eq!(stage.after(100, LOST), (State::Stale(Unknown::Unreachable), then), "{on_stale}");
        assert_eq!(stage.after(100, Known(0.1)).0, State::Open);
    }
    let mut stage = of(OnStale::Closed);
    let stopped = Aggregate::Unknown(Unknown::Stopped);
    assert_eq!(stage.after(0, stopped).0, State::Stale(Unknown::Stopped), "there is nothing to wait for");
}

#[test]
fn what_was_known_is_not_known_for_ever() {
    for (on_stale, value, then) in [
        (OnStale::Open, 9.0, Flow::Open),
        (OnStale::Closed, 1.0, Flow::Trickle(1.0)),
        (OnStale::HoldLast, 1.0, Flow::Open),
        (OnStale::HoldLast, 9.0, Flow::Trickle(1.0)),
    ] {
        let mut stage = lag(|settings| settings.on_stale = on_stale);
        stage.after(0, Known(value));
        assert_eq!(stage.after(6000, LOST), (State::Stale(Unknown::Unreachable), then), "{on_stale} {value}");
    }
}

#[test]
fn a_gate_that_is_asleep_lets_nobody_pass_until_somebody_has_looked() {
    let mut stage = lag(|settings| settings.on_stale = OnStale::Closed);
    stage.after(0, Known(1.0));
    stage.asleep = true;
    assert_eq!(stage.after(250, Known(1.0)), (State::Waking, Flow::Waking));
    stage.asleep = false;
    let not_yet = Aggregate::Unknown(Unknown::NotYet);
    assert_eq!(stage.after(10, not_yet), (State::Waking, Flow::Waking));
    assert_eq!(stage.after(10, Known(1.0)), (State::Open, Flow::Open));
    stage.asleep = true;
    stage.after(250, Known(1.0));
    stage.asleep = false;
    stage.after(10, not_yet);
    assert_eq!(stage.after(1000, not_yet), (State::Stale(Unknown::NotYet), Flow::Trickle(1.0)), "a second at the most");
}

#[test]
fn a_gate_that_does_not_help_is_given_up() {
    let mut stage = lag(|settings| settings.max_closed = Some(Duration::from_secs(600)));
    assert_eq!(stage.after(0, Known(100.0)).0, State::Closed);
    assert_eq!(stage.after(599_000, Known(101.0)).0, State::Closed);
    assert_eq!(stage.after(1000, Known(102.0)), (State::GivenUp, Flow::Open));
    assert_eq!(stage.after(1000, Known(102.0)), (State::GivenUp, Flow::Open));
    assert_eq!(stage.after(1000, Known(1.0)).0, State::Open);
    assert_eq!(stage.after(1000, Known(100.0)).0, State::Closed, "armed again");
}

#[test]
fn a_gate_that_helps_slowly_is_not_given_up() {
    let mut stage = lag(|_| {});
    let mut value = 1000.0;
    for _ in 0..10 {
        assert_eq!(stage.after(500_000, Known(value)).0, State::Closed);
        value *= 0.9;
    }
    let mut stage = lag(|settings| settings.max_closed = None);
    stage.after(0, Known(100.0));
    assert_eq!(stage.after(1_000_000_000, Known(100.0)).0, State::Closed, "never is never");
}

#[test]
fn a_stale_gate_that_is_closed_is_given_up_too() {
    let mut stage = lag(|settings| settings.on_stale = OnStale::Closed);
    stage.after(0, Known(1.0));
    assert_eq!(stage.after(6000, LOST).0, State::Stale(Unknown::Unreachable));
    assert_eq!(stage.after(600_000, LOST), (State::GivenUp, Flow::Open));
}

#[test]
fn who_waited_does_not_come_all_at_once() {
    for on_stale in [OnStale::Open, OnStale::Closed] {
        let mut stage = lag(|settings| settings.on_stale = on_stale);
        stage.after(0, Known(9.0));
        (stage.waiting, stage.in_flight) = (200, 1.0);
        // Reopened, or lost and therefore open: the same step.
        let reopens = if on_stale == OnStale::Open { LOST } else { Known(1.0) };
        let mut before = 1.0;
        for _ in 0..8 {
            let Flow::AtOnce(now) = stage.after(6000, reopens).1 else { panic!("a herd") };
            assert!(now <= before + f64::max(1.0, before * GROWS_BY), "{before} → {now}");
            (before, stage.in_flight) = (now, now.floor());
        }
        stage.waiting = 0;
        assert_eq!(stage.after(250, reopens).1, Flow::Open);
    }
}

#[test]
fn permits_come_into_being_shrink_and_grow_by_their_steps() {
    let mut stage = stage(Settings::new(BuiltIn::ThreadsRunning, 40.0));
    stage.in_flight = 30.0;
    assert_eq!(stage.after(250, Known(20.0)), (State::Open, Flow::Open));
    assert_eq!(stage.after(250, Known(21.0)), (State::Limiting, Flow::AtOnce(30.0)), "from what is in flight");
    assert_eq!(stage.after(250, Known(21.0)).1, Flow::AtOnce(27.0), "a tenth less");
    assert_eq!(stage.after(250, Known(21.0)).1, Flow::AtOnce(27.0), "only every second sample");
    assert_eq!(stage.after(250, Known(41.0)), (State::Closed, Flow::Trickle(1.0)));
    stage.after(250, Known(41.0));
    stage.in_flight = 12.0;
    let Flow::AtOnce(pool) = stage.after(250, Known(10.0)).1 else { panic!("no pool") };
    assert!((pool - 13.5 * 1.05).abs() < 1e-9, "halved, and grown by a step: {pool}");
    stage.in_flight = 1.0;
    let unused = stage.after(250, Known(10.0)).1;
    assert_eq!(stage.after(250, Known(10.0)).1, unused, "what is not used does not grow");
    for _ in 0..300 {
        stage.after(250, Known(10.0));
    }
    assert_eq!(stage.after(250, Known(10.0)), (State::Open, Flow::Open), "forgotten after a calm minute");
}

#[test]
fn permits_never_end_altogether() {
    let mut stage = stage(Settings::new(BuiltIn::ThreadsRunning, 40.0));
    stage.in_flight = 2.0;
    for n in 0..100 {
        stage.after(250, Known(30.0 + f64::from(n) / 100.0));
    }
    assert_eq!(stage.gate.flow(), Flow::AtOnce(crate::control::permits::LEAST));
}

#[test]
fn another_threshold_keeps_what_was_learnt_and_another_law_does_not() {
    let mut stage = stage(Settings::new(BuiltIn::ThreadsRunning, 40.0));
    stage.in_flight = 30.0;
    stage.after(250, Known(21.0));
    let settings = Settings::new(BuiltIn::ThreadsRunning, 80.0);
    stage.gate.change(settings.clone());
    stage.in_flight = 20.0;
    assert_eq!(stage.after(250, Known(21.0)).1, Flow::AtOnce(31.5));
    stage.gate.change(Settings { control: Control::Binary, ..settings });
    assert_eq!(stage.after(250, Known(21.0)).1, Flow::Open);
}

#[test]
fn nothing_to_measure_is_nothing_to_worry_about() {
    let mut stage = stage(Settings::new(BuiltIn::CommitDelay, 0.05));
    assert_eq!(stage.after(250, Aggregate::Idle), (State::Open, Flow::Open));
}

#[test]
fn flows_in_an_operators_words() {
    for (flow, words) in [
        (Flow::Open, "open"),
        (Flow::AtOnce(3.0), "3 at once"),
        (Flow::AtOnce(0.25), "0.25 at once"),
        (Flow::AtOnce(0.0312), "0.0312 at once"),
        (Flow::AtOnce(412.4), "412 at once"),
        (Flow::Trickle(1.0), "closed, 1/s"),
        (Flow::Trickle(0.1), "closed, 0.1/s"),
        (Flow::Trickle(100.0), "closed, 100/s"),
        (Flow::Trickle(0.0), "closed"),
        (Flow::Waking, "waking"),
    ] {
        assert_eq!(flow.to_string(), words);
    }
}

/// Who is asleep, or open for want of anything known, holds nobody back: that is no time of being closed. Nor does it make
/// that time begin anew.
#[test]
fn only_time_closed_counts_for_giving_up() {
    let most = Duration::from_secs(600);
    let mut stage = lag(|settings| settings.max_closed = Some(most));
    assert_eq!(stage.after(250, Known(9.0)).0, State::Closed);
    assert_eq!(stage.after(300_000, Known(9.0)).0, State::Closed);
    stage.asleep = true;
    assert_eq!(stage.after(3_600_000, Known(9.0)).0, State::Waking);
    stage.asleep = false;
    assert_eq!(stage.after(250, Known(9.0)).0, State::Closed);
    assert!(matches!(stage.after(250, LOST).0, State::Stale(_)));
    assert_eq!(stage.after(3_600_000, LOST).1, Flow::Open);
    assert_eq!(stage.after(250, Known(9.0)).0, State::Closed);
    assert_eq!(stage.after(299_000, Known(9.0)).0, State::Closed);
    assert_eq!(stage.after(1_000, Known(9.0)).0, State::GivenUp, "ten minutes closed, all added up");
}

/// Where a metric is asked once a minute, nobody waits for the next minute to come one by one.
#[test]
fn steps_do_not_wait_for_samples_that_are_rare() {
    let mut stage = lag(|settings| settings.interval = Duration::from_secs(60));
    stage.after(60_000, Known(9.0));
    stage.waiting = 100;
    let Flow::AtOnce(mut before) = stage.after(60_000, Known(1.0)).1 else { panic!("a herd") };
    for _ in 0..12 {
        assert_eq!(stage.gate.step(before, stage.waiting, stage.now + Duration::from_millis(240)), None);
        stage.now += Duration::from_millis(250);
        let Some(Flow::AtOnce(now)) = stage.gate.step(before, stage.waiting, stage.now) else { panic!("a herd") };
        assert!(now > before && now <= (1.5 * before).max(before + 1.0), "{before} → {now}");
        before = now;
    }
    stage.now += Duration::from_millis(250);
    assert_eq!(stage.gate.step(before, 0, stage.now), Some(Flow::Open));
    assert_eq!(stage.gate.step(before, 0, stage.now + Duration::from_secs(1)), None, "it is open");
}

#[test]
fn who_waited_for_the_first_look_does_not_come_all_at_once() {
    let mut stage = lag(|_| {});
    stage.after(250, Known(9.0));
    stage.gate.reset();
    stage.waiting = 200;
    assert_eq!(stage.after(10, Aggregate::Unknown(Unknown::NotYet)).1, Flow::Waking);
    let Flow::AtOnce(first) = stage.after(250, Known(1.0)).1 else { panic!("a herd") };
    assert!(first <= 2.0, "{first}");
    // Nobody was held back before, so they are no herd: they come as they would have come without a gate.
    let mut calm = lag(|_| {});
    calm.waiting = 200;
    assert_eq!(calm.after(10, Aggregate::Unknown(Unknown::NotYet)).1, Flow::Waking);
    assert_eq!(calm.after(250, Known(1.0)).1, Flow::Open);
    calm.asleep = true;
    assert_eq!(calm.after(5000, Known(1.0)).1, Flow::Waking);
    calm.asleep = false;
    assert_eq!(calm.after(250, Known(1.0)).1, Flow::Open);
}

#[test]
fn never_closes_again_what_was_given_up() {
    let mut stage = lag(|settings| settings.max_closed = Some(Duration::from_secs(60)));
    stage.after(250, Known(9.0));
    assert_eq!(stage.after(60_000, Known(9.0)).0, State::GivenUp);
    let never = Settings { max_closed: None, ..stage.gate.settings().clone() };
    stage.gate.change(never);
    assert_eq!(stage.after(250, Known(9.0)).0, State::Closed);
}

/// Another law on the same metric: who was held back by the old one does not come all at once.
#[test]
fn a_changed_control_lets_out_no_herd() {
    let mut stage = lag(|settings| settings.control = Control::Paced);
    assert_eq!(stage.after(250, Known(9.0)).0, State::Closed);
    stage.waiting = 200;
    let other = Settings { control: Control::Binary, ..stage.gate.settings().clone() };
    stage.gate.change(other);
    let (_, flow) = stage.after(250, Known(4.5));
    assert!(matches!(flow, Flow::AtOnce(few) if few <= 2.0), "{flow}");
}

/// One replica keeps up, the other is stuck: what decides the value decides the pace.
#[test]
fn the_scope_counts_for_the_pace_too() {
    for control in [Control::Paced, Control::Permits] {
        for (over, then) in [
            (Over::Max, (State::Closed, Flow::Trickle(1.0))),
            (Over::Avg, (State::Closed, Flow::Trickle(1.0))),
            (Over::Min, (State::Open, Flow::Open)),
        ] {
            let mut settings = Settings { control, ..Settings::new(BuiltIn::ReplicationLag, 5.0) };
            settings.scope.over = over;
            let mut gate = Gate::new(settings);
            let start = Instant::now();
            for n in 1..=20 {
                let now = start + Duration::from_millis(250 * n);
                let work = Work { transactions: 10.0 * n as f64, rows: 0.0 };
                let replica = |server: &str, lag, applied| Replica { server: server.into(), lag, applied, at: now };
                let replicas = [replica("a", 0.1, Some(work)), replica("b", 1000.0, Some(Work::NONE))];
                let lag = over.of(replicas.iter().map(|replica| replica.lag)).unwrap();
                gate.observe(&Observation {
                    now,
                    aggregate: Known(lag),
                    replicas: &replicas,
                    work,
                    in_flight: 1.0,
                    ran: 0.1 * n as f64,
                    waiting: 0,
                    asleep: false,
                });
            }
            assert_eq!((gate.state(), gate.flow()), then, "{control} {over}");
        }
    }
}

/// A replica had stopped to apply when it was last heard of, at a lag under the threshold: then nothing passed, and nothing ever would.
#[test]
fn a_pace_of_nothing_that_is_held_is_given_up_too() {
    for (behind, then) in [(40.0, State::GivenUp), (2.0, State::Stale(Unknown::Unreachable))] {
        let mut settings = Settings { trickle: 0.0, ..Settings::new(BuiltIn::ReplicationLag, 5.0) };
        settings.on_stale = OnStale::HoldLast;
        let mut stage = stage(settings);
        stage.waiting = 9;
        for n in 1..=20 {
            // It applies 100 a second.
            let applied = Work { transactions: 25.0 * f64::from(n), rows: 0.0 };
            let work = applied + Work { transactions: 100.0 * behind, rows: 0.0 };
            stage.now += Duration::from_millis(250);
            let replica = Replica { server: "r".into(), lag: 2.0, applied: Some(applied), at: stage.now };
            stage.gate.observe(&Observation {
                now: stage.now,
                aggregate: Known(2.0),
                replicas: &[replica],
                work,
                in_flight: 0.0,
                ran: 0.0,
                waiting: stage.waiting,
                asleep: false,
            });
        }
        let Flow::Paced(pace) = stage.gate.flow() else { panic!("{}", stage.gate.flow()) };
        assert_eq!(pace.budget <= 0.0, then == State::GivenUp, "{pace:?}");
        assert_eq!(stage.after(6000, LOST), (State::Stale(Unknown::Unreachable), Flow::Paced(pace)));
        assert_eq!(stage.after(600_000, LOST).0, then, "{behind} s behind");
        assert_eq!(stage.after(250, LOST).0, then, "it stays so");
    }
}
