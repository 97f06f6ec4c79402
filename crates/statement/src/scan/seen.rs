//! What a token was, as far as those behind it must know.

use super::keyword::Keyword;

/// One small number, and a set of them is one word: both are compared for every token of every text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen(u8);

impl Seen {
    const fn other(number: u8) -> Seen {
        Seen(Keyword::COUNT + number)
    }

    pub(super) const fn word(keyword: Keyword) -> Seen {
        Seen(keyword as u8)
    }

    /// Before the first token.
    pub(super) const NOTHING: Seen = Seen::other(0);
    /// A word in quotes of any kind.
    pub(super) const QUOTED: Seen = Seen::other(1);
    pub(super) const EMPTY_STRING: Seen = Seen::other(2);
    pub(super) const LITERAL: Seen = Seen::other(3);
    pub(super) const OPEN: Seen = Seen::other(4);
    pub(super) const CLOSE: Seen = Seen::other(5);
    pub(super) const DOT: Seen = Seen::other(6);
    pub(super) const COMMA: Seen = Seen::other(7);
    /// Any other.
    pub(super) const SYMBOL: Seen = Seen::other(8);

    #[inline(always)]
    pub(super) const fn is_in(self, set: Set) -> bool {
        set.0 >> self.0 & 1 != 0
    }

    #[inline(always)]
    pub(super) const fn is_word(self) -> bool {
        self.0 < Keyword::COUNT
    }
}

#[derive(Clone, Copy)]
pub(super) struct Set(u64);

impl Set {
    /// Does not compile if one of them has no bit.
    pub(super) const fn of<const COUNT: usize>(members: [Seen; COUNT]) -> Set {
        let mut bits = 0;
        let mut at = 0;
        while at < COUNT {
            bits |= 1 << members[at].0;
            at += 1;
        }
        Set(bits)
    }
}

const _: () = assert!(Seen::SYMBOL.0 < u64::BITS as u8);
