//! What one server said of one metric, and when.

use std::fmt;
use std::time::Instant;

use crate::metric::{MetricName, ServerName};
use crate::work::Work;

/// An answer, or that there was none.
#[derive(Debug, Clone)]
pub struct Report {
    pub metric: MetricName,
    pub server: ServerName,
    pub reading: Reading,
    /// When it was true: not later than the answer arrived.
    pub at: Instant,
    /// Of a replica that shows a heartbeat of ours: the work that had been committed when that one was written.
    pub applied: Option<Work>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Reading {
    /// Never negative, never NaN: see [`Reading::of`].
    Value(f64),
    /// Measured on traffic, and there was none: nothing speaks against more.
    Idle,
    /// A replica that is behind on purpose does not count.
    Delayed,
    Unknown(Unknown),
}

impl Reading {
    /// A number from outside.
    pub fn of(value: f64) -> Reading {
        if value.is_nan() || value.is_infinite() {
            Reading::Unknown(Unknown::NotANumber)
        } else if value < 0.0 {
            Reading::Unknown(Unknown::Negative)
        } else {
            Reading::Value(value)
        }
    }
}

macro_rules! unknown {
    ($($variant:ident $word:literal $means:literal,)*) => {
        /// Why nobody knows.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Unknown { $(#[doc = $means] $variant,)* }

        impl Unknown {
            pub const ALL: &'static [Unknown] = &[$(Unknown::$variant,)*];

            pub fn as_str(self) -> &'static str {
                match self { $(Unknown::$variant => $word,)* }
            }

            /// For an operator.
            pub fn means(self) -> &'static str {
                match self { $(Unknown::$variant => $means,)* }
            }
        }
    };
}

unknown! {
    NotYet "not_yet" "It has not been measured yet.",
    Unreachable "unreachable" "The server cannot be reached.",
    Denied "denied" "The probe user is not let in, or lacks a privilege: see `tollgate grants`.",
    TimedOut "timed_out" "No answer came by the deadline.",
    Failed "failed" "The question ended in an error.",
    Null "null" "The answer was NULL.",
    NotANumber "not_a_number" "The answer was not a number.",
    Negative "negative" "The answer was a negative number.",
    NoRow "no_row" "There was no row in the answer.",
    SeveralRows "several_rows" "There were several rows, or columns, in the answer.",
    Stopped "stopped" "The replica's applier does not run.",
    NotAReplica "not_a_replica" "The server follows nobody: it may have been promoted.",
    Foreign "foreign" "The heartbeat row shows a beat that this proxy did not write.",
    Unsupported "unsupported" "This server, or this place, cannot tell.",
    NoServer "no_server" "There is nobody to ask.",
}

impl Unknown {
    /// Said by a server that was asked and answered: what it said before counts no more.
    pub fn is_certain(self) -> bool {
        match self {
            Unknown::Stopped | Unknown::NotAReplica | Unknown::NoServer => true,
            Unknown::NotYet
            | Unknown::Unreachable
            | Unknown::Denied
            | Unknown::TimedOut
            | Unknown::Failed
            | Unknown::Null
            | Unknown::NotANumber
            | Unknown::Negative
            | Unknown::NoRow
            | Unknown::SeveralRows
            | Unknown::Foreign
            | Unknown::Unsupported => false,
        }
    }
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_number_that_makes_sense_is_a_value() {
        for (number, reading) in [
            (0.0, Reading::Value(0.0)),
            (4.2, Reading::Value(4.2)),
            (-0.001, Reading::Unknown(Unknown::Negative)),
            (f64::NAN, Reading::Unknown(Unknown::NotANumber)),
            (f64::INFINITY, Reading::Unknown(Unknown::NotANumber)),
        ] {
            assert_eq!(Reading::of(number), reading);
        }
    }
}
