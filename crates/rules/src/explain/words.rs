//! Outcomes as an operator reads them.

use std::fmt;

use super::{Because, Field, Outcome, Shielded};
use crate::rule::Mode;

impl Field {
    /// Without the gate.
    fn key(&self) -> &'static str {
        match self {
            Field::Share => "share",
            Field::MaxConcurrency => "max_concurrency",
            Field::MaxConnections => "max_connections",
            Field::Threshold(_) => "thresholds",
            Field::SkipGates => "skip_gates",
            Field::Weight => "weight",
        }
    }
}

/// As it is written in `do`; what part passes has three names there.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())?;
        match self {
            Field::Threshold(gate) => write!(f, ".{gate}"),
            Field::Share | Field::MaxConcurrency | Field::MaxConnections | Field::SkipGates | Field::Weight => Ok(()),
        }
    }
}

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Because::Priority => "by its priority",
            Because::MoreKeys => "which has more keys",
            Because::MoreExact => "which fits more exactly",
            Because::Stricter => "which is stricter",
            Because::Id => "which is alike and comes first by its id",
            Because::OtherOriginStricter => "since of the file and the run time the stricter stands",
            Because::Overridden => "which overrides",
            Because::Partly => "since the rule matches in part or in doubt, and is not stricter",
            Because::NotAtLogin => "since not all of its keys are known at login",
        })
    }
}

impl fmt::Display for Shielded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.by {
            Some(other) if self.field.is_limit() => {
                write!(f, "its {} is replaced by {}, {}", self.field, other.id, self.because)
            }
            None if self.field.is_limit() => write!(f, "its {} does not count, {}", self.field, self.because),
            Some(owner) => write!(f, "{} is owned by {}, {}", self.field, owner.id, self.because),
            None => write!(f, "{} is owned by nobody, {}", self.field, self.because),
        }
    }
}

impl fmt::Display for Outcome<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = |found: &Option<String>| found.clone().unwrap_or_else(|| "nothing".to_owned());
        match self {
            Outcome::Matches { mode, partly, owns, shielded } => {
                f.write_str(if *partly { "matches in part" } else { "matches" })?;
                let names = |fields: Vec<&Field>| fields.iter().map(ToString::to_string).collect::<Vec<String>>();
                let (limits, owned): (Vec<&Field>, Vec<&Field>) = owns.iter().partition(|field| field.is_limit());
                if !owned.is_empty() {
                    let owns = if *mode == Mode::Warn { "would own" } else { "owns" };
                    write!(f, ", {owns} {}", names(owned).join(" and "))?;
                }
                if !limits.is_empty() {
                    let count = match (mode, limits.len()) {
                        (Mode::Warn, _) => "would count",
                        (Mode::Enforce | Mode::Off, 1) => "counts",
                        (Mode::Enforce | Mode::Off, _) => "count",
                    };
                    write!(f, "; its {} {count}", names(limits).join(" and "))?;
                }
                shielded.iter().try_for_each(|shielded| write!(f, "; {shielded}"))
            }
            Outcome::Off => f.write_str("would match, but is off"),
            Outcome::Expired { since } => write!(f, "would match, but ended at {since}"),
            Outcome::Inactive { until: Some(until) } => write!(f, "would match, but not before {until}"),
            Outcome::Inactive { until: None } => f.write_str("would match, but never in these hours"),
            Outcome::ConditionFailed { key, found: value } => write!(f, "{key} does not fit: {}", found(value)),
            Outcome::NotFailed { key, found: value } => write!(f, "{key} is left out by `not`: {}", found(value)),
        }
    }
}
