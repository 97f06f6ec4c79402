//! What a SET sets, as far as it changes how the session's further bytes are read, or its transaction.

use crate::starts::SEMICOLON;
use crate::{CharsetChange, Kind, Lexer, SqlModeChange, Token};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Settings {
    /// SET PASSWORD and SET DEFAULT ROLE: statements of their own, which commit.
    pub(super) account: bool,
    pub(super) autocommit: Option<bool>,
    pub(super) charset: Option<CharsetChange>,
    pub(super) sql_mode: Option<SqlModeChange>,
    /// It sets more than one thing, one by one: if one fails, those before it stay (checked on MySQL 9.7).
    pub(super) several: bool,
}

/// Of one assignment. A word for it also counts for those behind it that have none (checked).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    Session,
    /// GLOBAL or PERSIST stands before it, or before one in front of it.
    Other,
}

impl Settings {
    /// The server drops bytes that are no characters, so the name may be that of any variable.
    fn may_be_any(&mut self) {
        self.sql_mode = Some(SqlModeChange::Unknown);
        self.charset = Some(CharsetChange::Unknown);
    }
}

/// Reads what follows SET, on a lexer of its own.
pub(super) fn read(mut lexer: Lexer<'_>) -> Settings {
    let mut settings = Settings::default();
    let mut token = lexer.next();
    let mut scope = Scope::Session;
    while let Some(first) = token.filter(|token| token.kind != SEMICOLON) {
        settings.account |= concerns_account(&lexer, &first);
        let last = assignment(&mut lexer, first, &mut scope, &mut settings);
        token = match skip_to_comma(&mut lexer, last) {
            Some(_) => {
                settings.several = true;
                lexer.next()
            }
            None => None,
        };
    }
    settings
}

/// PASSWORD and DEFAULT ROLE, which MariaDB also takes among other settings.
fn concerns_account(lexer: &Lexer<'_>, first: &Token) -> bool {
    let is_role = || lexer.clone().next().is_some_and(|second| lexer.is(&second, "ROLE"));
    lexer.is(first, "PASSWORD") || (lexer.is(first, "DEFAULT") && is_role())
}

/// Reads one, from its first token. The result is the last token read.
fn assignment(lexer: &mut Lexer<'_>, first: Token, scope: &mut Scope, settings: &mut Settings) -> Option<Token> {
    let mut token = first;
    let mut session = true;
    let mut is_inherited = *scope == Scope::Other;
    if lexer.is_any(&token, &["SESSION", "LOCAL", "GLOBAL", "PERSIST", "PERSIST_ONLY"]) {
        session = lexer.is_any(&token, &["SESSION", "LOCAL"]);
        *scope = if session { Scope::Session } else { Scope::Other };
        is_inherited = false;
        token = lexer.next()?;
    }
    if lexer.is_any(&token, &["NAMES", "CHARSET"]) {
        return charset(lexer, settings);
    }
    if lexer.is_any(&token, &["CHARACTER", "CHAR"]) {
        let set = lexer.next()?;
        return if lexer.is(&set, "SET") { charset(lexer, settings) } else { Some(set) };
    }
    if !lexer.mode().charset.keeps_name(lexer.text(&token)) {
        settings.may_be_any();
    }
    let mut name = bare(lexer.text(&token));
    let mut next = lexer.next()?;
    while next.kind == Kind::Symbol(b'.') {
        session &= !is_any(name, &["GLOBAL", "PERSIST", "PERSIST_ONLY"]);
        is_inherited &= !is_any(name, &["SESSION", "LOCAL"]);
        let member = lexer.next()?;
        if !lexer.mode().charset.keeps_name(lexer.text(&member)) {
            settings.may_be_any();
        }
        name = bare(lexer.text(&member));
        next = lexer.next()?;
    }
    if next.kind == Kind::Symbol(b':') {
        next = lexer.next()?;
    }
    let is_user_variable = token.kind == Kind::Variable && !lexer.text(&token).starts_with(b"@@");
    if next.kind != Kind::Symbol(b'=') || !session || is_user_variable {
        return Some(next);
    }
    if is_any(name, &["SQL_MODE"]) {
        settings.sql_mode = Some(if is_inherited { SqlModeChange::Unknown } else { SqlModeChange::Set });
    } else if is_any(name, &["CHARACTER_SET_CLIENT"]) {
        let last = charset(lexer, settings);
        if is_inherited {
            settings.charset = Some(CharsetChange::Unknown);
        }
        return last;
    } else if is_any(name, &["AUTOCOMMIT"]) {
        let value = lexer.next()?;
        settings.autocommit = Some(!is_any(bare(lexer.text(&value)), &["0", "OFF", "FALSE"]));
        return Some(value);
    }
    Some(next)
}

/// The value of SET NAMES and its like. Only a name on its own says which it is.
fn charset(lexer: &mut Lexer<'_>, settings: &mut Settings) -> Option<Token> {
    settings.charset = Some(CharsetChange::Unknown);
    let value = lexer.next()?;
    let after = lexer.next();
    let is_alone =
        after.is_none_or(|after| matches!(after.kind, Kind::Symbol(b',' | b';')) || lexer.is(&after, "COLLATE"));
    let text = lexer.text(&value);
    let is_name = match value.kind {
        Kind::Word => !lexer.is(&value, "DEFAULT"),
        Kind::QuotedWord => true,
        // `N'gbk'` and `'\gbk'` are too.
        Kind::String => matches!(text.first(), Some(b'\'' | b'"')) && !text.contains(&b'\\'),
        Kind::Number | Kind::Variable | Kind::Symbol(_) => false,
    };
    if is_alone && is_name {
        settings.charset = Some(CharsetChange::named(bare(text)));
    }
    after
}

fn skip_to_comma(lexer: &mut Lexer<'_>, last: Option<Token>) -> Option<Token> {
    let mut token = last;
    let mut depth = 0_usize;
    while let Some(current) = token {
        match current.kind {
            SEMICOLON => return None,
            Kind::Symbol(b',') if depth == 0 => return token,
            Kind::Symbol(b'(') => depth += 1,
            Kind::Symbol(b')') => depth = depth.saturating_sub(1),
            Kind::Symbol(_) | Kind::Word | Kind::QuotedWord | Kind::String | Kind::Number | Kind::Variable => {}
        }
        token = lexer.next();
    }
    None
}

/// Without the signs of a variable and without quotes.
fn bare(text: &[u8]) -> &[u8] {
    let text = text.strip_prefix(b"@@").unwrap_or(text);
    match text {
        [b'`' | b'"' | b'\'', inside @ .., b'`' | b'"' | b'\''] => inside,
        _ => text,
    }
}

fn is_any(text: &[u8], words: &[&str]) -> bool {
    words.iter().any(|word| text.eq_ignore_ascii_case(word.as_bytes()))
}
