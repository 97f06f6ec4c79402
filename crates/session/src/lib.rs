//! What a session knows that decides how its statements are read, and the one place where they are: a text is scanned once, in
//! every way in which the server may read it, and everything else asks the [`Scan`].
//!
//! It knows no socket, no clock, no rule and no identity. Read [`SessionText`] first.
#![forbid(unsafe_code)]

mod escapes;

use escapes::{Effect, Escapes, Known};
use statement::locks::{LockEffects, LockKnowledge};
use statement::{Charset, CharsetChange, Class, Doubts, Extent, Mode, Scan, Server};

/// What is known of a session, as far as it decides how the next text is read.
#[derive(Debug, Clone)]
pub struct SessionText {
    server: Server,
    charset: Charset,
    statements: StatementsPerText,
    locks: LockKnowledge,
    beginning: Beginning,
    escapes: Escapes,
}

/// How the server begins a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beginning {
    /// With the character set that the login asks for, and the sql_mode that its OK shows.
    AsAsked,
    /// With whatever its settings say, such as `init_connect`.
    Unknown,
}

/// How many statements a text of COM_QUERY may hold (CLIENT_MULTI_STATEMENTS, COM_SET_OPTION).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementsPerText {
    One,
    Several,
}

/// Where a text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    Query,
    /// COM_STMT_PREPARE: always one statement.
    Prepare,
}

/// How much of a text is here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Whole,
    Beginning,
}

/// What a text does to the session once it has run. Of a prepared statement it is kept, and applies at every execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextEffect {
    pub locks: LockEffects,
    charset: Option<CharsetChange>,
    fails_whole: bool,
    escapes: Effect,
}

impl TextEffect {
    pub fn of(scan: &Scan) -> TextEffect {
        // A statement that was prepared by SQL may be LOCK TABLES or UNLOCK TABLES (checked on MariaDB 10.11).
        let is_unseen = scan.classes.contains(Class::Unparsed) || scan.doubts.contains(Doubts::UNSEEN);
        TextEffect {
            locks: if is_unseen { scan.locks.and_unseen() } else { scan.locks },
            charset: scan.charset,
            fails_whole: scan.fails_whole(),
            escapes: Effect::of(scan),
        }
    }

    /// Of a text of COM_STMT_PREPARE. The servers prepare its first statement, and pass over what stands behind `;` and a NUL
    /// (checked).
    pub fn of_prepared(scan: &Scan) -> TextEffect {
        if scan.statements < 2 {
            return TextEffect::of(scan);
        }
        TextEffect {
            locks: scan.locks.and_unseen(),
            charset: Some(CharsetChange::Unknown),
            fails_whole: false,
            escapes: Effect::Unknown,
        }
    }

    /// Nothing of the session changes.
    pub fn is_none(&self) -> bool {
        self.charset.is_none() && self.locks.is_none() && matches!(self.escapes, Effect::Free | Effect::None)
    }
}

impl SessionText {
    /// `no_backslash_escapes`: what the status flags of the login's OK say.
    pub fn new(
        server: Server,
        charset: Charset,
        statements: StatementsPerText,
        no_backslash_escapes: bool,
    ) -> SessionText {
        let (locks, beginning) = (LockKnowledge::default(), Beginning::AsAsked);
        let escapes = Escapes::new(Known::Is(no_backslash_escapes), no_backslash_escapes);
        SessionText { server, charset, statements, locks, beginning, escapes }
    }

    /// What the server's settings do to a new session.
    pub fn begin(&mut self, beginning: Beginning) {
        self.beginning = beginning;
        if beginning == Beginning::Unknown {
            self.charset = Charset::Unknown;
            self.escapes = Escapes::new(Known::NextShows, self.escapes.usual());
        }
    }

    /// `Unknown` if it may be any.
    pub fn charset(&self) -> Charset {
        self.charset
    }

    /// How a text of this session is read now. `None`: in several modes.
    #[inline]
    pub fn mode(&self) -> Option<Mode> {
        let no_backslash_escapes = self.escapes.only()?;
        Some(Mode { no_backslash_escapes, server: self.server, charset: self.charset, ..Mode::default() })
    }

    /// Reads a text.
    #[inline]
    pub fn read(&self, sql: &[u8], source: Source, part: Part) -> Scan {
        let extent = match (part, source, self.statements) {
            (Part::Whole, _, _) => Extent::Whole,
            (Part::Beginning, Source::Query, StatementsPerText::Several) => Extent::Cut,
            (Part::Beginning, Source::Prepare, _) | (Part::Beginning, _, StatementsPerText::One) => {
                Extent::CutInStatement
            }
        };
        let mode = Mode {
            no_backslash_escapes: self.escapes.usual(),
            ansi_quotes: false,
            brackets: false,
            server: self.server,
            extent,
            charset: self.charset,
        };
        if self.escapes.only().is_none() {
            return statement::scan_in_any_sql_mode(sql, mode);
        }
        statement::scan(sql, mode)
    }

    /// A text has been answered. `no_backslash_escapes`: what the status flags of the last reply that was no error say.
    #[inline]
    pub fn settle(&mut self, effect: &TextEffect, succeeded: bool, no_backslash_escapes: bool) {
        self.escapes.settle(effect.escapes, succeeded, no_backslash_escapes);
        if !effect.locks.is_none() {
            self.locks.settle(effect.locks, succeeded);
        }
        match effect.charset {
            None => {}
            Some(change) if succeeded => self.charset = change.charset(),
            // Of several statements one may have failed after this one.
            Some(_) if effect.fails_whole => {}
            Some(CharsetChange::To(_) | CharsetChange::Unknown) => self.charset = Charset::Unknown,
        }
    }

    /// After COM_RESET_CONNECTION: the character set is the server's own default now. Without an OK, nothing shows the sql_mode.
    pub fn reset(&mut self, no_backslash_escapes: Option<bool>) {
        self.begin_again(Charset::Unknown, no_backslash_escapes);
    }

    /// After COM_CHANGE_USER.
    pub fn log_in(&mut self, charset: Charset, no_backslash_escapes: bool) {
        self.begin_again(charset, Some(no_backslash_escapes));
    }

    fn begin_again(&mut self, charset: Charset, no_backslash_escapes: Option<bool>) {
        self.locks.clear();
        self.charset = charset;
        let known = no_backslash_escapes.map_or(Known::NextShows, Known::Is);
        self.escapes = Escapes::new(known, no_backslash_escapes.unwrap_or(self.escapes.usual()));
        self.begin(self.beginning);
    }

    /// After COM_SET_OPTION.
    pub fn set_statements(&mut self, statements: StatementsPerText) {
        self.statements = statements;
    }

    pub fn locks(&self) -> &LockKnowledge {
        &self.locks
    }
}

#[cfg(test)]
mod tests;
