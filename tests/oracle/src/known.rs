//! Holes that were found and are not closed. A campaign counts them and goes on, so that it shows what is new.
//!
//! Whoever closes one removes its row here.

use crate::case::Case;
use crate::verdict::{Kind, Milder};

/// A hole by the packets that show it.
struct Known {
    name: &'static str,
    is: fn(&Case, &Milder) -> bool,
}

const KNOWN: [Known; 1] = [
    // What a text that was prepared by SQL locks is not known. No rule becomes milder by it: who holds such a lock is treated as one
    // that holds none, and only a drain may end its session too early.
    Known {
        name: "locks of EXECUTE and SET STATEMENT are forgotten",
        is: |case, failure| {
            failure.kind == Kind::ForgottenLock && (case.mentions("execute") || case.mentions("statement"))
        },
    },
];

/// The name of the hole that a failure shows.
pub fn known(case: &Case, failure: &Milder) -> Option<&'static str> {
    KNOWN.iter().find(|known| (known.is)(case, failure)).map(|known| known.name)
}
