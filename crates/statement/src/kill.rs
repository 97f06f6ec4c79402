//! KILL in a statement's text, so that a connection id of ours can become the upstream's.
//!
//! Found: `KILL [HARD | SOFT] [CONNECTION | QUERY] id` at the start of any statement of the text, where the id is an
//! integer literal: decimal, hexadecimal, binary, signed, or in quotes as drivers that interpolate parameters write it
//! (the server takes all of these: checked on MySQL 9.7).
//!
//! Not found, and so forwarded as it is: an id that is computed (`KILL @v`, `KILL (SELECT …)`, `KILL CONNECTION_ID()`,
//! `KILL 5+1`), `KILL USER x`, a statement in a string (`PREPARE s FROM 'KILL 5'`), and MariaDB's
//! `KILL QUERY ID n`, whose number names a query and not a connection. `KILL ?` has its own function.

use crate::scan::Readings;
use crate::starts::{SEMICOLON, Stored, skip_from, stored};
use crate::{Extent, Kind, Lexer, Mode, Scan, Token};
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KillTarget {
    /// The id with its sign: put another number in place of these bytes, and it is killed instead.
    pub digits: Range<usize>,
    /// Modulo 2³², because some drivers print ids as signed numbers.
    pub id: u32,
    pub scope: KillScope,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillScope {
    Connection,
    Query,
}

impl Scan {
    /// The KILLs of the scanned text, in order. Where the text has several readings there are none: which number is an id is
    /// not known.
    pub fn kills(&self, sql: &[u8]) -> Vec<KillTarget> {
        match (&self.readings, self.may_kill) {
            (Readings::One(mode), true) if !self.has_program => find(sql, *mode).collect(),
            (Readings::One(_), _) | (Readings::Several(_) | Readings::TooMany, _) => Vec::new(),
        }
    }

    pub fn may_kill(&self) -> bool {
        self.may_kill
    }

    /// Whether the scanned text, which is to be prepared, is a KILL whose id comes with the execution.
    pub fn kills_a_parameter(&self, sql: &[u8]) -> bool {
        match (&self.readings, self.may_kill) {
            (Readings::One(mode), true) => names_a_parameter(sql, *mode),
            (Readings::One(_), false) | (Readings::Several(_) | Readings::TooMany, _) => false,
        }
    }
}

/// The KILLs of a text read in one mode, in order.
fn find(sql: &[u8], mode: Mode) -> Kills<'_> {
    Kills { lexer: Some(Lexer::new(sql, mode)) }
}

/// The text with the ids that `lookup` knows replaced at these targets; `None` when there is nothing to replace.
pub fn translate(sql: &[u8], targets: &[KillTarget], lookup: impl Fn(u32) -> Option<u32>) -> Option<Vec<u8>> {
    let mut translated = Vec::new();
    let mut copied = 0;
    for target in targets {
        let Some(id) = lookup(target.id) else { continue };
        translated.extend_from_slice(sql.get(copied..target.digits.start)?);
        // `KILL-5` must not become `KILL5`, nor `/*!-5*/` a version.
        if !translated.last().is_some_and(u8::is_ascii_whitespace) {
            translated.push(b' ');
        }
        translated.extend_from_slice(id.to_string().as_bytes());
        copied = target.digits.end;
    }
    if copied == 0 {
        return None;
    }
    translated.extend_from_slice(sql.get(copied..)?);
    Some(translated)
}

fn names_a_parameter(sql: &[u8], mode: Mode) -> bool {
    let mut lexer = Lexer::new(sql, mode);
    let mut token = lexer.next();
    for words in [&["KILL"][..], &["HARD", "SOFT"], &["CONNECTION", "QUERY"]] {
        if token.is_some_and(|token| lexer.is_any(&token, words)) {
            token = lexer.next();
        } else if words == ["KILL"] {
            return false;
        }
    }
    token.is_some_and(|token| token.kind == Kind::Symbol(b'?'))
}

#[derive(Debug, Clone)]
struct Kills<'a> {
    lexer: Option<Lexer<'a>>,
}

impl Iterator for Kills<'_> {
    type Item = KillTarget;

    fn next(&mut self) -> Option<KillTarget> {
        let lexer = self.lexer.as_mut()?;
        loop {
            let first = lexer.next()?;
            if lexer.is(&first, "KILL") {
                let (target, last) = target(lexer);
                skip_from(lexer, last);
                if target.is_some() {
                    return target;
                }
                continue;
            }
            match stored(lexer, &first) {
                (Stored::Program, _) => {
                    self.lexer = None;
                    return None;
                }
                (Stored::View | Stored::Nothing, last) => skip_from(lexer, last),
            }
        }
    }
}

/// Reads what follows KILL. The second value is the last token read.
fn target(lexer: &mut Lexer<'_>) -> (Option<KillTarget>, Option<Token>) {
    let mut token = lexer.next();
    let mut scope = KillScope::Connection;
    if token.is_some_and(|token| lexer.is_any(&token, &["HARD", "SOFT"])) {
        token = lexer.next();
    }
    if token.is_some_and(|token| lexer.is(&token, "CONNECTION")) {
        token = lexer.next();
    } else if token.is_some_and(|token| lexer.is(&token, "QUERY")) {
        scope = KillScope::Query;
        token = lexer.next();
    }
    let Some(start) = token.map(|token| token.start) else { return (None, None) };
    let edges = lexer.code_comment_edges();
    let mut negative = false;
    while let Some(Token { kind: Kind::Symbol(sign @ (b'-' | b'+')), .. }) = token {
        negative ^= sign == b'-';
        token = lexer.next();
    }
    let Some(number) = token else { return (None, None) };
    // Replacing a sign and a number on two sides of a code comment's edge would remove the edge.
    let id = integer(number.kind, lexer.text(&number)).filter(|_| lexer.code_comment_edges() == edges);
    let Some(id) = id else { return (None, token) };
    let after = lexer.next();
    let ends = match after {
        Some(token) => token.kind == SEMICOLON,
        // What was cut off may go on with `+1`.
        None => lexer.extent() == Extent::Whole,
    };
    let id = if negative { id.wrapping_neg() } else { id };
    (ends.then_some(KillTarget { digits: start..number.end, id, scope }), after)
}

fn integer(kind: Kind, text: &[u8]) -> Option<u32> {
    match (kind, text) {
        (Kind::Number, [b'0', b'x', digits @ ..] | [b'x' | b'X', b'\'', digits @ .., b'\'']) => radix(digits, 16),
        (Kind::Number, [b'0', b'b', digits @ ..] | [b'b' | b'B', b'\'', digits @ .., b'\'']) => radix(digits, 2),
        (Kind::Number, digits) => radix(digits, 10),
        (Kind::String, [quote @ (b'\'' | b'"'), content @ .., close]) if quote == close => match content {
            [b'-', digits @ ..] => radix(digits, 10).map(u32::wrapping_neg),
            digits => radix(digits, 10),
        },
        _ => None,
    }
}

/// Modulo 2³². Over 2⁶⁴ the server takes the largest number (checked), and so do we.
fn radix(digits: &[u8], radix: u8) -> Option<u32> {
    if digits.is_empty() {
        return None;
    }
    let number = digits.iter().try_fold(0u64, |number, &byte| {
        let digit = char::from(byte).to_digit(u32::from(radix))?;
        Some(number.saturating_mul(u64::from(radix)).saturating_add(u64::from(digit)))
    })?;
    u32::try_from(number & u64::from(u32::MAX)).ok()
}

#[cfg(test)]
mod tests;
