//! What a run is: who holds the writers back, and what happens meanwhile. Pure.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What holds the writers back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// Nothing.
    Off,
    /// No gate; the rig itself keeps the writers a little under what the replica was measured to apply.
    ByHand,
    /// A gate that opens and closes.
    Binary,
    /// A gate that releases writes at the pace of the replica, by the heartbeat that Tollgate writes.
    Paced,
    /// The same without a heartbeat, by the lag that the replica shows.
    NoHeartbeat,
    /// A gate that limits how many write at once, without a heartbeat.
    Permits,
}

/// What happens while the writers write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scenario {
    /// Nothing but single-row updates.
    Steady,
    /// In the middle third the replica applies only 40 % of what it did.
    Drop,
    /// As many writes as are a fifth of what the replica can apply go straight to the primary.
    Around,
    /// Nine in ten writes are of one row, the tenth of fifty.
    Sizes,
    /// In the middle, one update that takes the replica half the threshold.
    Large,
    /// In the middle, one update that takes the replica two seconds.
    Huge,
}

/// A share of what the replica was measured to apply: at all of it, lag would wander.
pub const BY_HAND_SHARE: f64 = 0.95;
pub const AROUND_SHARE: f64 = 0.2;
const DROP_TO: f64 = 0.4;
/// One write in so many is large, in [`Scenario::Sizes`].
pub const LARGE_ONE_IN: u32 = 10;
pub const LARGE_ROWS: u32 = 50;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub scenario: Scenario,
    pub control: Control,
    pub threshold: Duration,
    pub length: Duration,
    pub warm_up: Duration,
    pub writers: u32,
    /// Rows a second that the replica is slowed to.
    pub replica_rate: f64,
    pub foreground_rate: f64,
}

impl Control {
    pub const ALL: [Self; 6] = [Self::Off, Self::ByHand, Self::Binary, Self::Paced, Self::NoHeartbeat, Self::Permits];

    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::ByHand => "by-hand",
            Self::Binary => "binary",
            Self::Paced => "paced",
            Self::NoHeartbeat => "no-heartbeat",
            Self::Permits => "permits",
        }
    }

    /// For those who read a plot and nothing else.
    pub fn title(self) -> &'static str {
        match self {
            Self::Off => "no gate",
            Self::ByHand => "limited by hand",
            Self::Binary => "binary gate",
            Self::Paced => "paced gate",
            Self::NoHeartbeat => "paced, no heartbeat",
            Self::Permits => "permits, no heartbeat",
        }
    }
}

impl Scenario {
    pub fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Drop => "drop",
            Self::Around => "around",
            Self::Sizes => "sizes",
            Self::Large => "large",
            Self::Huge => "huge",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Steady => "single-row updates",
            Self::Drop => "the replica's speed drops to 40 % in the middle third",
            Self::Around => "a fifth of the writes go around the proxy",
            Self::Sizes => "nine writes in ten of 1 row, the tenth of 50",
            Self::Large => "one large update, worth half the threshold",
            Self::Huge => "one huge update, worth 2 s of the replica",
        }
    }
}

impl Plan {
    /// From when to when the replica is slower, and what share of its speed is left.
    pub fn slowdown(&self) -> Option<(Duration, Duration, f64)> {
        (self.scenario == Scenario::Drop).then(|| (self.length / 3, self.length * 2 / 3, DROP_TO))
    }

    /// The share of its full speed that the replica has at this time of the run.
    pub fn speed(&self, at: Duration) -> f64 {
        match self.slowdown() {
            Some((from, to, share)) if (from..to).contains(&at) => share,
            Some(_) | None => 1.0,
        }
    }

    /// The mean of [`Self::speed`] between two times.
    pub fn mean_speed(&self, from: Duration, to: Duration) -> f64 {
        let whole = to.saturating_sub(from).as_secs_f64();
        let Some((slow_from, slow_to, share)) = self.slowdown() else { return 1.0 };
        let slow = slow_to.min(to).saturating_sub(slow_from.max(from)).as_secs_f64();
        if whole > 0.0 { 1.0 - (1.0 - share) * slow / whole } else { 1.0 }
    }

    /// When one large update comes, and how long it takes the replica.
    pub fn large_update(&self) -> Option<(Duration, Duration)> {
        let worth = match self.scenario {
            Scenario::Large => self.threshold / 2,
            Scenario::Huge => Duration::from_secs(2),
            Scenario::Steady | Scenario::Drop | Scenario::Around | Scenario::Sizes => return None,
        };
        Some(((self.warm_up + self.length) / 2, worth))
    }

    /// `steady-paced`, for files.
    pub fn name(&self) -> String {
        format!("{}-{}", self.scenario.name(), self.control.name())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn plan(scenario: Scenario, control: Control) -> Plan {
        Plan {
            scenario,
            control,
            threshold: Duration::from_secs(1),
            length: Duration::from_secs(90),
            warm_up: Duration::from_secs(30),
            writers: 48,
            replica_rate: 400.0,
            foreground_rate: 200.0,
        }
    }

    #[test]
    fn the_replica_is_slow_in_the_middle_third() {
        let plan = plan(Scenario::Drop, Control::Off);
        for (second, expected) in [(0, 1.0), (29, 1.0), (30, 0.4), (59, 0.4), (60, 1.0), (89, 1.0)] {
            assert_eq!(plan.speed(Duration::from_secs(second)), expected, "at {second} s");
        }
        for (from, to, expected) in [(0, 30, 1.0), (30, 60, 0.4), (30, 90, 0.7), (0, 90, 0.8), (7, 7, 1.0)] {
            let seen = plan.mean_speed(Duration::from_secs(from), Duration::from_secs(to));
            assert!((seen - expected).abs() < 1e-9, "{from} to {to} s: {seen}");
        }
    }

    #[test]
    fn the_large_update_comes_after_the_warm_up() {
        let (at, worth) = plan(Scenario::Large, Control::Paced).large_update().unwrap();
        assert_eq!((at, worth), (Duration::from_secs(60), Duration::from_millis(500)));
        let (_, worth) = plan(Scenario::Huge, Control::Paced).large_update().unwrap();
        assert_eq!(worth, Duration::from_secs(2));
        assert_eq!(plan(Scenario::Steady, Control::Paced).large_update(), None);
    }
}
