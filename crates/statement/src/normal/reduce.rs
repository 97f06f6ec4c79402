//! Lists of literals become one item, and so do rows of them.

use super::word::Role;
use super::{Sample, Sink, Values, Word};

#[derive(Debug)]
pub(super) struct Reduce<'s, S> {
    sink: &'s mut S,
    pending: Pending,
    rows: Rows,
    depth: u32,
    last: Last,
    /// Statements are divided by one of them, however many there are; none is kept if nothing follows.
    semicolon: bool,
}

/// What was read and not handed on yet, because it depends on what follows: `(…) , ( ? ,` or the beginning of that.
#[derive(Debug, Clone, Copy, Default)]
struct Pending {
    row: Option<Row>,
    row_comma: bool,
    open: Option<Open>,
    /// None, one, or more.
    values: u8,
    sample: Sample,
    comma: bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    joined: bool,
    /// After IN the length of a list makes no difference, even if it is one.
    after_in: bool,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    is_one: bool,
    joined: bool,
    sample: Sample,
}

/// Where among the rows of VALUES we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    None,
    /// After VALUES.
    Expected,
    /// In a row, whose parenthesis opened at this depth.
    In(u32),
    Behind,
    BehindComma,
}

/// The last item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Literal,
    Symbol(u8),
    Word(Role),
}

impl<'s, S: Sink> Reduce<'s, S> {
    pub(super) fn new(sink: &'s mut S) -> Self {
        let pending = Pending::default();
        Self { sink, pending, rows: Rows::None, depth: 0, last: Last::Literal, semicolon: false }
    }

    pub(super) fn is_after_symbol(&self, symbol: u8) -> bool {
        self.last == Last::Symbol(symbol)
    }

    pub(super) fn is_after_word(&self, role: Role) -> bool {
        matches!(self.last, Last::Word(last) if last.intersects(role))
    }

    pub(super) fn word(&mut self, word: Word<'_>, role: Role) {
        self.hand_on_all();
        self.sink.word(word);
        self.last = Last::Word(role);
        if role.contains(Role::BEFORE_ROWS) && !matches!(self.rows, Rows::In(_)) {
            self.rows = Rows::Expected;
        }
    }

    /// One literal, or more.
    pub(super) fn literals(&mut self, number: u8, sample: Sample) {
        self.divide();
        let pending = &mut self.pending;
        if pending.values > 0 && pending.comma {
            pending.values = 2;
            pending.comma = false;
            pending.sample = pending.sample.beside(sample);
        } else {
            let fits = pending.values == 0 && (pending.open.is_some() || pending.row.is_none());
            if !fits {
                self.hand_on();
            }
            if self.pending.open.is_none() {
                self.leave_rows();
            }
            self.pending.values = number;
            self.pending.sample = sample;
        }
        self.last = Last::Literal;
    }

    pub(super) fn symbol(&mut self, symbol: u8, joined: bool) {
        match symbol {
            b';' => {
                self.semicolon = true;
                return;
            }
            b',' => self.comma(),
            b'(' => self.open(joined),
            b')' => self.close(joined),
            _ => {
                self.hand_on_all();
                self.sink.symbol(symbol, joined);
            }
        }
        self.last = Last::Symbol(symbol);
    }

    pub(super) fn empty_variable(&mut self) {
        self.hand_on_all();
        self.sink.empty_variable();
    }

    pub(super) fn end(mut self) {
        self.hand_on();
        if matches!(self.rows, Rows::In(_)) {
            self.sink.end_row();
        }
    }

    fn comma(&mut self) {
        self.divide();
        let pending = &mut self.pending;
        let behind_row = pending.row.is_some() && !pending.row_comma && pending.open.is_none();
        if self.rows == Rows::Behind {
            self.rows = Rows::BehindComma;
        } else if pending.values > 0 && !pending.comma {
            pending.comma = true;
        } else if pending.values == 0 && behind_row {
            pending.row_comma = true;
        } else {
            self.hand_on_all();
            self.sink.symbol(b',', false);
        }
    }

    fn open(&mut self, joined: bool) {
        self.divide();
        match self.rows {
            Rows::Expected | Rows::BehindComma => {
                self.sink.begin_row(self.rows == Rows::Expected);
                self.rows = Rows::In(self.depth);
            }
            Rows::Behind => self.rows = Rows::None,
            Rows::None | Rows::In(_) => {}
        }
        let pending = self.pending;
        let goes_on = pending.row_comma && pending.open.is_none() && pending.values == 0;
        if !goes_on {
            self.hand_on();
        }
        self.pending.open = Some(Open { joined, after_in: self.is_after_word(Role::BEFORE_LIST) });
        self.depth = self.depth.saturating_add(1);
    }

    fn close(&mut self, joined: bool) {
        self.divide();
        self.depth = self.depth.saturating_sub(1);
        let Pending { open, values, sample, comma, .. } = self.pending;
        match open.filter(|_| values > 0 && !comma) {
            Some(open) => self.row(Row { is_one: values == 1 && !open.after_in, joined: open.joined, sample }),
            None => {
                self.hand_on();
                self.sink.symbol(b')', joined);
            }
        }
        if self.rows == Rows::In(self.depth) {
            self.hand_on();
            self.sink.end_row();
            self.rows = Rows::Behind;
        }
    }

    /// A whole row of literals: one with the row before it, if that was of the same kind.
    fn row(&mut self, row: Row) {
        let before = self.pending.row;
        let rows = before.map_or(row, |before| Row { sample: before.sample.beside(row.sample), ..before });
        self.pending = Pending { row: Some(rows), ..Pending::default() };
        if let Some(before) = before
            && before.is_one != row.is_one
        {
            self.pending.row_comma = true;
            self.hand_on();
            self.pending.row = Some(row);
        }
    }

    fn hand_on_all(&mut self) {
        self.divide();
        self.hand_on();
        self.leave_rows();
    }

    /// What is pending will not change any more.
    #[inline]
    fn hand_on(&mut self) {
        // A comma has always something before it.
        if self.pending.values > 0 || self.pending.open.is_some() || self.pending.row.is_some() {
            self.hand_on_pending();
        }
    }

    #[inline(never)]
    fn hand_on_pending(&mut self) {
        let Pending { row, row_comma, open, values, sample, comma } = std::mem::take(&mut self.pending);
        if let Some(Row { is_one, joined, sample }) = row {
            let values = if is_one { Values::RowOfOne { joined } } else { Values::Row { joined } };
            self.sink.values(values, sample);
        }
        if row_comma {
            self.sink.symbol(b',', false);
        }
        if let Some(Open { joined, .. }) = open {
            self.sink.symbol(b'(', joined);
        }
        match values {
            0 => {}
            1 => self.sink.values(Values::One, sample),
            _ => self.sink.values(Values::Many, sample),
        }
        if comma {
            self.sink.symbol(b',', false);
        }
    }

    fn divide(&mut self) {
        if std::mem::take(&mut self.semicolon) {
            self.hand_on();
            self.leave_rows();
            self.sink.symbol(b';', false);
        }
    }

    /// Something other than a further row comes.
    fn leave_rows(&mut self) {
        match self.rows {
            Rows::BehindComma => {
                self.rows = Rows::None;
                self.sink.symbol(b',', false);
            }
            Rows::Expected | Rows::Behind => self.rows = Rows::None,
            Rows::None | Rows::In(_) => {}
        }
    }
}
