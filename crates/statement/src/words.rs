//! What a word before `(` is: a keyword or function of the server, or somebody's own.

mod free;
mod own;

use crate::Server;

/// In which spellings a word before `(` is the server's own. In the others it is whatever somebody created by that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Own {
    No,
    /// `now(` is, `now (` and `` `now`( `` are not (checked), unless sql_mode has IGNORE_SPACE, which does not show.
    Adjacent,
    /// `database (` is, `` `database`( `` is not.
    Unquoted,
    /// `` `abs` ( `` is.
    Always,
}

/// What is known of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known {
    mysql: Own,
    mariadb: Own,
    era: Era,
    free: bool,
}

/// Which of MySQL's versions a list taken from 9.7 does not describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Era {
    /// In 5.7 as in 9.7, as far as we know.
    Always,
    /// Not in 5.7, where the name was anybody's.
    Since8,
    /// Its own until 9.5.
    Until9,
    /// Its own until 5.7.
    Until5,
}

impl Known {
    /// In which spellings it is the server's own; of a server that is not known, in those that are in both.
    pub(crate) fn own(self, server: Server) -> Own {
        match server {
            Server::Unknown => self.mysql.min(self.mariadb),
            Server::MariaDb(_) => self.mariadb,
            Server::MySql(version) => match (self.era, version) {
                (Era::Since8, ..80_000) => Own::No,
                (Era::Until9, ..90_600) | (Era::Until5, ..80_000) => Own::Always,
                (Era::Always | Era::Since8 | Era::Until9 | Era::Until5, _) => self.mysql,
            },
        }
    }

    /// Whether it may stand in a statement that is never delayed.
    pub(crate) fn is_free(self) -> bool {
        self.free
    }

    /// A word of MySQL's grammar.
    pub(crate) fn is_keyword(self) -> bool {
        self.mysql == Own::Unquoted
    }
}

/// What is known of the word, in any case.
pub(crate) fn look_up(word: &[u8]) -> Option<Known> {
    let mut slot = slot(word);
    loop {
        let entry = TABLE.slots.get(slot).copied().filter(|&entry| entry != EMPTY)?;
        let (name, known) = TABLE.entries.get(usize::from(entry))?;
        if name.as_bytes().eq_ignore_ascii_case(word) {
            return Some(*known);
        }
        slot = (slot + 1) % SLOTS;
    }
}

/// MySQL 5.7 had not these, though MariaDB has them too: window functions, and what else 8.0 brought. What MySQL 9.7 alone
/// has is taken for new as well, unless it is in the second list.
#[rustfmt::skip]
const SINCE_8: [&str; 37] = [
    "cume_dist", "current_role", "dense_rank", "empty", "except", "exclude", "first_value", "following",
    "intersect", "json_arrayagg", "json_objectagg", "json_overlaps", "json_table", "json_value", "lag", "last_value",
    "lateral", "lead", "nth_value", "ntile", "of", "others", "over", "percent_rank", "preceding", "rank", "recursive",
    "regexp_instr", "regexp_replace", "regexp_substr", "role", "row_number", "system", "ties", "unbounded", "visible",
    "window",
];

#[rustfmt::skip]
const ALSO_IN_5: [&str; 26] = [
    "against", "any_value", "columns", "escape", "geometry", "gtid_subset", "gtid_subtract", "json_storage_size",
    "mbrcoveredby", "mbrcovers", "rollup", "share", "st_buffer_strategy", "st_geohash", "st_geomcollfromtxt",
    "st_isvalid", "st_latfromgeohash", "st_longfromgeohash", "st_makeenvelope", "st_numinteriorring",
    "st_pointfromgeohash", "st_simplify", "st_validate", "storage", "validate_password_strength",
    "wait_for_executed_gtid_set",
];

/// Gone in 9.6, when they became a component of their own.
const UNTIL_9: [&str; 3] = ["md5", "sha", "sha1"];

/// Gone in 8.0.
#[rustfmt::skip]
const UNTIL_5: [&str; 14] = [
    "area", "asbinary", "astext", "decode", "des_decrypt", "des_encrypt", "encode", "encrypt", "geomfromtext",
    "geomfromwkb", "glength", "srid", "x", "y",
];

const SLOTS: usize = 4096;
const EMPTY: u16 = u16::MAX;

struct Table {
    /// By hash, the next free one where two words have the same.
    slots: [u16; SLOTS],
    entries: [(&'static str, Known); COUNT],
}

const COUNT: usize = {
    let mut count = 0;
    let mut list = 0;
    while list < own::LISTS.len() {
        count += own::LISTS[list].2.len();
        list += 1;
    }
    count
};

/// Made by the compiler.
static TABLE: Table = {
    let nothing = Known { mysql: Own::No, mariadb: Own::No, era: Era::Always, free: false };
    let mut table = Table { slots: [EMPTY; SLOTS], entries: [("", nothing); COUNT] };
    let mut count = 0;
    let mut list = 0;
    while list < own::LISTS.len() {
        let (mysql, mariadb, words) = own::LISTS[list];
        let in_both = !matches!(mysql, Own::No) && !matches!(mariadb, Own::No);
        let era = if in_both { Era::Always } else { Era::Since8 };
        let mut word = 0;
        while word < words.len() {
            table.entries[count] = (words[word], Known { mysql, mariadb, era, free: false });
            let mut slot = slot(words[word].as_bytes());
            while table.slots[slot] != EMPTY {
                slot = (slot + 1) % SLOTS;
            }
            table.slots[slot] = count as u16;
            count += 1;
            word += 1;
        }
        list += 1;
    }
    let table = marked(table, &SINCE_8, Mark::Era(Era::Since8));
    let table = marked(table, &ALSO_IN_5, Mark::Era(Era::Always));
    let table = marked(table, &UNTIL_9, Mark::Era(Era::Until9));
    let table = marked(table, &UNTIL_5, Mark::Era(Era::Until5));
    let table = marked(table, &free::FUNCTIONS, Mark::Free);
    marked(table, &free::KEYWORDS, Mark::Free)
};

#[derive(Clone, Copy)]
enum Mark {
    Era(Era),
    Free,
}

/// Does not compile if a word is not in the table.
const fn marked(mut table: Table, words: &[&str], mark: Mark) -> Table {
    let mut word = 0;
    while word < words.len() {
        let mut slot = slot(words[word].as_bytes());
        while !same(table.entries[table.slots[slot] as usize].0.as_bytes(), words[word].as_bytes()) {
            slot = (slot + 1) % SLOTS;
        }
        let known = &mut table.entries[table.slots[slot] as usize].1;
        match mark {
            Mark::Era(era) => known.era = era,
            Mark::Free => known.free = true,
        }
        word += 1;
    }
    table
}

const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    one.len() == other.len()
}

/// Where a word is looked for first (FNV-1a, letters in lower case).
const fn slot(word: &[u8]) -> usize {
    let mut hash: u32 = 0x811C_9DC5;
    let mut at = 0;
    while at < word.len() {
        hash = (hash ^ word[at].to_ascii_lowercase() as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    (hash ^ (hash >> 16)) as usize % SLOTS
}

#[cfg(test)]
mod tests;
