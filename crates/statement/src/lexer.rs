//! MySQL's SQL as tokens, split where the server's own lexer splits it (sql/sql_lex.cc; each rule marked "checked" was
//! tried on MySQL 9.7). One pass, no allocation; an unterminated literal or comment ends with the input.
//!
//! Not followed: `$tag$ … $tag$` strings (9.x). They only occur inside CREATE FUNCTION … AS and the like, where the scanner
//! takes the rest of the text for unseen.

use crate::Charset;
use crate::charset::SWE7_LETTERS;
use memchr::{memchr, memchr2, memmem};

/// What decides how the same bytes are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Mode {
    /// sql_mode NO_BACKSLASH_ESCAPES, which replies also show as a status flag.
    pub no_backslash_escapes: bool,
    /// sql_mode ANSI_QUOTES: `"x"` is an identifier.
    pub ansi_quotes: bool,
    /// MariaDB's sql_mode MSSQL: `[x]` is an identifier.
    pub brackets: bool,
    pub server: Server,
    pub extent: Extent,
    /// The client's. A lexer reads `Unknown` as `Plain`; [`scan`](crate::scan) reads it in every way.
    pub charset: Charset,
}

/// Which versioned comments are code. Give it where it is known: with `Unknown` all of them are, so that nothing can
/// hide in one, but a quote inside a comment that the server skips would then be taken for a literal's start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Server {
    #[default]
    Unknown,
    /// 9.7.4 is 90704.
    MySql(u32),
    /// 10.11.6 is 101106.
    MariaDb(u32),
}

/// Whether the text is all of the command or only its first bytes. Of a cut text no token that touches the end is
/// given, since it may go on: `KILL 12` may be `KILL 123`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Extent {
    #[default]
    Whole,
    /// The rest may hold further statements.
    Cut,
    /// The rest belongs to the last statement, because the session takes one statement at a time.
    CutInStatement,
}

impl Extent {
    pub fn is_cut(self) -> bool {
        match self {
            Extent::Whole => false,
            Extent::Cut | Extent::CutInStatement => true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A keyword or an identifier without quotes.
    Word,
    /// `` `x` ``, or `"x"` under ANSI_QUOTES; the quotes are part of the token.
    QuotedWord,
    /// `'x'`, `"x"`, `N'x'`. Of `_utf8'x'` the introducer is a word of its own.
    String,
    /// `1`, `1.5e3`, `0x1F`, `x'1F'`, `0b1`, `b'1'`. A sign is a symbol.
    Number,
    /// `@x`, `` @`x` ``, `@@x`; also the host of `user@host`.
    Variable,
    /// One byte of anything else, so `<=` is two tokens.
    Symbol(u8),
}

/// A token is `sql[start..end]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
}

#[derive(Debug, Clone)]
pub struct Lexer<'a> {
    sql: &'a [u8],
    mode: Mode,
    position: usize,
    /// Inside `/*! … */`. The server has one flag and no depth: the first `*/` ends it (checked).
    in_code_comment: bool,
    code_comment_edges: usize,
    /// Where the last identifier ended: `t.1a` is an identifier after a dot, `.1` alone a number.
    identifier_end: usize,
    /// The position just after an identifier and a dot.
    member_start: usize,
    /// The byte above 0x7F that is a space, and whether characters may have two bytes: asked for every word.
    space: Option<u8>,
    is_plain: bool,
    comments: Comments,
    met: Met,
}

/// What makes other readings possible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Met {
    /// A backslash in double quotes: whether it escapes depends on ANSI_QUOTES.
    pub(crate) escape_in_double_quotes: bool,
    /// `/*!`.
    pub(crate) code_comment: bool,
    /// `[`, which begins an identifier under MariaDB's MSSQL mode.
    pub(crate) bracket: bool,
    /// A symbol that is a letter in swe7.
    pub(crate) swe7_letter: bool,
}

/// What was passed over, for those who look for tags in it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Comments {
    /// Where the first `/*!` begins, whether it is code for this server or not.
    pub(crate) first_code: Option<usize>,
    /// Where the last `/*!` or the `*/` of the last one ends.
    pub(crate) last_code_end: usize,
    /// Whether the next plain comment is wanted.
    pub(crate) wanted: bool,
    /// The inside of the first plain comment since it was wanted.
    pub(crate) found: Option<(usize, usize)>,
}

impl<'a> Lexer<'a> {
    pub fn new(sql: &'a [u8], mode: Mode) -> Self {
        // The server knows no BOM (checked: a syntax error); what follows one is looked at all the same.
        let position = if sql.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
        Self {
            sql,
            mode,
            position,
            in_code_comment: false,
            code_comment_edges: 0,
            identifier_end: NOWHERE,
            member_start: NOWHERE,
            space: mode.charset.space(),
            is_plain: is_plain(mode.charset),
            comments: Comments::default(),
            met: Met::default(),
        }
    }

    /// Reads on from where another lexer of the same text stands, in another mode.
    pub(crate) fn resumed(sql: &'a [u8], at: Position, mode: Mode) -> Self {
        let mut lexer = Self::new(sql, mode);
        if at != Position::START {
            lexer.position = at.offset;
            lexer.in_code_comment = at.in_code_comment;
        }
        lexer
    }

    pub(crate) fn set_mode(&mut self, mode: Mode) {
        self.mode = mode;
        self.space = mode.charset.space();
        self.is_plain = is_plain(mode.charset);
    }

    pub(crate) fn stands_at(&self) -> Position {
        Position { offset: self.position, in_code_comment: self.in_code_comment }
    }

    pub(crate) fn comments(&mut self) -> &mut Comments {
        &mut self.comments
    }

    pub(crate) fn met(&self) -> Met {
        Met { code_comment: self.comments.first_code.is_some(), ..self.met }
    }

    pub(crate) fn in_code_comment(&self) -> bool {
        self.in_code_comment
    }

    pub(crate) fn sql(&self) -> &'a [u8] {
        self.sql
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode
    }

    pub fn text(&self, token: &Token) -> &'a [u8] {
        self.sql.get(token.start..token.end).unwrap_or_default()
    }

    /// Whether the token is this keyword, in any case.
    pub fn is(&self, token: &Token, keyword: &str) -> bool {
        token.kind == Kind::Word && self.text(token).eq_ignore_ascii_case(keyword.as_bytes())
    }

    pub fn is_any(&self, token: &Token, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is(token, keyword))
    }

    /// How many `/*!` and their `*/` were passed: two tokens with the same count have none between them.
    pub fn code_comment_edges(&self) -> usize {
        self.code_comment_edges
    }

    pub fn extent(&self) -> Extent {
        self.mode.extent
    }

    #[inline(always)]
    fn at(&self, position: usize) -> Option<u8> {
        self.sql.get(position).copied()
    }

    fn rest(&self, position: usize) -> &'a [u8] {
        self.sql.get(position..).unwrap_or_default()
    }

    /// The first position from here on whose byte is not of this class.
    fn run(&self, from: usize, wanted: u8) -> usize {
        let mut end = from;
        while let Some(byte) = self.at(end)
            && class(byte) & wanted != 0
        {
            end += 1;
        }
        end
    }

    /// Moves to the next byte of code; `None` at the end.
    #[inline(always)]
    fn skip_to_code(&mut self) -> Option<u8> {
        loop {
            self.position = self.run(self.position, SPACE);
            let byte = self.at(self.position)?;
            if class(byte) & MAYBE_SKIPPED == 0 || !self.skip_comment(byte) {
                return Some(byte);
            }
        }
    }

    /// Moves over a comment, or an end of one, that begins with this byte. `false`: it is none.
    #[inline(never)]
    fn skip_comment(&mut self, byte: u8) -> bool {
        match (byte, self.at(self.position + 1)) {
            (b'#', _) => self.skip_line(),
            // Checked: a control character will do, and so will the end of the text.
            (b'-', Some(b'-'))
                if self.at(self.position + 2).is_none_or(|byte| self.ends_dashes(byte)) || self.is_tail() =>
            {
                self.skip_line();
            }
            (b'/', Some(b'*')) => self.enter_comment(),
            (b'*', Some(b'/')) if self.in_code_comment => {
                self.in_code_comment = false;
                self.code_comment_edges += 1;
                self.position += 2;
                self.comments.last_code_end = self.position;
            }
            (byte @ (0xA0 | 0xFF), _) if self.space == Some(byte) => self.position += 1,
            _ => return false,
        }
        true
    }

    /// Whether only `;` and spaces follow the dashes: the servers take them off the end of a text before they read it (checked).
    fn is_tail(&self) -> bool {
        let rest = self.rest(self.position + 2);
        rest.iter().all(|byte| matches!(byte, b';' | b'\t'..=b'\r' | b' ') || self.space == Some(*byte))
    }

    fn ends_dashes(&self, byte: u8) -> bool {
        byte <= b' ' || byte == 0x7F || (byte >= 0x80 && self.mode.charset.ends_dashes(byte))
    }

    fn skip_line(&mut self) {
        let rest = self.rest(self.position);
        self.position += memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }

    fn enter_comment(&mut self) {
        let (body, for_mariadb) = match (self.at(self.position + 2), self.at(self.position + 3)) {
            (Some(b'!'), _) => (self.position + 3, false),
            (Some(b'M'), Some(b'!')) if !matches!(self.mode.server, Server::MySql(_)) => (self.position + 4, true),
            _ => {
                // Plain comments do not nest (checked).
                let start = self.position + 2;
                let rest = self.rest(start);
                let length = memmem::find(rest, b"*/");
                if self.comments.wanted && self.comments.found.is_none() && rest.first() != Some(&b'+') {
                    self.comments.found = Some((start, start + length.unwrap_or(rest.len())));
                }
                self.position = start + length.map_or(rest.len(), |length| length + 2);
                return;
            }
        };
        self.comments.first_code.get_or_insert(self.position);
        let (digits, version) = self.version(body);
        if runs(self.mode.server, version, for_mariadb) {
            self.position = body + digits;
            self.in_code_comment = true;
            self.code_comment_edges += 1;
        } else {
            self.position = self.skipped_comment_end(body);
        }
        self.comments.last_code_end = self.position;
    }

    /// The version at the start of a code comment, and how many digits it has: five, or six. Fewer are not a version
    /// but a number (checked). The sixth counts in MySQL only with white space behind it (checked), in MariaDB always.
    fn version(&self, body: usize) -> (usize, Option<u32>) {
        let rest = self.rest(body);
        let found = rest.iter().take(6).take_while(|byte| byte.is_ascii_digit()).count();
        let sixth = match self.mode.server {
            Server::MariaDb(_) => true,
            Server::MySql(_) | Server::Unknown => rest.get(6).is_some_and(|byte| matches!(byte, b'\t'..=b'\r' | b' ')),
        };
        let digits = match found {
            6 if sixth => 6,
            5 | 6 => 5,
            _ => return (0, None),
        };
        let version = rest.iter().take(digits).fold(0, |number, byte| number * 10 + u32::from(byte - b'0'));
        (digits, Some(version))
    }

    /// A code comment for a newer server is skipped, with plain comments one deep in it (checked).
    fn skipped_comment_end(&self, body: usize) -> usize {
        let mut position = body;
        while let Some(found) = memchr2(b'*', b'/', self.rest(position)) {
            position += found;
            match (self.at(position), self.at(position + 1)) {
                (Some(b'*'), Some(b'/')) => return position + 2,
                (Some(b'/'), Some(b'*')) => {
                    let inner = self.rest(position + 2);
                    position += 2 + memmem::find(inner, b"*/").map_or(inner.len(), |end| end + 2);
                }
                _ => position += 1,
            }
        }
        self.sql.len()
    }

    fn token_at(&self, first: u8) -> (Kind, usize) {
        let start = self.position;
        let class = class(first);
        if self.member_start == start && class & IDENTIFIER != 0 {
            return (Kind::Word, self.word_end(start));
        }
        if class & DIGIT != 0 {
            // Nearly always these are all.
            let end = self.run(start, DIGIT);
            if self.at(end).is_none_or(|after| after != b'.' && self::class(after) & IDENTIFIER == 0) {
                return (Kind::Number, end);
            }
        }
        match (first, self.at(start + 1)) {
            (b'\'', _) => (Kind::String, self.quoted_end(start, first)),
            (b'"', _) if !self.mode.ansi_quotes => (Kind::String, self.quoted_end(start, first)),
            (b'"' | b'`', _) => (Kind::QuotedWord, self.quoted_end(start, first)),
            (b'[', _) if self.mode.brackets => (Kind::QuotedWord, self.quoted_end(start, b']')),
            (b'n' | b'N', Some(b'\'')) => (Kind::String, self.quoted_end(start + 1, b'\'')),
            (b'x' | b'X', Some(b'\'')) => self.digits_in_quotes(start, |byte| byte.is_ascii_hexdigit()),
            (b'b' | b'B', Some(b'\'')) => self.digits_in_quotes(start, |byte| matches!(byte, b'0' | b'1')),
            (b'@', _) => self.variable(start),
            (b'0'..=b'9', _) => self.number_or_word(start),
            (b'.', Some(b'0'..=b'9')) if self.identifier_end != start => {
                (Kind::Number, self.exponent_end(self.run(start + 1, DIGIT)))
            }
            // MariaDB's NULL, and that of old MySQLs: one token, whatever follows it (checked on 10.11).
            (b'\\', Some(b'N')) if self.has_escaped_null() => (Kind::Number, start + 2),
            _ if class & IDENTIFIER != 0 => (Kind::Word, self.word_end(start)),
            _ if self.mode.charset == Charset::Swe7 && self.is_swe7_letter(first) => (Kind::Word, self.word_end(start)),
            _ => (Kind::Symbol(first), start + 1),
        }
    }

    #[inline]
    fn word_end(&self, start: usize) -> usize {
        if self.mode.charset == Charset::Swe7 {
            return self.word_end_by_character(start, IDENTIFIER);
        }
        let end = self.run(start, IDENTIFIER);
        if self.is_plain || self.sql.get(start..end).is_none_or(<[u8]>::is_ascii) {
            end
        } else {
            self.word_end_by_character(start, IDENTIFIER)
        }
    }

    #[inline(never)]
    fn word_end_by_character(&self, start: usize, wanted: u8) -> usize {
        let mut end = start;
        let swe7 = self.mode.charset == Charset::Swe7;
        let is_part = |byte: u8| class(byte) & wanted != 0 || (swe7 && self.is_swe7_letter(byte));
        while let Some(byte) = self.at(end).filter(|&byte| is_part(byte)) {
            match byte {
                0..=0x7F => end += 1,
                _ if self.space == Some(byte) => break,
                // A character's last byte may be none that an identifier has.
                _ => end += self.mode.charset.character_length(self.rest(end)),
            }
        }
        end.min(self.sql.len())
    }

    fn has_escaped_null(&self) -> bool {
        !matches!(self.mode.server, Server::MySql(80_000..))
    }

    /// Where `\N` is a token, a backslash is no letter.
    fn is_swe7_letter(&self, byte: u8) -> bool {
        SWE7_LETTERS.contains(&byte) && !(byte == b'\\' && self.has_escaped_null())
    }

    /// The end of what the quote at `open` begins. A doubled quote stands for itself; a backslash escapes in strings only.
    fn quoted_end(&self, open: usize, quote: u8) -> usize {
        let is_string = quote == b'\'' || (quote == b'"' && !self.mode.ansi_quotes);
        let escape = if is_string && !self.mode.no_backslash_escapes { b'\\' } else { quote };
        let mut position = open + 1;
        if self.mode.charset.is_multibyte() {
            return self.quoted_end_by_character(position, quote, escape);
        }
        while let Some(found) = memchr2(quote, escape, self.rest(position)) {
            position += found;
            if self.at(position) == Some(quote) && self.at(position + 1) != Some(quote) {
                return position + 1;
            }
            position += 2;
        }
        self.sql.len()
    }

    fn quoted_end_by_character(&self, inside: usize, quote: u8, escape: u8) -> usize {
        let mut position = inside;
        while let Some(byte) = self.at(position) {
            position += match byte {
                _ if byte == quote && self.at(position + 1) != Some(quote) => return position + 1,
                _ if byte == quote => 2,
                // A backslash escapes one byte, also where a character of two begins there (checked).
                _ if byte == escape => 2,
                _ => self.mode.charset.character_length(self.rest(position)),
            };
        }
        self.sql.len()
    }

    fn digits_in_quotes(&self, start: usize, is_digit: fn(&u8) -> bool) -> (Kind, usize) {
        let end = start + 2 + self.rest(start + 2).iter().take_while(|byte| is_digit(byte)).count();
        // Anything else in there is a syntax error (checked); as a string it at least ends where a reader sees it end.
        if self.at(end) == Some(b'\'') {
            (Kind::Number, end + 1)
        } else {
            (Kind::String, self.quoted_end(start + 1, b'\''))
        }
    }

    fn variable(&self, start: usize) -> (Kind, usize) {
        let system = self.at(start + 1) == Some(b'@');
        let name = start + 1 + usize::from(system);
        let end = match self.at(name) {
            Some(quote @ b'`') => self.quoted_end(name, quote),
            Some(quote @ (b'\'' | b'"')) if !system => self.quoted_end(name, quote),
            _ if system => self.word_end(name),
            _ if self.is_plain => self.run(name, IDENTIFIER | DOT),
            _ => self.word_end_by_character(name, IDENTIFIER | DOT),
        };
        if end == start + 1 { (Kind::Symbol(b'@'), end) } else { (Kind::Variable, end) }
    }

    /// Identifiers may begin with digits: `1a`, `0X1F` and `1e` are (checked), `0x1f` and `1e5` are not.
    fn number_or_word(&self, start: usize) -> (Kind, usize) {
        let word_end = self.word_end(start);
        let word = self.sql.get(start..word_end).unwrap_or_default();
        match word {
            [b'0', b'x', digits @ ..] if !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit) => {
                return (Kind::Number, word_end);
            }
            [b'0', b'b', digits @ ..]
                if !digits.is_empty() && digits.iter().all(|byte| matches!(byte, b'0' | b'1')) =>
            {
                return (Kind::Number, word_end);
            }
            _ => {}
        }
        let digits_end = self.run(start, DIGIT);
        let exponent_end = self.exponent_end(digits_end);
        if exponent_end > digits_end {
            (Kind::Number, exponent_end)
        } else if digits_end < word_end {
            (Kind::Word, word_end)
        } else if self.at(digits_end) == Some(b'.') {
            (Kind::Number, self.exponent_end(self.run(digits_end + 1, DIGIT)))
        } else {
            (Kind::Number, digits_end)
        }
    }

    fn exponent_end(&self, from: usize) -> usize {
        let signed = matches!(self.at(from + 1), Some(b'+' | b'-'));
        let digits = from + 1 + usize::from(signed);
        let has_exponent = matches!(self.at(from), Some(b'e' | b'E'));
        match self.at(digits) {
            Some(b'0'..=b'9') if has_exponent => self.run(digits, DIGIT),
            _ => from,
        }
    }
}

impl Iterator for Lexer<'_> {
    type Item = Token;

    #[inline]
    fn next(&mut self) -> Option<Token> {
        self.next_inlined()
    }
}

impl Lexer<'_> {
    /// For the one loop that reads every token of every text.
    #[inline(always)]
    pub(crate) fn next_inlined(&mut self) -> Option<Token> {
        let first = self.skip_to_code()?;
        let start = self.position;
        // Most tokens are what they are, whatever stands around them.
        let class = class(first);
        if class & PLAIN_LETTER != 0 {
            let end = self.word_end(start);
            self.identifier_end = end;
            self.token(Kind::Word, start, end)
        } else if class & PLAIN_SYMBOL != 0 {
            self.identifier_end = NOWHERE;
            self.token(Kind::Symbol(first), start, start + 1)
        } else {
            self.doubtful(first)
        }
    }

    /// Gives a token; after it, no member's name begins.
    #[inline(always)]
    fn token(&mut self, kind: Kind, start: usize, end: usize) -> Option<Token> {
        self.position = end;
        self.member_start = NOWHERE;
        if end == self.sql.len() && self.mode.extent.is_cut() {
            return None;
        }
        Some(Token { kind, start, end })
    }

    /// The token that begins with this byte, which does not say what it is.
    #[inline(never)]
    fn doubtful(&mut self, first: u8) -> Option<Token> {
        let start = self.position;
        let (kind, end) = self.token_at(first);
        // `quoted_end` may step past the end by one, over a backslash that is the last byte.
        let end = end.min(self.sql.len());
        if first == b'"' && !self.mode.no_backslash_escapes {
            self.met.escape_in_double_quotes |= memchr(b'\\', self.sql.get(start..end).unwrap_or_default()).is_some();
        }
        if matches!(kind, Kind::Symbol(_)) {
            self.met.bracket |= first == b'[';
            self.met.swe7_letter |= SWE7_LETTERS.contains(&first);
        }
        let is_member = kind == Kind::Symbol(b'.') && self.identifier_end == start;
        let is_identifier = matches!(kind, Kind::Word | Kind::QuotedWord | Kind::Variable);
        self.identifier_end = if is_identifier { end } else { NOWHERE };
        let token = self.token(kind, start, end);
        self.member_start = if is_member { end } else { NOWHERE };
        token
    }
}

const NOWHERE: usize = usize::MAX;

const SPACE: u8 = 1;
const IDENTIFIER: u8 = 1 << 1;
/// Begins an identifier, whatever follows: not the letters of `N'x'`, `x'1F'` and `b'1'`.
const PLAIN_LETTER: u8 = 1 << 2;
const DIGIT: u8 = 1 << 3;
/// A token by itself, whatever follows.
const PLAIN_SYMBOL: u8 = 1 << 4;
const DOT: u8 = 1 << 5;
/// May begin or end a comment, or be a space in some character sets.
const MAYBE_SKIPPED: u8 = 1 << 6;

#[inline(always)]
fn class(byte: u8) -> u8 {
    CLASSES[usize::from(byte)]
}

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0_u8;
    loop {
        let mut class = match byte {
            b'\t'..=b'\r' | b' ' => SPACE,
            b'0'..=b'9' => IDENTIFIER | DIGIT,
            b'n' | b'N' | b'x' | b'X' | b'b' | b'B' => IDENTIFIER,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | 0x80..=0xFF => IDENTIFIER | PLAIN_LETTER,
            b'.' => DOT,
            b'#' | b'-' | b'/' | b'*' => MAYBE_SKIPPED,
            b'\'' | b'"' | b'`' | b'@' => 0,
            // Symbols that not every mode and character set takes for one.
            b'[' | b'\\' | b']' | b'{' | b'}' | b'~' | b'^' => 0,
            _ => PLAIN_SYMBOL,
        };
        if matches!(byte, 0xA0 | 0xFF) {
            class |= MAYBE_SKIPPED;
        }
        classes[byte as usize] = class;
        if byte == u8::MAX {
            break;
        }
        byte += 1;
    }
    classes
};

/// Where a lexer stands between two statements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) offset: usize,
    pub(crate) in_code_comment: bool,
}

impl Position {
    pub(crate) const START: Position = Position { offset: 0, in_code_comment: false };
}

fn is_plain(charset: Charset) -> bool {
    charset.space().is_none() && !charset.is_multibyte() && charset != Charset::Swe7
}

/// Whether a code comment with this version is code. MariaDB skips those meant for MySQL 5.7 and later, which it is not.
fn runs(server: Server, version: Option<u32>, for_mariadb: bool) -> bool {
    match (server, version) {
        (Server::Unknown, _) | (_, None) => true,
        (Server::MySql(own), Some(version)) => version <= own,
        (Server::MariaDb(own), Some(version)) => {
            version <= own && (for_mariadb || !(50_700..=99_999).contains(&version))
        }
    }
}

#[cfg(test)]
mod tests;
