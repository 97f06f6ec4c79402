//! A text without what differs from one call to the next, as a row of items. What MySQL prints as DIGEST_TEXT gives the same
//! items as the statement that it was printed for: its reductions (sql/sql_digest.cc) are followed or gone beyond, and its
//! synonyms (`symbols[]` of sql/lex.h, read out of MySQL 9.7) are one word here.
//!
//! Gone beyond: rows of VALUES are one if they are alike, even with functions in them.

mod reduce;
mod word;

use self::reduce::Reduce;
use self::word::{Role, meaning};
use crate::starts::SEMICOLON;
use crate::{Kind, Lexer, Token};

/// Takes the items in their order.
pub(crate) trait Sink {
    fn word(&mut self, word: Word<'_>);
    /// `joined`: nothing stood between it and what was before.
    fn symbol(&mut self, symbol: u8, joined: bool);
    /// The `@` before it is a variable without a name.
    fn empty_variable(&mut self) {}
    /// `sample`: what the first of them is.
    fn values(&mut self, values: Values, sample: Sample);
    /// What follows, until `end_row`, is a row of VALUES, the first or one behind a comma.
    fn begin_row(&mut self, is_first: bool);
    /// If the row is like the one before it, it is to be forgotten.
    fn end_row(&mut self);
}

/// A keyword or a name, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word<'a> {
    pub(crate) text: &'a [u8],
    /// The one of its synonyms that stands for all of them, in lower case.
    pub(crate) synonym: Option<&'static str>,
    pub(crate) quoted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Quotes {
    Yes,
    No,
}

/// What literals became.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Values {
    /// `?`
    One,
    /// `?, ...`
    Many,
    /// `(?)`, perhaps several of them.
    RowOfOne { joined: bool },
    /// `(...)`, perhaps several of them; after IN also `(?)`.
    Row { joined: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Sample {
    Null,
    Text,
    /// `"x"`, which under ANSI_QUOTES would be a name.
    MaybeName,
    #[default]
    Number,
}

impl Sample {
    /// The sample of a list that goes on with this one. What may be a name must not vanish among literals.
    fn beside(self, other: Sample) -> Sample {
        match other {
            Sample::MaybeName => Sample::MaybeName,
            Sample::Null | Sample::Text | Sample::Number => self,
        }
    }
}

pub(crate) fn feed(lexer: Lexer<'_>, sink: &mut impl Sink) {
    let mut normal = Normal { lexer, reduce: Reduce::new(sink), expression: false, end: None };
    while let Some(token) = normal.lexer.next() {
        normal.take(token);
    }
    normal.reduce.end();
}

/// Feeds the next statement that is not empty. `None`: there is no further one.
pub(crate) fn feed_statement<'a>(mut lexer: Lexer<'a>, sink: &mut impl Sink) -> Option<Lexer<'a>> {
    let first = lexer.by_ref().find(|token| token.kind != SEMICOLON)?;
    let mut normal = Normal { lexer, reduce: Reduce::new(sink), expression: false, end: None };
    let mut token = Some(first);
    while let Some(next) = token.filter(|token| token.kind != SEMICOLON) {
        normal.take(next);
        token = normal.lexer.next();
    }
    let Normal { lexer, reduce, .. } = normal;
    reduce.end();
    Some(lexer)
}

/// Makes tokens into words, symbols and literals.
struct Normal<'a, 's, S> {
    lexer: Lexer<'a>,
    reduce: Reduce<'s, S>,
    /// Whether an expression begins here, so that a sign belongs to a number.
    expression: bool,
    /// Where the token before ended.
    end: Option<usize>,
}

impl<'a, S: Sink> Normal<'a, '_, S> {
    fn take(&mut self, token: Token) {
        let text = self.lexer.text(&token);
        let joined = self.end == Some(token.start);
        self.end = Some(token.end);
        match token.kind {
            Kind::Word => self.word(text, joined),
            Kind::QuotedWord => self.quoted(text),
            Kind::String if text.first() == Some(&b'"') => self.literal(Sample::MaybeName),
            Kind::String => self.literal(Sample::Text),
            Kind::Number | Kind::Symbol(b'?') => self.literal(Sample::Number),
            Kind::Variable => self.variable(text, joined),
            Kind::Symbol(symbol) => self.symbol(symbol, token, joined),
        }
    }

    fn word(&mut self, text: &'a [u8], joined: bool) {
        // After a dot every word is a name.
        if joined && self.reduce.is_after_symbol(b'.') {
            return self.name(text, Quotes::No);
        }
        let meaning = meaning(text);
        if meaning.role.contains(Role::NULL) && !self.reduce.is_after_word(Role::BEFORE_NULL) {
            return self.literal(Sample::Null);
        }
        if meaning.role.contains(Role::INTRODUCER) && self.literal_follows() {
            return;
        }
        let mut role = meaning.role;
        if role.contains(Role::NOT) && self.reduce.is_after_word(Role::BEFORE_NULL) {
            role |= Role::BEFORE_NULL;
        }
        self.reduce.word(Word { text, synonym: meaning.synonym, quoted: false }, role);
        self.expression = meaning.role.contains(Role::BEFORE_EXPRESSION);
    }

    fn name(&mut self, text: &'a [u8], quotes: Quotes) {
        let word = Word { text, synonym: meaning(text).synonym, quoted: quotes == Quotes::Yes };
        self.reduce.word(word, Role::empty());
        self.expression = false;
    }

    fn quoted(&mut self, text: &'a [u8]) {
        match text {
            [_, inside @ .., _] => self.name(inside, Quotes::Yes),
            _ => self.name(text, Quotes::Yes),
        }
    }

    fn literal(&mut self, sample: Sample) {
        self.reduce.literals(1, sample);
        self.expression = false;
    }

    /// As MySQL's lexer has it: `@x` is `@` and a literal, since that is what hosts are; `@@x` is `@`, `@` and a word.
    fn variable(&mut self, text: &'a [u8], joined: bool) {
        self.reduce.symbol(b'@', joined);
        let (name, is_system) = match text {
            [b'@', b'@', name @ ..] => (name, true),
            [b'@', name @ ..] => (name, false),
            _ => (text, false),
        };
        if is_system {
            self.reduce.symbol(b'@', true);
        }
        match name {
            [b'`', inside @ .., b'`'] => self.name(inside, Quotes::Yes),
            name if is_system => self.name(name, Quotes::No),
            _ => self.literal(Sample::Number),
        }
    }

    fn symbol(&mut self, symbol: u8, token: Token, joined: bool) {
        let behind = self.lexer.sql().get(token.end..).unwrap_or_default();
        match symbol {
            b'<' if behind.first() == Some(&b'>') => {
                self.skip(1);
                self.reduce.symbol(b'!', joined);
                self.reduce.symbol(b'=', true);
            }
            // How MySQL prints that a list goes on.
            b'.' if behind.starts_with(b"..") => {
                self.skip(2);
                self.reduce.literals(2, Sample::Number);
                self.expression = false;
                return;
            }
            // How MySQL prints an introducer.
            b'(' if behind.starts_with(b"_charset)") => {
                self.skip(2);
                return;
            }
            // An empty user variable: what follows is no part of it.
            b'@' => {
                self.reduce.symbol(b'@', joined);
                self.reduce.empty_variable();
            }
            b'-' | b'+' if self.expression && self.literal_follows() => return,
            _ => self.reduce.symbol(symbol, joined),
        }
        self.expression = !matches!(symbol, b')' | b'.' | b'@');
    }

    fn skip(&mut self, tokens: usize) {
        for _ in 0..tokens {
            self.end = self.lexer.next().map(|token| token.end);
        }
    }

    /// Whether a literal comes next, perhaps behind further signs. A few will do.
    fn literal_follows(&self) -> bool {
        let mut ahead = self.lexer.clone();
        for _ in 0..8 {
            let Some(token) = ahead.next() else { return false };
            match token.kind {
                Kind::Symbol(b'-' | b'+') => {}
                Kind::String | Kind::Number | Kind::Symbol(b'?') => return true,
                Kind::Word => return meaning(ahead.text(&token)).role.intersects(Role::NULL | Role::INTRODUCER),
                Kind::QuotedWord | Kind::Variable | Kind::Symbol(_) => return false,
            }
        }
        false
    }
}
