//! The figures of a run that are set against the aims. Pure.

use super::plan::{Control, Scenario};
use super::record::Record;
use super::series::{Spread, lag_between, rate_between, share_over};
use serde::Serialize;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// All after the warm-up, but for the first peak, which is the largest lag during it.
    pub lag: Spread,
    pub first_peak: f64,
    /// The share of the time in which lag was over the threshold.
    pub over: f64,
    pub commits_a_second: f64,
    pub rows_a_second: f64,
    /// Rows a second that the replica applied.
    pub applied_a_second: f64,
    /// Rows a second that the replica can apply, as measured before the run, with the slowdown that the scenario has.
    pub apply_rate: f64,
    /// What the writers got of that.
    pub share: f64,
    /// Milliseconds.
    pub foreground_p50: Option<f64>,
    pub foreground_p99: Option<f64>,
    /// The foreground's p99 as a multiple of that with the writers limited by hand.
    pub foreground_ratio: Option<f64>,
}

/// What is hoped for, and whether it came true.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aim {
    pub text: String,
    pub met: bool,
}

impl Summary {
    /// `None` if the run ended before its warm-up did.
    pub fn of(record: &Record, by_hand: Option<&Record>) -> Option<Self> {
        let plan = &record.plan;
        let (from, to) = (plan.warm_up.as_secs_f64(), plan.length.as_secs_f64());
        let looks = &record.looks;
        let rows = rate_between(looks, from, to, |look| look.rows)?;
        let apply_rate = record.apply_rate * plan.mean_speed(plan.warm_up, plan.length);
        let foreground = record.foreground.after;
        let p99 = |record: &Record| Some(record.foreground.after?.p99 as f64 / 1000.0);
        Some(Self {
            lag: lag_between(looks, from, to)?,
            first_peak: lag_between(looks, 0.0, from).map_or(0.0, |spread| spread.max),
            over: share_over(looks, from, to, plan.threshold.as_secs_f64()),
            commits_a_second: rate_between(looks, from, to, |look| look.commits)?,
            rows_a_second: rows,
            applied_a_second: rate_between(looks, from, to, |look| look.applied)?,
            apply_rate,
            share: rows / apply_rate,
            foreground_p50: foreground.map(|latency| latency.p50 as f64 / 1000.0),
            foreground_p99: p99(record),
            foreground_ratio: by_hand.and_then(p99).zip(p99(record)).map(|(hand, here)| here / hand),
        })
    }

    /// The aims for a gated run; there are none for the others.
    pub fn aims(&self, record: &Record) -> Vec<Aim> {
        let (plan, threshold) = (&record.plan, record.plan.threshold.as_secs_f64());
        let (lag, share) = match plan.control {
            Control::Off | Control::ByHand | Control::Binary => return Vec::new(),
            Control::Paced if plan.scenario == Scenario::Drop => (1.5, 0.9),
            Control::Paced => (1.0, 0.9),
            Control::NoHeartbeat | Control::Permits => (1.5, 0.85),
        };
        let aim = |text: String, met| Aim { text, met };
        let mut aims = vec![aim(format!("writers ≥ {:.0} %", share * 100.0), self.share >= share)];
        // One update that takes longer than the threshold takes lag over it, whatever the gate does.
        if plan.scenario != Scenario::Huge {
            let limit = seconds(lag * threshold);
            aims.push(aim(format!("lag p99 < {limit}"), self.lag.p99 < lag * threshold));
        }
        if plan.control == Control::Paced {
            let limit = seconds(1.5 * threshold);
            aims.push(aim(format!("first peak < {limit}"), self.first_peak < 1.5 * threshold));
        }
        if let Some(ratio) = self.foreground_ratio {
            aims.push(aim("foreground p99 ≤ 1.5 × by-hand".to_owned(), ratio <= 1.5));
        }
        aims
    }
}

/// `0.42 s`, `12.3 s`, `45 ms`.
pub fn seconds(value: f64) -> String {
    match value {
        _ if value < 0.0995 => format!("{:.0} ms", value * 1000.0),
        _ if value < 9.995 => format!("{value:.2} s"),
        _ => format!("{value:.1} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    #[test]
    fn the_figures_of_a_run() {
        let (hand, paced) = (record(Control::ByHand, 0.05, 0.95), record(Control::Paced, 0.4, 0.97));
        let summary = Summary::of(&paced, Some(&hand)).unwrap();
        assert_eq!(summary.lag, Spread { p50: 0.4, p99: 0.4, max: 0.4 });
        assert_eq!((summary.first_peak, summary.over), (0.4, 0.0));
        assert!((summary.share - 0.97).abs() < 0.001, "{}", summary.share);
        assert_eq!((summary.foreground_p99, summary.foreground_ratio), (Some(0.9), Some(1.0)));
        assert!(summary.aims(&paced).iter().all(|aim| aim.met));
        assert_eq!(summary.aims(&paced).len(), 4);
        assert_eq!(Summary::of(&hand, None).unwrap().foreground_ratio, None);
    }

    #[test]
    fn aims_are_missed_too() {
        let paced = record(Control::Paced, 1.6, 0.5);
        let summary = Summary::of(&paced, None).unwrap();
        assert_eq!(summary.over, 1.0);
        assert!(summary.aims(&paced).iter().all(|aim| !aim.met));
        let off = record(Control::Off, 9.0, 9.0);
        assert_eq!(Summary::of(&off, None).unwrap().aims(&off), []);
    }

    #[test]
    fn a_run_that_ended_early_has_no_figures() {
        let mut cut = record(Control::Paced, 0.4, 1.0);
        cut.looks.truncate(100);
        assert_eq!(Summary::of(&cut, None), None);
    }

    #[test]
    fn times_for_people() {
        for (value, text) in [(0.045, "45 ms"), (0.42, "0.42 s"), (9.994, "9.99 s"), (12.34, "12.3 s")] {
            assert_eq!(seconds(value), text);
        }
    }
}
