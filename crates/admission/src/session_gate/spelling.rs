//! How the client's character set lets its texts be read.

use statement::{Charset, CharsetChange};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    Plain,
    /// Something that nobody saw may have changed it: a procedure, or what stood behind the inspected part of a text.
    Doubtful,
    /// GBK and its like.
    Ambiguous,
}

impl Spelling {
    pub(super) fn of_login(charset: Charset) -> Spelling {
        match charset {
            Charset::Plain => Spelling::Plain,
            Charset::Ambiguous => Spelling::Ambiguous,
        }
    }

    /// How this text is to be read.
    #[inline]
    pub(super) fn of(self, sql: &[u8]) -> Charset {
        match self {
            Spelling::Plain => Charset::Plain,
            // Where no character could have a sign of the grammar in it, all sets read the same.
            Spelling::Doubtful if !has_odd_pairs(sql) => Charset::Plain,
            Spelling::Doubtful | Spelling::Ambiguous => Charset::Ambiguous,
        }
    }

    pub(super) fn set(&mut self, change: CharsetChange, succeeded: bool) {
        match change {
            CharsetChange::Plain if succeeded => *self = Spelling::Plain,
            CharsetChange::Plain => {}
            // Of several statements one may have failed after this one; what nobody knows is read both ways.
            CharsetChange::Ambiguous | CharsetChange::Unknown => *self = Spelling::Ambiguous,
        }
    }

    pub(super) fn doubt(&mut self) {
        if *self == Spelling::Plain {
            *self = Spelling::Doubtful;
        }
    }
}

fn has_odd_pairs(sql: &[u8]) -> bool {
    sql.windows(2).any(|pair| matches!(pair, [0x80..=0xFF, b'\\' | b'`']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubt_matters_where_sets_differ() {
        for (spelling, sql, read) in [
            (Spelling::Plain, &b"SELECT '\xbf\\' /*"[..], Charset::Plain),
            (Spelling::Doubtful, b"SELECT '\xbf\\' /*", Charset::Ambiguous),
            (Spelling::Doubtful, b"SELECT `\xbf`", Charset::Ambiguous),
            (Spelling::Doubtful, "SELECT 'é\u{4e2d}', '\\''".as_bytes(), Charset::Plain),
            (Spelling::Doubtful, b"", Charset::Plain),
            (Spelling::Ambiguous, b"SELECT 1", Charset::Ambiguous),
        ] {
            assert_eq!(spelling.of(sql), read, "{spelling:?} {sql:?}");
        }
    }

    #[test]
    fn what_failed_may_have_changed_it_for_the_worse_only() {
        for (before, change, succeeded, after) in [
            (Spelling::Plain, CharsetChange::Ambiguous, true, Spelling::Ambiguous),
            (Spelling::Plain, CharsetChange::Ambiguous, false, Spelling::Ambiguous),
            (Spelling::Plain, CharsetChange::Unknown, false, Spelling::Ambiguous),
            (Spelling::Ambiguous, CharsetChange::Plain, true, Spelling::Plain),
            (Spelling::Ambiguous, CharsetChange::Plain, false, Spelling::Ambiguous),
            (Spelling::Doubtful, CharsetChange::Plain, true, Spelling::Plain),
            (Spelling::Doubtful, CharsetChange::Plain, false, Spelling::Doubtful),
        ] {
            let mut spelling = before;
            spelling.set(change, succeeded);
            assert_eq!(spelling, after, "{before:?} {change:?} {succeeded}");
        }
        let mut spelling = Spelling::Ambiguous;
        spelling.doubt();
        assert_eq!(spelling, Spelling::Ambiguous);
    }
}
