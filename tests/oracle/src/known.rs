//! Holes that were found and are not closed yet. A campaign counts them and goes on, so that it shows what is new.
//!
//! Whoever closes one removes its row here.

use crate::case::{Case, Protocol};
use crate::verdict::{FAILED, Kind, Milder};

/// A hole by the packets that show it.
struct Known {
    name: &'static str,
    is: fn(&Case, &Milder) -> bool,
}

const KNOWN: [Known; 4] = [
    // The last reply of CALL, and on MariaDB that of SET STATEMENT … FOR and of BEGIN NOT ATOMIC, shows the sql_mode of the
    // statements within. The server goes back to the session's, and the next packet is read in the wrong mode.
    Known {
        name: "status flag of a mode that is over",
        is: |case, _| case.earlier.iter().any(|packet| is_of_a_mode(packet)),
    },
    // The effect of a text that was prepared by SQL on its session's locks is not kept.
    Known {
        name: "locks of EXECUTE and SET STATEMENT",
        is: |case, failure| is_of_locks(failure.kind) && (case.mentions("execute") || case.mentions("statement")),
    },
    // Both servers prepare the first statement of `SELECT 1;\0; LOCK TABLES t WRITE` and pass over the rest.
    Known {
        name: "locks behind a NUL of a prepared text",
        is: |case, failure| {
            failure.kind == Kind::ClaimedLock && case.protocol == Protocol::Prepared && case.text.contains(&0)
        },
    },
    // Of several readings with different locks, the possible ones are dropped when the text fails.
    Known {
        name: "locks of a text that failed",
        is: |_, failure| failure.kind == Kind::ForgottenLock && failure.detail.starts_with(FAILED),
    },
];

/// A packet that sets a mode for itself alone.
fn is_of_a_mode(packet: &[u8]) -> bool {
    let packet = Case::of(packet);
    let restores = packet.mentions("statement") || packet.mentions("atomic") || packet.mentions("procedure");
    packet.mentions("pmode") || (restores && packet.mentions("sql_mode"))
}

fn is_of_locks(kind: Kind) -> bool {
    matches!(kind, Kind::ForgottenLock | Kind::ClaimedLock)
}

/// The name of the hole that a failure shows.
pub fn known(case: &Case, failure: &Milder) -> Option<&'static str> {
    KNOWN.iter().find(|known| (known.is)(case, failure)).map(|known| known.name)
}
