//! Whether a backslash escapes in this session (`NO_BACKSLASH_ESCAPES`).
//!
//! Replies show it in a status flag. The flag is also set by what a routine, or MariaDB's SET STATEMENT, does to the sql_mode for
//! as long as it runs, and is not set back when the servers restore the sql_mode (checked on MySQL 9.7 and MariaDB 10.11). So it is
//! believed only behind what sets the sql_mode of the session itself.

use statement::{Classes, NamedStatement, Scan, SqlModeChange};

/// What a text does to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Effect {
    /// The text runs nothing that could set the flag.
    #[default]
    Free,
    /// It does not set the sql_mode of the session; what it runs may set the flag.
    None,
    /// It sets it, and nothing behind that could set the flag otherwise.
    Sets,
    /// The same; if it fails it may have set it.
    SetsAmongOthers,
    /// One statement of which nothing is known.
    OneStatement,
    Unknown,
}

impl Effect {
    pub(crate) fn of(scan: &Scan) -> Effect {
        // Of one statement the flag is that of its end.
        let runs_nothing = scan.statements == 1 || !scan.classes.intersects(Classes::ANY);
        match scan.sql_mode {
            SqlModeChange::None if scan.free => Effect::Free,
            SqlModeChange::None => Effect::None,
            SqlModeChange::Set if scan.fails_whole() => Effect::Sets,
            SqlModeChange::Set if runs_nothing => Effect::SetsAmongOthers,
            SqlModeChange::Unknown if matches!(scan.named, Some(NamedStatement::Execute { .. })) => {
                Effect::OneStatement
            }
            SqlModeChange::Set | SqlModeChange::Unknown => Effect::Unknown,
        }
    }
}

/// What is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    /// Whether NO_BACKSLASH_ESCAPES is set.
    Is(bool),
    /// The next reply to a text that runs nothing shows it.
    NextShows,
    /// It is this if the next reply to a text that runs nothing shows it.
    NextConfirms(bool),
    Not,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Escapes {
    pub(crate) known: Known,
    /// What the last reply showed.
    shown: bool,
}

impl Escapes {
    /// Of a new session.
    pub(crate) fn new(known: Known, shown: bool) -> Escapes {
        Escapes { known, shown }
    }

    /// The mode in which a text is read, if there is only one.
    #[inline]
    pub(crate) fn only(self) -> Option<bool> {
        match self.known {
            Known::Is(none) => Some(none),
            Known::NextShows | Known::NextConfirms(_) | Known::Not => None,
        }
    }

    /// The usual one of the modes in which a text is read.
    #[inline]
    pub(crate) fn usual(self) -> bool {
        self.only().unwrap_or(self.shown)
    }

    /// `shown`: by the last reply that was no error.
    #[inline]
    pub(crate) fn settle(&mut self, effect: Effect, succeeded: bool, shown: bool) {
        let before = std::mem::replace(&mut self.shown, shown);
        if effect == Effect::Free && matches!(self.known, Known::Is(_)) {
            return;
        }
        self.known = match (effect, self.known) {
            (Effect::Free, Known::NextShows) if succeeded => Known::Is(shown),
            (Effect::Free, Known::NextConfirms(it)) if succeeded => {
                if shown == it {
                    Known::Is(it)
                } else {
                    Known::Not
                }
            }
            (Effect::Free, known) => known,
            (Effect::None, Known::Is(it)) => Known::Is(it),
            (Effect::None, Known::NextShows | Known::NextConfirms(_) | Known::Not) => Known::Not,
            (Effect::Sets | Effect::SetsAmongOthers, _) if succeeded => Known::Is(shown),
            (Effect::Sets, known) => known,
            // One statement sets it or runs a routine: if the flag is what it was and what the mode was, so is the mode.
            (Effect::OneStatement, Known::Is(it)) if succeeded && shown == before && it == before => Known::Is(it),
            (Effect::SetsAmongOthers | Effect::OneStatement, Known::Is(it)) if !succeeded && it == before => {
                Known::NextConfirms(it)
            }
            (Effect::SetsAmongOthers | Effect::OneStatement | Effect::Unknown, _) => Known::Not,
        };
    }
}
