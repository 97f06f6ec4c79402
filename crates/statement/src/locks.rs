//! Locks that a session holds and that show in no status flag: they are told from the statement's text and its OK.
//!
//! What takes and what releases was checked on MySQL 9.7 against performance_schema.metadata_locks, except what is
//! MariaDB's alone (BACKUP …) and the service_… functions, which follow the manuals.
//!
//! A text can only say so much. Too much is said of a GET_LOCK that timed out, of LOCK TABLES whose locks went with DROP
//! TABLE of the last one, with COMMIT under completion_type=CHAIN or with a failed second LOCK TABLES, and of LOCK INSTANCE,
//! which the server also drops with UNLOCK TABLES after LOCK TABLES (checked); too little of a GET_LOCK called once a row,
//! or in a procedure, a trigger, or a statement prepared by SQL, and of RELEASE_LOCK of a name that is not held.

use crate::packed::{number, packed};
use crate::scan::Readings;
use crate::starts::{SEMICOLON, Stored, skip_from, stored};
use crate::{Kind, Lexer, Scan, Token};

/// What the session holds now. Apply an effect when its statement was answered with OK or a whole result; for a
/// prepared statement take the effect of its text and apply it at every EXECUTE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockState {
    held: u8,
    user_locks: u32,
}

impl LockState {
    pub fn apply(&mut self, effect: LockEffect) {
        self.held = (self.held & !effect.released) | effect.taken;
        self.user_locks = effect.user_locks_after(self.user_locks);
    }

    /// For a text that was answered with ERR. A single statement that failed took nothing; of several, those before
    /// the failed one stand (checked), and since it does not show which one failed, whatever any of them takes counts as held.
    pub fn apply_failed(&mut self, effect: LockEffect) {
        if effect.statements > 1 {
            self.held |= effect.ever_taken;
            self.user_locks = self.user_locks.saturating_add(effect.user_locks_ever);
        }
    }

    /// The same where only what is certainly held counts. A failed LOCK TABLES has given up the tables that were locked before.
    fn apply_failed_certainly(&mut self, effect: LockEffect) {
        self.held &= !(effect.released | effect.ever_taken | effect.lost);
    }

    /// After COM_RESET_CONNECTION and COM_CHANGE_USER, which release everything (checked, but for a prepared XA transaction).
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether others may be waiting for this session to go on. A prepared XA transaction is not among it: it belongs
    /// to no session any more, and ends by a statement that always passes.
    pub fn holds_any(&self) -> bool {
        self.held & !XA_PREPARED != 0 || self.user_locks > 0
    }

    pub fn tables(&self) -> bool {
        self.held & TABLES != 0
    }

    pub fn global_read(&self) -> bool {
        self.held & GLOBAL_READ != 0
    }

    pub fn backup(&self) -> bool {
        self.held & (INSTANCE | BACKUP_STAGE | BACKUP_TABLE) != 0
    }

    pub fn service(&self) -> bool {
        self.held & SERVICE != 0
    }

    /// How many calls of GET_LOCK were not given back; one name taken twice counts, and is released, twice (checked).
    pub fn user_locks(&self) -> u32 {
        self.user_locks
    }

    /// XA: ACTIVE and IDLE show as SERVER_STATUS_IN_TRANS. PREPARED does not, since by default (xa_detach_on_prepare) the
    /// transaction leaves the session, which may begin another; with that variable off it does (all checked).
    pub fn xa_prepared(&self) -> bool {
        self.held & XA_PREPARED != 0
    }
}

const TABLES: u8 = 1;
const GLOBAL_READ: u8 = 1 << 1;
const INSTANCE: u8 = 1 << 2;
const BACKUP_STAGE: u8 = 1 << 3;
const BACKUP_TABLE: u8 = 1 << 4;
const SERVICE: u8 = 1 << 5;
const XA_PREPARED: u8 = 1 << 6;

/// What a text does to the locks of its session, its statements taken together in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockEffect {
    taken: u8,
    released: u8,
    ever_taken: u8,
    /// Locks that may have gone again: a COMMIT releases tables under completion_type=CHAIN, which does not show.
    lost: u8,
    /// Capped: it only matters whether there is more than one.
    statements: u8,
    /// Any row of takes and releases, none of which goes below zero, is `max(count + change, least)`.
    user_locks_change: i32,
    user_locks_least: u32,
    user_locks_ever: u32,
}

impl LockEffect {
    pub const NONE: Self = Self {
        taken: 0,
        released: 0,
        ever_taken: 0,
        lost: 0,
        statements: 0,
        user_locks_change: 0,
        user_locks_least: 0,
        user_locks_ever: 0,
    };

    /// Of a text that nothing is known of.
    const RELEASES_ALL: Self = Self { released: u8::MAX, lost: u8::MAX, user_locks_change: i32::MIN, ..Self::NONE };

    pub fn is_none(&self) -> bool {
        Self { statements: 0, ..*self } == Self::NONE
    }

    /// Whether the text takes a lock at all, even if it gives it back. A prepared XA transaction belongs to nobody.
    pub(crate) fn takes_any(&self) -> bool {
        self.ever_taken & !XA_PREPARED != 0 || self.user_locks_ever > 0
    }

    fn take(&mut self, locks: u8) {
        self.taken |= locks;
        self.ever_taken |= locks;
        self.lost &= !locks;
    }

    fn release(&mut self, locks: u8) {
        self.taken &= !locks;
        self.released |= locks;
        if locks & TABLES != 0 {
            // The end of locked tables may end LOCK INSTANCE, too (checked).
            self.lost |= INSTANCE;
        }
    }

    fn take_user_lock(&mut self) {
        self.user_locks_change = self.user_locks_change.saturating_add(1);
        self.user_locks_least = self.user_locks_least.saturating_add(1);
        self.user_locks_ever = self.user_locks_ever.saturating_add(1);
    }

    fn release_user_lock(&mut self) {
        self.user_locks_change = self.user_locks_change.saturating_sub(1);
        self.user_locks_least = self.user_locks_least.saturating_sub(1);
    }

    fn release_user_locks(&mut self) {
        self.user_locks_change = i32::MIN;
        self.user_locks_least = 0;
    }

    fn user_locks_after(&self, count: u32) -> u32 {
        count.saturating_add_signed(self.user_locks_change).max(self.user_locks_least)
    }
}

/// The effect of a text on the locks of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockEffects {
    /// In every reading: the locks for which a session may be let pass.
    certain: LockEffect,
    /// In any reading: the locks at which a session must not be ended.
    possible: LockEffect,
}

impl LockEffects {
    pub fn is_none(&self) -> bool {
        self.possible.is_none() && self.certain.is_none()
    }

    /// The same of a text that may do more than it shows: no lock is certainly held after it.
    #[must_use]
    pub fn and_unseen(self) -> LockEffects {
        LockEffects { certain: LockEffect::RELEASES_ALL, ..self }
    }

    /// Whether a lock is taken in some reading, even if it is given back.
    pub(crate) fn takes_any(&self) -> bool {
        self.possible.takes_any()
    }
}

impl Scan {
    /// The effect of the scanned text on its session's locks.
    pub(crate) fn find_locks(&self, sql: &[u8]) -> LockEffects {
        let mut effects = self.readings.segments(sql).map(|segment| read(segment.lexer(sql), self.has_program));
        match (&self.readings, effects.next()) {
            (Readings::One(_), Some(effect)) if !self.has_program => LockEffects { certain: effect, possible: effect },
            (_, Some(first)) => effects.fold(LockEffects::beside(first), |all, effect| all.with(effect)),
            (_, None) => LockEffects { certain: LockEffect::RELEASES_ALL, possible: LockEffect::NONE },
        }
    }
}

impl LockEffects {
    /// Of several readings, one.
    fn beside(effect: LockEffect) -> LockEffects {
        LockEffects { certain: LockEffect::NONE, possible: LockEffect::NONE }.with(effect)
    }

    fn with(mut self, other: LockEffect) -> LockEffects {
        self.certain.released |= other.released | other.lost;
        // A segment is a part of a text that has several.
        self.possible.statements = self.possible.statements.saturating_add(other.statements);
        self.possible.taken |= other.ever_taken;
        self.possible.ever_taken |= other.ever_taken;
        self.possible.user_locks_ever = self.possible.user_locks_ever.saturating_add(other.user_locks_ever);
        self.possible.user_locks_change = self.possible.user_locks_change.saturating_add(other.user_locks_ever as i32);
        self
    }
}

/// The first words of statements that may take or release locks by themselves.
pub(crate) fn is_lock_word(word: &[u8]) -> bool {
    const WORDS: [u64; 9] = [
        number("LOCK"),
        number("UNLOCK"),
        number("FLUSH"),
        number("BACKUP"),
        number("BEGIN"),
        number("START"),
        number("COMMIT"),
        number("ROLLBACK"),
        number("XA"),
    ];
    packed(word).is_some_and(|number| WORDS.contains(&number))
}

fn read(mut lexer: Lexer<'_>, goes_on: bool) -> LockEffect {
    let mut effect = LockEffect::default();
    while let Some(first) = lexer.next() {
        if first.kind == SEMICOLON {
            continue;
        }
        effect.statements = effect.statements.saturating_add(1);
        let statement = match stored(&mut lexer, &first) {
            // The rest is surely its body.
            (Stored::Program, _) if !goes_on => break,
            // What follows a `;` may be a part of its body, or a further statement.
            (Stored::Program | Stored::View, last) => {
                skip_from(&mut lexer, last);
                continue;
            }
            (Stored::Nothing, last) => last,
        };
        if is_lock_word(lexer.text(&first)) && first.kind == Kind::Word {
            let last = lock_statement(&mut lexer, &first, &mut effect);
            skip_from(&mut lexer, last);
        } else if lexer.is_any(&first, &["EXPLAIN", "DESCRIBE", "DESC"]) {
            // EXPLAIN runs nothing, EXPLAIN ANALYZE does (checked).
            let next = lexer.next();
            if next.is_some_and(|next| lexer.is(&next, "ANALYZE")) {
                calls(&mut lexer, next, &mut effect);
            } else {
                skip_from(&mut lexer, next);
            }
        } else {
            calls(&mut lexer, statement, &mut effect);
        }
    }
    effect
}

/// Reads a statement that begins with a lock word, and returns the last token read.
fn lock_statement(lexer: &mut Lexer<'_>, first: &Token, effect: &mut LockEffect) -> Option<Token> {
    let second = lexer.next();
    let second_is = |lexer: &Lexer<'_>, words: &[&str]| second.is_some_and(|second| lexer.is_any(&second, words));
    match first_letter_pair(lexer.text(first)) {
        // LOCK TABLES first gives up the tables that were locked before.
        (b'L', _) if second_is(lexer, &["TABLES", "TABLE"]) => {
            effect.lost |= INSTANCE;
            effect.take(TABLES);
        }
        (b'L', _) if second_is(lexer, &["INSTANCE"]) => effect.take(INSTANCE),
        (b'U', _) if second_is(lexer, &["TABLES", "TABLE"]) => effect.release(TABLES | GLOBAL_READ),
        // Once releases what was taken twice.
        (b'U', _) if second_is(lexer, &["INSTANCE"]) => effect.release(INSTANCE),
        (b'F', _) => return flush(lexer, second, effect),
        (b'B', b'A') => return backup(lexer, second, effect),
        // The start of a transaction releases locked tables, but neither the global read lock nor any other.
        (b'B', b'E') if second.is_none_or(|token| token.kind == SEMICOLON) || second_is(lexer, &["WORK"]) => {
            effect.release(TABLES);
        }
        (b'S', _) if second_is(lexer, &["TRANSACTION"]) => effect.release(TABLES),
        (b'C' | b'R', _) => {
            effect.lost |= TABLES | INSTANCE;
            return chain(lexer, second, effect);
        }
        (b'X', _) if second_is(lexer, &["PREPARE"]) => effect.take(XA_PREPARED),
        (b'X', _) if second_is(lexer, &["COMMIT", "ROLLBACK"]) => effect.release(XA_PREPARED),
        _ => {}
    }
    second
}

/// Enough to tell the lock words from each other.
fn first_letter_pair(word: &[u8]) -> (u8, u8) {
    match word {
        [first, second, ..] => (first.to_ascii_uppercase(), second.to_ascii_uppercase()),
        _ => (0, 0),
    }
}

/// FLUSH [NO_WRITE_TO_BINLOG | LOCAL] TABLES [names] [WITH READ LOCK | FOR EXPORT]. With names these are table locks,
/// which the start of a transaction releases; without, it is the global read lock.
fn flush(lexer: &mut Lexer<'_>, second: Option<Token>, effect: &mut LockEffect) -> Option<Token> {
    let mut token = second;
    if token.is_some_and(|token| lexer.is_any(&token, &["NO_WRITE_TO_BINLOG", "LOCAL"])) {
        token = lexer.next();
    }
    if !token.is_some_and(|token| lexer.is_any(&token, &["TABLES", "TABLE"])) {
        return token;
    }
    let mut locks = GLOBAL_READ;
    let mut before = [None, None];
    loop {
        token = lexer.next();
        let Some(last) = token.filter(|token| token.kind != SEMICOLON) else { return token };
        let was = |position: usize, word: &str| {
            before.get(position).copied().flatten().is_some_and(|token: Token| lexer.is(&token, word))
        };
        let read_lock = was(0, "WITH") && was(1, "READ") && lexer.is(&last, "LOCK");
        if read_lock || (was(1, "FOR") && lexer.is(&last, "EXPORT")) {
            effect.take(locks);
            return token;
        }
        if !lexer.is_any(&last, &["WITH", "READ"]) {
            locks = TABLES;
        }
        before = [before[1], token];
    }
}

/// MariaDB's BACKUP STAGE name, BACKUP LOCK table, BACKUP UNLOCK.
fn backup(lexer: &mut Lexer<'_>, second: Option<Token>, effect: &mut LockEffect) -> Option<Token> {
    let token = second?;
    if lexer.is(&token, "LOCK") {
        effect.take(BACKUP_TABLE);
    } else if lexer.is(&token, "UNLOCK") {
        effect.release(BACKUP_TABLE);
    } else if lexer.is(&token, "STAGE") {
        let stage = lexer.next();
        match stage {
            Some(stage) if lexer.is(&stage, "END") => effect.release(BACKUP_STAGE),
            Some(stage) if stage.kind == Kind::Word => effect.take(BACKUP_STAGE),
            Some(_) | None => {}
        }
        return stage;
    }
    second
}

/// COMMIT or ROLLBACK [WORK] AND CHAIN begins a transaction. Without CHAIN neither releases locked tables.
fn chain(lexer: &mut Lexer<'_>, second: Option<Token>, effect: &mut LockEffect) -> Option<Token> {
    let mut token = second;
    if token.is_some_and(|token| lexer.is(&token, "WORK")) {
        token = lexer.next();
    }
    if token.is_some_and(|token| lexer.is(&token, "AND")) {
        token = lexer.next();
        if token.is_some_and(|token| lexer.is(&token, "CHAIN")) {
            effect.release(TABLES);
        }
    }
    token
}

/// Reads the rest of a statement for calls of locking functions, in the order of the text. White space or a comment
/// before the parenthesis, and quotes around the name, make no difference; a schema before it does: that is a stored
/// function (all checked).
fn calls(lexer: &mut Lexer<'_>, last: Option<Token>, effect: &mut LockEffect) {
    let mut token = last;
    let mut name: Option<Token> = None;
    let mut after_dot = false;
    while let Some(current) = token.filter(|token| token.kind != SEMICOLON) {
        match current.kind {
            Kind::Word | Kind::QuotedWord => name = Some(current).filter(|_| !after_dot),
            Kind::Symbol(b'(') => {
                if let Some(name) = name.take() {
                    call(lexer.text(&name), effect);
                }
            }
            Kind::String | Kind::Number | Kind::Variable | Kind::Symbol(_) => name = None,
        }
        after_dot = current.kind == Kind::Symbol(b'.');
        token = lexer.next();
    }
}

fn call(name: &[u8], effect: &mut LockEffect) {
    let name = match name {
        [b'`' | b'"', inner @ .., b'`' | b'"'] => inner,
        _ => name,
    };
    let is = |function: &str| name.eq_ignore_ascii_case(function.as_bytes());
    if is("GET_LOCK") {
        effect.take_user_lock();
    } else if is("RELEASE_LOCK") {
        effect.release_user_lock();
    } else if is("RELEASE_ALL_LOCKS") {
        effect.release_user_locks();
    } else if is("SERVICE_GET_WRITE_LOCKS") || is("SERVICE_GET_READ_LOCKS") {
        effect.take(SERVICE);
    } else if is("SERVICE_RELEASE_LOCKS") {
        effect.release(SERVICE);
    }
}

/// The locks that a session is known to hold, as far as no status flag shows them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LockKnowledge {
    certain: LockState,
    possible: LockState,
}

impl LockKnowledge {
    /// The text was answered.
    pub fn settle(&mut self, effects: LockEffects, succeeded: bool) {
        if succeeded {
            self.certain.apply(effects.certain);
            self.certain.held &= !effects.certain.lost;
            self.possible.apply(effects.possible);
        } else {
            self.certain.apply_failed_certainly(effects.certain);
            self.possible.apply_failed(effects.possible);
        }
    }

    /// After COM_RESET_CONNECTION and COM_CHANGE_USER, which release everything (checked, but for a prepared XA transaction).
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Whether the session may hold something at which it should not be ended.
    pub fn may_hold_any(&self) -> bool {
        self.possible.holds_any()
    }

    /// Whether it certainly holds table or metadata locks, behind which others wait. User-level locks are advisory: whoever
    /// wants to pass could take one.
    pub fn blocks_others(&self) -> bool {
        self.certain.held & (TABLES | GLOBAL_READ | INSTANCE | BACKUP_STAGE | BACKUP_TABLE) != 0
    }
}

#[cfg(test)]
mod tests;
