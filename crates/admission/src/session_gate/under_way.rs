//! What the statement under way changes in the session, once it is answered.

use statement::{CharsetChange, Class, Extent, Kind, Lexer, Mode, Scan};

use super::named::{Change, Named};
use super::spelling::Spelling;
use crate::note::Note;
use crate::policy::Concerning;
use crate::unit::Facts;

#[derive(Debug, Default)]
pub(super) struct UnderWay {
    schema: Option<Schema>,
    charset: Option<CharsetChange>,
    named: Option<Change>,
    /// It may do what its text does not show.
    does_more: bool,
    held: Option<(Facts, Concerning)>,
    changes_catalog: bool,
}

#[derive(Debug)]
enum Schema {
    /// USE, or COM_INIT_DB.
    Used(Box<[u8]>),
    /// The last of several statements' USE: if one of them failed, nobody knows.
    UsedAmongOthers(Box<[u8]>),
}

/// What is remembered of a session besides its unit.
#[derive(Debug)]
pub(super) struct Remembered {
    /// `None`: there is none, or nobody knows.
    pub(super) schema: Option<Box<[u8]>>,
    pub(super) spelling: Spelling,
    pub(super) named: Named,
}

impl UnderWay {
    #[inline]
    pub(super) fn clear(&mut self) {
        *self = UnderWay::default();
    }

    #[inline]
    pub(super) fn read(&mut self, sql: &[u8], mode: Mode, scan: &Scan) {
        self.charset = scan.charset;
        if let Some(range) = &scan.schema {
            self.use_schema(&statement::unquote(sql.get(range.clone()).unwrap_or_default(), mode));
        }
        if scan.statements > 1 {
            self.schema = last_use(sql, mode).map(Schema::UsedAmongOthers);
        }
        // DDL among several statements hides what else is there; so does what was not looked at.
        self.does_more = may_call(scan.class)
            || (scan.statements > 1 && (scan.class == Class::Ddl || mentions_prepare(sql)))
            || mode.extent == Extent::Cut;
    }

    /// An execution of a prepared statement.
    #[inline]
    pub(super) fn execute(&mut self, note: &Note) {
        self.charset = note.charset;
        self.does_more = may_call(note.facts.class);
    }

    /// As COM_INIT_DB has it.
    pub(super) fn use_schema(&mut self, name: &[u8]) {
        self.schema = Some(Schema::Used(name.into()));
    }

    pub(super) fn rename(&mut self, change: Change) {
        self.named = Some(change);
    }

    /// Views, routines, triggers or tables may be others once it has run.
    pub(super) fn may_change_catalog(&mut self, may: bool) {
        self.changes_catalog = may;
    }

    pub(super) fn has_changed_catalog(&self) -> bool {
        self.changes_catalog
    }

    pub(super) fn hold(&mut self, facts: Facts, concerning: Concerning) {
        self.held = Some((facts, concerning));
    }

    pub(super) fn take_held(&mut self) -> Option<(Facts, Concerning)> {
        self.held.take()
    }

    #[inline]
    pub(super) fn apply(&mut self, session: &mut Remembered, succeeded: bool) {
        if let Some(schema) = self.schema.take() {
            session.schema = match schema {
                Schema::Used(name) | Schema::UsedAmongOthers(name) if succeeded => Some(name),
                Schema::Used(_) => session.schema.take(),
                Schema::UsedAmongOthers(_) => None,
            };
        }
        if self.does_more {
            session.spelling.doubt();
            session.named.forget_all();
        }
        if let Some(change) = self.charset.take() {
            session.spelling.set(change, succeeded);
        }
        if let Some(change) = self.named.take().filter(|_| succeeded) {
            session.named.apply(change);
        }
    }
}

fn may_call(class: Class) -> bool {
    match class {
        Class::Call | Class::Unparsed => true,
        Class::Control | Class::Read | Class::Write | Class::Ddl => false,
    }
}

fn mentions_prepare(sql: &[u8]) -> bool {
    sql.windows(7).any(|window| window.eq_ignore_ascii_case(b"PREPARE"))
}

fn last_use(sql: &[u8], mode: Mode) -> Option<Box<[u8]>> {
    let mut lexer = Lexer::new(sql, mode);
    let (mut used, mut starts) = (None, true);
    while let Some(token) = lexer.next() {
        if starts && lexer.is(&token, "USE") {
            let name = lexer.next().filter(|name| matches!(name.kind, Kind::Word | Kind::QuotedWord));
            used = name.map(|name| statement::unquote(lexer.text(&name), mode).into()).or(used);
        }
        starts = token.kind == Kind::Symbol(b';');
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_use_of_several_statements_stands() {
        for (sql, used) in [
            ("SELECT 1; USE a; SELECT 2", Some("a")),
            ("USE a; USE `b``c`;", Some("b`c")),
            ("SELECT 'USE a'; SELECT `use` FROM b", None),
            ("SELECT 1; /*! USE a */; SELECT 2", Some("a")),
            ("USE", None),
        ] {
            let found = last_use(sql.as_bytes(), Mode::default());
            assert_eq!(found.as_deref(), used.map(str::as_bytes), "{sql}");
        }
    }
}
