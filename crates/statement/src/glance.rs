//! A cheap look at a text, before it is read for what few texts have.

use crate::locks::is_lock_word;
use crate::packed::{number, packed};
use memchr::{memchr2_iter, memmem};

/// Whether a text may do something to locks, or kill somebody. It may say yes in vain, and then the lexer decides; it never says no
/// in vain. The usual text costs its first word and one search for two bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Glance {
    pub may_lock: bool,
    pub may_kill: bool,
}

impl Glance {
    const NOTHING: Glance = Glance { may_lock: false, may_kill: false };
    const ANYTHING: Glance = Glance { may_lock: true, may_kill: true };

    /// Looks at the first word and at what follows each `;`, and for the names of the locking functions, all of these in a
    /// literal or not.
    pub fn of(sql: &[u8]) -> Glance {
        let mut glance = of_statement(after_comment(sql));
        for at in memchr2_iter(b';', b'_', sql) {
            if glance == Glance::ANYTHING {
                break;
            }
            let (before, after) = sql.split_at(at);
            match after {
                [b';', next @ ..] => {
                    let next = of_statement(next);
                    glance.may_lock |= next.may_lock;
                    glance.may_kill |= next.may_kill;
                }
                [_, after @ ..] => glance.may_lock |= may_call(before, after),
                [] => {}
            }
        }
        glance
    }
}

/// The text after a plain comment at its start, where many frameworks put their tags. Only there: a search for the
/// comment's end from every `;` would be quadratic.
fn after_comment(sql: &[u8]) -> &[u8] {
    match sql {
        [b'/', b'*', b'!' | b'M', ..] => sql,
        [b'/', b'*', comment @ ..] => {
            memmem::find(comment, b"*/").and_then(|end| comment.get(end + 2..)).unwrap_or_default()
        }
        _ => sql,
    }
}

/// By the word that a statement begins with.
fn of_statement(text: &[u8]) -> Glance {
    // Unlike `trim_ascii_start`, with the vertical tab, which is a space to the server.
    let spaces = text.iter().position(|byte| !matches!(byte, b'\t'..=b'\r' | b' ')).unwrap_or(text.len());
    let text = text.get(spaces..).unwrap_or_default();
    match text.first() {
        None => Glance::NOTHING,
        // A comment, the end of one that is code, or a BOM: the word comes after it.
        Some(b'/' | b'-' | b'#' | b'*' | 0xEF) => Glance::ANYTHING,
        Some(_) if !may_matter(text) => Glance::NOTHING,
        Some(_) => {
            let length = text.iter().position(|byte| !byte.is_ascii_alphabetic()).unwrap_or(text.len());
            let word = text.get(..length).unwrap_or_default();
            Glance { may_lock: is_lock_word(word), may_kill: packed(word) == Some(number("KILL")) }
        }
    }
}

/// Two letters settle most words: those of the words that are looked for.
fn may_matter(text: &[u8]) -> bool {
    let [first, second, ..] = text else { return false };
    matches!(
        [first | 0x20, second | 0x20],
        [b'b', b'a' | b'e']
            | [b'c' | b'l' | b'r', b'o']
            | [b'f', b'l']
            | [b'k', b'i']
            | [b's', b't']
            | [b'u', b'n']
            | [b'x', b'a']
    )
}

/// Whether the underscore between these may be in the name of a locking function. All of them have `get_` or `release_`.
fn may_call(before: &[u8], after: &[u8]) -> bool {
    // Most underscores are settled by the letter before them.
    if !matches!(before.last(), Some(b't' | b'T' | b'e' | b'E')) {
        return false;
    }
    let begins = |word: &str| after.get(..word.len()).is_some_and(|a| a.eq_ignore_ascii_case(word.as_bytes()));
    let ends = |word: &str| {
        let start = before.len().checked_sub(word.len());
        start.and_then(|start| before.get(start..)).is_some_and(|b| b.eq_ignore_ascii_case(word.as_bytes()))
    };
    (ends("get") && (begins("lock") || begins("write") || begins("read")))
        || (ends("release") && (begins("lock") || begins("all")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_matter_is_seen_wherever_it_stands() {
        let words = ["LOCK", "UNLOCK", "FLUSH", "BACKUP", "BEGIN", "START", "COMMIT", "ROLLBACK", "XA"];
        let locks = Glance { may_lock: true, may_kill: false };
        let kills = Glance { may_lock: false, may_kill: true };
        for (word, seen) in words.map(|word| (word, locks)).into_iter().chain([("KILL", kills)]) {
            for text in [word, &word.to_lowercase()] {
                assert_eq!(Glance::of(text.as_bytes()), seen, "{text}");
                for before in ["", " ", "\x0b\n", ";", "SELECT 1;", "SELECT 1; \t", "/* tag */ "] {
                    assert_eq!(Glance::of(format!("{before}{text} 1").as_bytes()), seen, "{before}{text}");
                }
                for other in [format!("{text}s 1"), format!("SELECT {text} 1"), format!("a{text}")] {
                    assert_eq!(Glance::of(other.as_bytes()), Glance::NOTHING, "{other}");
                }
            }
        }
    }

    #[test]
    fn the_rest_is_left_to_the_lexer_or_not_looked_at() {
        for (sql, seen) in [
            ("", Glance::NOTHING),
            (" ;;", Glance::NOTHING),
            ("s", Glance::NOTHING),
            ("SELECT a_b, get_it, release_it FROM t_get", Glance::NOTHING),
            ("SELECT GET_LOCK('a', 1)", Glance { may_lock: true, may_kill: false }),
            ("SELECT 1 + `release_all_locks`()", Glance { may_lock: true, may_kill: false }),
            ("SELECT service_get_write_locks('a', 'b', 1)", Glance { may_lock: true, may_kill: false }),
            ("LOCK TABLES t READ; KILL 5", Glance::ANYTHING),
            ("/*! KILL 5 */", Glance::ANYTHING),
            ("SELECT 1;-- a\nKILL 5", Glance::ANYTHING),
            ("# a\nKILL 5", Glance::ANYTHING),
            ("\u{feff}KILL 5", Glance::ANYTHING),
        ] {
            assert_eq!(Glance::of(sql.as_bytes()), seen, "{sql}");
        }
    }
}
