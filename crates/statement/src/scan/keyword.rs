//! The words in the middle of a statement that change what it is.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    As,
    Delete,
    Distinct,
    Dual,
    File,
    For,
    From,
    Insert,
    Into,
    Like,
    Limit,
    Lock,
    /// Between INSERT and its table: IGNORE, LOW_PRIORITY, DELAYED.
    InsertModifier,
    Next,
    Nextval,
    Recursive,
    Regexp,
    Replace,
    Select,
    /// Between SELECT and its list: ALL, SQL_CALC_FOUND_ROWS …
    SelectModifier,
    Set,
    /// UNION, EXCEPT, INTERSECT, MINUS.
    SetOperation,
    Share,
    Table,
    Update,
    Value,
    Values,
    Where,
    With,
    None,
}

impl Keyword {
    /// Settled by length and first letter for most words.
    pub(super) fn of(word: &[u8]) -> Keyword {
        let Some(first) = word.first() else { return Keyword::None };
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword.as_bytes());
        match (word.len(), first | 0x20) {
            (2, b'a') if is("AS") => Keyword::As,
            (3, b'f') if is("FOR") => Keyword::For,
            (3, b's') if is("SET") => Keyword::Set,
            (3, b'a') if is("ALL") => Keyword::SelectModifier,
            (4, b'd') if is("DUAL") => Keyword::Dual,
            (4, b'f') if is("FROM") => Keyword::From,
            (4, b'i') if is("INTO") => Keyword::Into,
            (4, b'l') if is("LIKE") => Keyword::Like,
            (4, b'l') if is("LOCK") => Keyword::Lock,
            (4, b'n') if is("NEXT") => Keyword::Next,
            (4, b'w') if is("WITH") => Keyword::With,
            // FETCH FIRST n ROWS ONLY.
            (5, b'f') if is("FETCH") => Keyword::Limit,
            (5, b'l') if is("LIMIT") => Keyword::Limit,
            (5, b'm') if is("MINUS") => Keyword::SetOperation,
            (5, b'r') if is("RLIKE") => Keyword::Regexp,
            (5, b's') if is("SHARE") => Keyword::Share,
            (5, b't') if is("TABLE") => Keyword::Table,
            (5, b'u') if is("UNION") => Keyword::SetOperation,
            (5, b'v') if is("VALUE") => Keyword::Value,
            (5, b'w') if is("WHERE") => Keyword::Where,
            (6, b'd') if is("DELETE") => Keyword::Delete,
            (6, b'e') if is("EXCEPT") => Keyword::SetOperation,
            (6, b'i') if is("INSERT") => Keyword::Insert,
            (6, b'i') if is("IGNORE") => Keyword::InsertModifier,
            (6, b'r') if is("REGEXP") => Keyword::Regexp,
            (6, b's') if is("SELECT") => Keyword::Select,
            (6, b'u') if is("UPDATE") => Keyword::Update,
            (6, b'v') if is("VALUES") => Keyword::Values,
            (7, b'd') if is("DELAYED") => Keyword::InsertModifier,
            (7, b'n') if is("NEXTVAL") => Keyword::Nextval,
            (7, b'o') if is("OUTFILE") => Keyword::File,
            (7, b'r') if is("REPLACE") => Keyword::Replace,
            (8, b'd') if is("DISTINCT") => Keyword::Distinct,
            (8, b'd') if is("DUMPFILE") => Keyword::File,
            (9, b'i') if is("INTERSECT") => Keyword::SetOperation,
            (9, b'r') if is("RECURSIVE") => Keyword::Recursive,
            (9, b's') if is("SQL_CACHE") => Keyword::SelectModifier,
            (11, b'd') if is("DISTINCTROW") => Keyword::Distinct,
            (12, b'l') if is("LOW_PRIORITY") => Keyword::InsertModifier,
            (12, b's') if is("SQL_NO_CACHE") => Keyword::SelectModifier,
            (13, b'h') if is("HIGH_PRIORITY") => Keyword::SelectModifier,
            (13, b's') if is("STRAIGHT_JOIN") => Keyword::SelectModifier,
            (14, b's') if is("SQL_BIG_RESULT") => Keyword::SelectModifier,
            (16, b's') if is("SQL_SMALL_RESULT") => Keyword::SelectModifier,
            (17, b's') if is("SQL_BUFFER_RESULT") => Keyword::SelectModifier,
            (19, b's') if is("SQL_CALC_FOUND_ROWS") => Keyword::SelectModifier,
            _ => Keyword::None,
        }
    }
}
