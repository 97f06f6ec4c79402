//! What is aimed at, and whether a run met it.

use crate::contestant::Role;
use crate::figure::Figure;
use crate::rounds::{Block, Rounds};
use crate::stats::Median;
use crate::workload::Workload;

/// A bound on one figure, in itself or divided by another contestant's in the same round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aim {
    pub figure: Figure,
    pub to: Option<Role>,
    pub bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

/// Whether the median meets the bound, and whether the whole 95 % interval lies on the same side. Without such an
/// interval, in fewer than six rounds, no mark is sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Met,
    MetUnsure,
    MissedUnsure,
    Missed,
}

/// The aims of a contestant at a workload.
pub fn of(workload: Workload, role: Role) -> Vec<Aim> {
    match role {
        Role::Subject => of_the_session(workload),
        Role::Ruled => of_the_rules(workload),
        Role::Direct | Role::Haproxy | Role::Relay | Role::RelayPerCore | Role::Outsider => Vec::new(),
    }
}

/// Rules that concern nobody who is here must cost next to nothing; of several builds the first is what there was before.
fn of_the_rules(workload: Workload) -> Vec<Aim> {
    match workload {
        Workload::Mix { .. } => {
            vec![Aim { figure: Figure::Cpu, to: Some(Role::Subject), bound: Bound::AtMost(1.05) }]
        }
        Workload::Latency | Workload::Stream | Workload::Connect { .. } | Workload::Idle => Vec::new(),
    }
}

fn of_the_session(workload: Workload) -> Vec<Aim> {
    let aim = |figure, to, bound| Aim { figure, to: Some(to), bound };
    match workload {
        Workload::Mix { connections, .. } => vec![
            aim(Figure::Queries, Role::Haproxy, Bound::AtLeast(if connections == 1 { 1.0 } else { 1.2 })),
            aim(Figure::Queries, Role::Relay, Bound::AtLeast(0.95)),
            aim(Figure::Cpu, Role::Relay, Bound::AtMost(1.15)),
        ],
        Workload::Latency => vec![aim(Figure::P99, Role::Haproxy, Bound::AtMost(1.0))],
        Workload::Stream => vec![aim(Figure::FirstByte, Role::Haproxy, Bound::AtMost(1.0))],
        Workload::Connect { .. } => vec![aim(Figure::Connections, Role::Haproxy, Bound::AtLeast(0.8))],
        Workload::Idle => vec![Aim { figure: Figure::Memory, to: None, bound: Bound::AtMost(16.0) }],
    }
}

impl Aim {
    /// The figure as the aim sees it, for a contestant. `None` where it or the other one was not measured.
    pub fn seen(self, rounds: &Rounds, block: &Block, contestant: usize) -> Option<Median> {
        match self.to {
            Some(role) => block.ratio(contestant, rounds.with_role(role)?, self.figure),
            None => block.median(contestant, self.figure),
        }
    }

    pub fn mark(self, seen: Median) -> Mark {
        let meets = |value: f64| match self.bound {
            Bound::AtLeast(bound) => value >= bound,
            Bound::AtMost(bound) => value <= bound,
        };
        let sure = seen.has_interval() && meets(seen.low) == meets(seen.high);
        match (meets(seen.value), sure) {
            (true, true) => Mark::Met,
            (true, false) => Mark::MetUnsure,
            (false, false) => Mark::MissedUnsure,
            (false, true) => Mark::Missed,
        }
    }

    pub fn describe(self) -> String {
        let (sign, bound) = match self.bound {
            Bound::AtLeast(bound) => ('≥', bound),
            Bound::AtMost(bound) => ('≤', bound),
        };
        match self.to {
            Some(role) => format!("{sign} {bound:.2} × {}", short(role)),
            None => format!("{sign} {bound}"),
        }
    }
}

impl Mark {
    pub fn text(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::MetUnsure => "met?",
            Self::MissedUnsure => "missed?",
            Self::Missed => "MISSED",
        }
    }
}

fn short(role: Role) -> &'static str {
    match role {
        Role::Direct => "direct",
        Role::Haproxy => "haproxy",
        Role::Relay => "relay",
        Role::RelayPerCore => "relay-per-core",
        Role::Subject => "tollgate",
        Role::Ruled => "rules",
        Role::Outsider => "other",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_say_how_sure_they_are() {
        let check = |bound, (low, value, high), expected| {
            let aim = Aim { figure: Figure::Queries, to: Some(Role::Haproxy), bound };
            assert_eq!(aim.mark(Median { value, low, high, rounds: 20 }), expected, "{bound:?} {low} {value} {high}");
        };
        check(Bound::AtLeast(1.2), (1.2, 1.3, 1.4), Mark::Met);
        check(Bound::AtLeast(1.2), (1.1, 1.3, 1.4), Mark::MetUnsure);
        check(Bound::AtLeast(1.2), (1.0, 1.1, 1.4), Mark::MissedUnsure);
        check(Bound::AtLeast(1.2), (1.0, 1.1, 1.1), Mark::Missed);
        check(Bound::AtMost(16.0), (14.0, 15.0, 16.0), Mark::Met);
        check(Bound::AtMost(16.0), (14.0, 15.0, 17.0), Mark::MetUnsure);
        check(Bound::AtMost(16.0), (15.0, 17.0, 18.0), Mark::MissedUnsure);
        check(Bound::AtMost(16.0), (17.0, 17.0, 18.0), Mark::Missed);
    }

    #[test]
    fn few_rounds_are_never_sure() {
        let aim = Aim { figure: Figure::Memory, to: None, bound: Bound::AtMost(16.0) };
        for (value, rounds, expected) in [(9.0, 1, Mark::MetUnsure), (20.0, 5, Mark::MissedUnsure), (9.0, 6, Mark::Met)]
        {
            assert_eq!(aim.mark(Median { value, low: value, high: value, rounds }), expected);
        }
    }

    #[test]
    fn one_connection_needs_only_to_keep_up() {
        let mix = crate::sysbench::Mix::ReadOnly;
        for (connections, expected) in [(1, 1.0), (8, 1.2), (64, 1.2)] {
            assert_eq!(of(Workload::Mix { mix, connections }, Role::Subject)[0].bound, Bound::AtLeast(expected));
        }
    }

    #[test]
    fn rules_are_compared_with_the_same_without_them() {
        let workload = Workload::Mix { mix: crate::sysbench::Mix::ReadOnly, connections: 8 };
        let [aim] = of(workload, Role::Ruled)[..] else { panic!("one aim") };
        assert_eq!(
            (aim.figure, aim.to, aim.describe().as_str()),
            (Figure::Cpu, Some(Role::Subject), "≤ 1.05 × tollgate")
        );
        assert!(of(workload, Role::Haproxy).is_empty());
    }
}
