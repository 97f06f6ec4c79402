//! Compares what a server did with our reading. A reading that is milder is a failure.

use statement::{Charset, Class};

use crate::case::Case;
use crate::evidence::{Access, Happened};
use crate::reading::{DefaultSchema, Reading, Session, TableName, charset_of};
use crate::world::{BEHIND_ROUTINES, VIEWS};

/// Ways in which a reading can be milder than the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Rows changed, or a writing statement ran, and no class says so.
    Write,
    Ddl,
    /// A table was touched that is not among the known ones.
    Table,
    /// A table was touched that is not among those a favouring rule relies on.
    CertainTable,
    /// The class for favouring is wrong.
    CertainClass,
    /// The packet counts as free and did work.
    Free,
    /// A lock is held that was not announced.
    Lock,
    /// A lock on tables is held, and the session does not remember it.
    ForgottenLock,
    /// A lock is said to be held, and is not: the session would pass as a lock holder.
    ClaimedLock,
    Fingerprint,
    Schema,
    Charset,
    /// Through the proxy: a certain rule forbids what the server did.
    Rule,
}

/// Begins the detail of a lock that is forgotten where the packet was answered with an error.
pub const FAILED: &str = "failed: ";

/// One failure, with words for people.
#[derive(Debug, Clone)]
pub struct Milder {
    pub kind: Kind,
    pub detail: String,
}

/// Whether the reading is expected to know what views, routines and triggers touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Catalogue {
    Known,
    Unknown,
}

/// All that is compared.
#[derive(Debug)]
pub struct Comparison<'a> {
    pub case: &'a Case,
    /// As it was before the packet.
    pub session: &'a Session,
    pub reading: &'a Reading,
    pub happened: &'a Happened,
    pub catalogue: Catalogue,
}

impl Comparison<'_> {
    pub fn failures(&self) -> Vec<Milder> {
        let mut failures = Vec::new();
        let mut fail = |kind: Kind, detail: String| failures.push(Milder { kind, detail });
        self.classes(&mut fail);
        self.tables(&mut fail);
        self.free(&mut fail);
        self.locks(&mut fail);
        self.fingerprints(&mut fail);
        self.remembered(&mut fail);
        failures
    }

    fn may_be(&self, classes: &[Class]) -> bool {
        self.reading.classes.iter().any(|class| classes.contains(class))
    }

    fn classes(&self, fail: &mut dyn FnMut(Kind, String)) {
        let happened = self.happened;
        let wrote = happened.wrote_rows() || (happened.ran_write() && !self.may_explain());
        let unknown = self.may_be(&[Class::Call, Class::Unparsed]);
        let says = format!("{:?}", self.reading.classes);
        // A view or a trigger that writes does not show without the catalogue.
        let hidden = self.catalogue == Catalogue::Unknown && self.only_behind_views();
        if wrote && !unknown && !self.may_be(&[Class::Write, Class::Ddl]) && !hidden {
            fail(Kind::Write, format!("{says}, but {}", self.deeds()));
        }
        if happened.ran_ddl() && !self.is_misread() && !unknown && !self.may_be(&[Class::Ddl]) {
            fail(Kind::Ddl, format!("{says}, but {}", self.deeds()));
        }
        let certain_mild = matches!(self.reading.certain_class, Some(Class::Read | Class::Control));
        if (wrote || (happened.ran_ddl() && !self.is_misread())) && certain_mild && !hidden {
            fail(Kind::CertainClass, format!("certainly {:?}, but {}", self.reading.certain_class, self.deeds()));
        }
    }

    /// The packet has this text, and not as a literal. The servers rewrite some texts: those with a secret, or with nested comments;
    /// MariaDB also shows what follows the statement.
    fn holds_statement(&self, text: &[u8]) -> bool {
        let packet = &self.case.text;
        let starts = (0..packet.len()).filter(|start| packet.get(*start..).is_some_and(|rest| rest.starts_with(text)));
        let quoted = |start: usize| start > 0 && matches!(packet.get(start - 1), Some(b'\'' | b'"'));
        starts.into_iter().any(|start| !quoted(start))
    }

    /// The judge takes MariaDB's comments for code, which they are not for MySQL.
    fn is_misread(&self) -> bool {
        self.session.is_mysql() && self.names("/*m!")
    }

    /// The packet may hold an EXPLAIN that the server's event does not show: it cuts a text at bytes that are no characters.
    fn may_explain(&self) -> bool {
        self.is_misread() || (!self.case.text.is_ascii() && (self.names("explain") || self.names("desc")))
    }

    fn names(&self, name: &str) -> bool {
        self.case.mentions(name)
    }

    /// The packet names a view or a table with a trigger, and all writes are those of routines.
    fn only_behind_views(&self) -> bool {
        let behind = VIEWS.iter().any(|(view, _)| self.names(view)) || self.names("pub");
        let direct = |(name, access): (&(String, String), &Access)| {
            access.rows_written && !BEHIND_ROUTINES.contains(&name.1.as_str())
        };
        behind && !self.happened.tables.iter().any(direct) && !self.happened.file_written
    }

    fn tables(&self, fail: &mut dyn FnMut(Kind, String)) {
        for (known, kind) in [(&self.reading.tables, Kind::Table), (&self.reading.certain_tables, Kind::CertainTable)] {
            let Some(known) = known else { continue };
            for ((in_schema, name), access) in &self.happened.tables {
                let behind = self.catalogue == Catalogue::Unknown
                    && (BEHIND_ROUTINES.contains(&name.as_str()) || (self.happened.ran_routine() && !access.direct));
                let only_opened = !access.rows_written && !access.rows_read;
                // Now and then the server reads its grants anew.
                let servers_own = only_opened && in_schema == "mysql";
                let excused = behind || servers_own || (only_opened && self.may_explain());
                if !excused && !self.is_known(known, in_schema, name) {
                    fail(kind, format!("{in_schema}.{name} touched ({access:?}), known are {known:?}"));
                    break;
                }
            }
        }
    }

    fn is_known(&self, known: &std::collections::BTreeSet<TableName>, in_schema: &str, name: &str) -> bool {
        let is = |known_name: &str, known_schema: &Option<String>| {
            (known_name.eq_ignore_ascii_case(name) || known_name == statement::Table::ANY)
                && known_schema.as_ref().is_none_or(|known| known.eq_ignore_ascii_case(in_schema))
        };
        known.iter().any(|(known_schema, known_name)| {
            let below = VIEWS
                .iter()
                .find(|(view, _)| known_name.eq_ignore_ascii_case(view))
                .map_or(&[][..], |(_, below)| below);
            is(known_name, known_schema)
                || (self.catalogue == Catalogue::Unknown && below.iter().any(|below| is(below, known_schema)))
        })
    }

    fn free(&self, fail: &mut dyn FnMut(Kind, String)) {
        if !self.reading.free {
            return;
        }
        let happened = self.happened;
        let counts = |access: &Access| access.rows_written || access.rows_read || !self.may_explain();
        let touched = happened.tables.values().any(counts);
        // A packet before this one may have taken the lock.
        let locked = self.case.earlier.is_empty()
            && happened
                .after
                .as_ref()
                .is_some_and(|after| after.user_lock || after.table_lock || after.global_lock || after.backup_lock);
        if touched
            || locked
            || happened.slept
            || happened.ran_routine()
            || (happened.ran_write() && !self.may_explain())
            || happened.ran_ddl()
        {
            fail(Kind::Free, format!("free, but {}", self.deeds()));
        }
    }

    fn locks(&self, fail: &mut dyn FnMut(Kind, String)) {
        let Some(after) = &self.happened.after else { return };
        let blocks = after.table_lock || after.global_lock || after.backup_lock;
        let hidden = self.catalogue == Catalogue::Unknown && self.names("v_lk");
        if (after.user_lock || blocks) && !self.reading.takes_lock && !self.reading.ran_unseen && !hidden {
            fail(Kind::Lock, format!("{:?} holds a lock that was not announced: {after:?}", self.reading.classes));
        }
        let held = self.reading.held;
        // User-level locks are counted by the call, which is documented as too little.
        if blocks && !held.may_hold && !self.reading.ran_unseen {
            let failed = if self.happened.error.is_some() { FAILED } else { "" };
            fail(Kind::ForgottenLock, format!("{failed}{:?}, and a lock is held: {after:?}", self.reading.classes));
        }
        if held.blocks_others && !blocks {
            fail(Kind::ClaimedLock, format!("{held:?} claimed, held is {after:?}"));
        }
    }

    /// Each statement that the server ran must have a fingerprint that the packet is known by.
    ///
    /// Only of ASCII packets: the server cuts a text at bytes that are no characters.
    fn fingerprints(&self, fail: &mut dyn FnMut(Kind, String)) {
        let Some(known) = &self.reading.fingerprints else { return };
        if !self.case.text.is_ascii() {
            return;
        }
        for event in self.happened.events.iter().filter(|event| event.level == 0 && !event.failed) {
            // The server has its own words for an empty text, and for one with a secret.
            let is_rewritten =
                event.name == "empty_query" || !self.holds_statement(&event.text) || event.text.contains(&b';');
            let is_own = !is_rewritten
                && !event.name.starts_with("com/")
                && !event.name.starts_with("execute_")
                && event.name != "prepare_sql";
            if !is_own || !event.text.is_ascii() || event.text.len() >= 4000 || event.text.is_empty() {
                continue;
            }
            let own = self.session.fingerprints_of(&event.text);
            if !own.iter().any(|own| known.contains(own)) {
                let text = String::from_utf8_lossy(&event.text);
                fail(Kind::Fingerprint, format!("`{text}` ran, and no fingerprint of the packet is its own"));
                return;
            }
        }
    }

    fn remembered(&self, fail: &mut dyn FnMut(Kind, String)) {
        let Some(after) = &self.happened.after else { return };
        let is = after.schema.clone().unwrap_or_default();
        if let DefaultSchema::Known(believed) = &self.reading.schema {
            // A schema that was dropped is no schema.
            let excused = is.is_empty() || self.happened.ran_ddl();
            if !believed.eq_ignore_ascii_case(&is) && !excused {
                fail(Kind::Schema, format!("schema {believed} believed, {is} is in use"));
            }
        }
        // Under LOCK TABLES MariaDB does not tell.
        if after.charset.is_empty() {
            return;
        }
        let (believed, is) = (self.reading.charset, charset_of(&after.charset));
        if believed != is && believed != Charset::Unknown {
            fail(Kind::Charset, format!("{believed:?} believed, {} is in use", after.charset));
        }
    }

    fn deeds(&self) -> String {
        let happened = self.happened;
        let events: Vec<String> = happened
            .events
            .iter()
            .map(|event| {
                let failed = if event.failed { "!" } else { "" };
                format!("{}{}{failed}", ">".repeat(event.level as usize), event.name)
            })
            .collect();
        let tables: Vec<String> = happened
            .tables
            .iter()
            .map(|((_, name), access)| {
                let what = if access.rows_written {
                    "written"
                } else if access.rows_read {
                    "read"
                } else {
                    "opened"
                };
                format!("{name} {what}")
            })
            .collect();
        let locks = happened
            .after
            .as_ref()
            .filter(|after| after.user_lock || after.table_lock || after.global_lock || after.backup_lock);
        let slept = if happened.slept { ", slept" } else { "" };
        format!(
            "ran [{}], tables [{}]{slept}{}",
            events.join(" "),
            tables.join(", "),
            locks.map_or("", |_| ", lock held")
        )
    }
}
