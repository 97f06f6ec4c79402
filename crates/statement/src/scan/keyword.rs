//! The words in the middle of a statement that change what it is.

use crate::packed::{number, packed};

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
    /// `None` is the last.
    pub(super) const COUNT: u8 = Keyword::None as u8 + 1;

    /// Nearly every word of every text comes here, so it is one look into a table for all that have at most eight letters.
    #[inline]
    pub(super) fn of(word: &[u8]) -> Keyword {
        let Some(number) = packed(word) else { return Keyword::of_length(word) };
        let (known, keyword) = TABLE[slot(number)];
        if known == number { keyword } else { Keyword::None }
    }

    /// Of more than eight letters, or fewer than two.
    #[inline(never)]
    fn of_length(word: &[u8]) -> Keyword {
        if word.len() < 2 {
            return Keyword::None;
        }
        let is = |(long, _): &&(&str, Keyword)| word.eq_ignore_ascii_case(long.as_bytes());
        LONG.iter().find(is).map_or(Keyword::None, |(_, keyword)| *keyword)
    }
}

/// Of letters only, as [`packed`] wants it.
const SHORT: [(&str, Keyword); 35] = [
    ("as", Keyword::As),
    ("all", Keyword::SelectModifier),
    ("for", Keyword::For),
    ("set", Keyword::Set),
    ("dual", Keyword::Dual),
    ("from", Keyword::From),
    ("into", Keyword::Into),
    ("like", Keyword::Like),
    ("lock", Keyword::Lock),
    ("next", Keyword::Next),
    ("with", Keyword::With),
    // FETCH FIRST n ROWS ONLY.
    ("fetch", Keyword::Limit),
    ("limit", Keyword::Limit),
    ("minus", Keyword::SetOperation),
    ("rlike", Keyword::Regexp),
    ("share", Keyword::Share),
    ("table", Keyword::Table),
    ("union", Keyword::SetOperation),
    ("value", Keyword::Value),
    ("where", Keyword::Where),
    ("delete", Keyword::Delete),
    ("except", Keyword::SetOperation),
    ("ignore", Keyword::InsertModifier),
    ("insert", Keyword::Insert),
    ("regexp", Keyword::Regexp),
    ("select", Keyword::Select),
    ("unique", Keyword::SelectModifier),
    ("update", Keyword::Update),
    ("values", Keyword::Values),
    ("delayed", Keyword::InsertModifier),
    ("nextval", Keyword::Nextval),
    ("outfile", Keyword::File),
    ("replace", Keyword::Replace),
    ("distinct", Keyword::Distinct),
    ("dumpfile", Keyword::File),
];

const LONG: [(&str, Keyword); 12] = [
    ("intersect", Keyword::SetOperation),
    ("recursive", Keyword::Recursive),
    ("sql_cache", Keyword::SelectModifier),
    ("distinctrow", Keyword::Distinct),
    ("low_priority", Keyword::InsertModifier),
    ("sql_no_cache", Keyword::SelectModifier),
    ("high_priority", Keyword::SelectModifier),
    ("straight_join", Keyword::SelectModifier),
    ("sql_big_result", Keyword::SelectModifier),
    ("sql_small_result", Keyword::SelectModifier),
    ("sql_buffer_result", Keyword::SelectModifier),
    ("sql_calc_found_rows", Keyword::SelectModifier),
];

const SLOTS: usize = 128;

#[inline(always)]
const fn slot(number: u64) -> usize {
    // Found by trying: no two words of the table get the same slot.
    (number.wrapping_mul(0x2B28_FEF0_2B9C_014F) >> 57) as usize
}

/// Made by the compiler, which complains if two words have the same slot.
static TABLE: [(u64, Keyword); SLOTS] = {
    let mut table = [(0, Keyword::None); SLOTS];
    let mut at = 0;
    while at < SHORT.len() {
        let (word, keyword) = SHORT[at];
        let number = number(word);
        assert!(table[slot(number)].0 == 0, "two words have the same slot");
        table[slot(number)] = (number, keyword);
        at += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_any_case_and_nothing_else_is() {
        for (word, keyword) in SHORT.iter().chain(&LONG) {
            let mut spelled = word.as_bytes().to_vec();
            assert_eq!(Keyword::of(&spelled), *keyword, "{word}");
            assert_eq!(Keyword::of(&spelled.to_ascii_uppercase()), *keyword, "{word}");
            let is_short = word.len() <= 8;
            assert!(!is_short || word.bytes().all(|byte| byte.is_ascii_lowercase()), "{word}");
            // Every other byte at every place: only the letter itself, in either case, will do.
            for at in 0..spelled.len() {
                let letter = spelled[at];
                for byte in 0..=u8::MAX {
                    spelled[at] = byte;
                    let same = spelled.eq_ignore_ascii_case(word.as_bytes());
                    let others =
                        SHORT.iter().chain(&LONG).find(|(other, _)| spelled.eq_ignore_ascii_case(other.as_bytes()));
                    let expected = if same { *keyword } else { others.map_or(Keyword::None, |(_, other)| *other) };
                    assert_eq!(Keyword::of(&spelled), expected, "{spelled:?}");
                }
                spelled[at] = letter;
            }
            for shorter in 0..spelled.len() {
                let part = &word[..shorter];
                let known = SHORT.iter().chain(&LONG).any(|(other, _)| *other == part);
                assert_eq!(Keyword::of(part.as_bytes()) != Keyword::None, known, "{part}");
            }
            for extra in [b' ', b'\0', b'e', b'_'] {
                let longer = [word.as_bytes(), &[extra]].concat();
                let known = SHORT.iter().chain(&LONG).any(|(other, _)| other.as_bytes() == longer);
                assert_eq!(Keyword::of(&longer) != Keyword::None, known, "{longer:?}");
            }
        }
    }
}
