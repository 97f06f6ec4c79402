//! The tokens of a YAML text, as far as it takes to know which brackets open and close.
//!
//! This follows `scanner.rs` of libyaml step by step, because a bracket in a block scalar, in a quoted or plain scalar or in
//! a comment opens nothing, and where those end depends on columns. What libyaml refuses need not be noticed here: it reads
//! no further than that.

use super::cursor::Cursor;

#[derive(Debug)]
pub(super) struct Scan<'t> {
    cursor: Cursor<'t>,
    /// Brackets that are open.
    depth: usize,
    /// Columns of the block collections that are open, the innermost last.
    indents: Vec<usize>,
    /// The token outside of brackets that is a key if `:` follows.
    key: Option<Key>,
    /// A key may begin here.
    key_allowed: bool,
}

#[derive(Debug, Clone, Copy)]
struct Key {
    at: usize,
    line: usize,
    column: usize,
}

impl Key {
    /// Longer keys are none.
    const LONGEST: usize = 1024;
}

impl<'t> Scan<'t> {
    pub(super) fn new(text: &'t str) -> Scan<'t> {
        Scan { cursor: Cursor::new(text), depth: 0, indents: Vec::new(), key: None, key_allowed: true }
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// The length of the text up to the end of the last token.
    pub(super) fn position(&self) -> usize {
        self.cursor.at()
    }

    /// Goes over one token. `false`: that was the last, or the reader refuses the text here.
    pub(super) fn token(&mut self) -> bool {
        self.skip_to_token();
        self.close_indents(Some(self.cursor.column()));
        let is_block = self.depth == 0;
        let space_follows = self.cursor.is_space_at(1);
        match self.cursor.byte(0) {
            0 => return false,
            b'%' if self.cursor.column() == 0 => self.directive(),
            _ if self.cursor.is_at_document_mark() => self.document_mark(),
            b'[' | b'{' => self.open(),
            b']' | b'}' => self.close(),
            b',' => self.indicator(true),
            b'-' if space_follows => return self.entry(),
            b'?' if space_follows || !is_block => return self.explicit_key(),
            b':' if space_follows || !is_block => return self.value(),
            b'*' | b'&' => self.anchor(),
            b'!' => self.tag(),
            b'|' | b'>' if is_block => return self.block_scalar(),
            b'\'' => self.single_quoted(),
            b'"' => self.double_quoted(),
            b'#' | b'|' | b'>' | b'%' | b'@' | b'`' | b'\t' => return false,
            _ => return self.plain(),
        }
        true
    }

    /// Goes over spaces, comments and line breaks.
    fn skip_to_token(&mut self) {
        loop {
            if self.cursor.column() == 0 && self.cursor.is_byte_order_mark() {
                self.cursor.skip();
            }
            let tabs = self.depth > 0 || !self.key_allowed;
            self.cursor.skip_while(|byte| byte == b' ' || (tabs && byte == b'\t'));
            if self.cursor.byte(0) == b'#' {
                self.cursor.skip_to_break();
            }
            if !self.cursor.is_break() {
                return;
            }
            self.cursor.skip_break();
            self.key_allowed |= self.depth == 0;
        }
    }

    fn directive(&mut self) {
        self.document_starts();
        self.cursor.skip_to_break();
        self.cursor.skip_break();
    }

    fn document_mark(&mut self) {
        self.document_starts();
        (0..3).for_each(|_| self.cursor.skip());
    }

    fn document_starts(&mut self) {
        self.close_indents(None);
        self.forget_key();
        self.key_allowed = false;
    }

    fn open(&mut self) {
        self.save_key();
        self.depth += 1;
        self.key_allowed = true;
        self.cursor.skip();
    }

    fn close(&mut self) {
        self.forget_key();
        self.depth = self.depth.saturating_sub(1);
        self.key_allowed = false;
        self.cursor.skip();
    }

    /// One character that is a token, and that is no part of a key.
    fn indicator(&mut self, key_allowed: bool) {
        self.forget_key();
        self.key_allowed = key_allowed;
        self.cursor.skip();
    }

    /// `-` of a list.
    fn entry(&mut self) -> bool {
        let is_allowed = self.open_block();
        self.indicator(true);
        is_allowed
    }

    /// `?`.
    fn explicit_key(&mut self) -> bool {
        let is_allowed = self.open_block();
        self.indicator(self.depth == 0);
        is_allowed
    }

    /// `:`.
    fn value(&mut self) -> bool {
        let known = self
            .key
            .take_if(|_| self.depth == 0)
            .filter(|key| key.line == self.cursor.line() && self.cursor.at() - key.at <= Key::LONGEST);
        let is_allowed = match known {
            Some(key) => {
                self.open_indent(key.column);
                self.key_allowed = false;
                true
            }
            None => {
                let is_allowed = self.open_block();
                self.key_allowed = self.depth == 0;
                is_allowed
            }
        };
        self.cursor.skip();
        is_allowed
    }

    fn anchor(&mut self) {
        self.key_ends();
        self.cursor.skip();
        self.cursor.skip_while(is_word);
    }

    /// `!`, `!name`, `!!name` or `!<name>`.
    fn tag(&mut self) {
        self.key_ends();
        self.cursor.skip();
        let is_verbatim = self.cursor.byte(0) == b'<';
        if is_verbatim {
            self.cursor.skip();
        }
        let is_uri = |byte: u8| is_word(byte) || b";/?:@&=+$.%!~*'()".contains(&byte);
        self.cursor.skip_while(|byte| is_uri(byte) || (is_verbatim && b",[]".contains(&byte)));
        if is_verbatim && self.cursor.byte(0) == b'>' {
            self.cursor.skip();
        }
    }

    fn single_quoted(&mut self) {
        self.key_ends();
        self.cursor.skip();
        while !self.cursor.is_end() {
            match (self.cursor.byte(0), self.cursor.byte(1)) {
                (b'\'', b'\'') => (0..2).for_each(|_| self.cursor.skip()),
                (b'\'', _) => return self.cursor.skip(),
                _ => self.skip_any(),
            }
        }
    }

    fn double_quoted(&mut self) {
        self.key_ends();
        self.cursor.skip();
        while !self.cursor.is_end() {
            match self.cursor.byte(0) {
                b'"' => return self.cursor.skip(),
                b'\\' => {
                    self.cursor.skip();
                    self.skip_any();
                }
                _ => self.skip_any(),
            }
        }
    }

    /// `|` or `>`, and the lines that are indented by more than what is around.
    fn block_scalar(&mut self) -> bool {
        self.forget_key();
        self.key_allowed = true;
        self.cursor.skip();
        let mut increment = 0;
        while let sign @ (b'+' | b'-' | b'1'..=b'9') = self.cursor.byte(0) {
            increment = if sign.is_ascii_digit() { usize::from(sign - b'0') } else { increment };
            self.cursor.skip();
        }
        self.cursor.skip_while(|byte| matches!(byte, b' ' | b'\t'));
        if self.cursor.byte(0) == b'#' {
            self.cursor.skip_to_break();
        }
        if !self.cursor.is_break() {
            return false;
        }
        self.cursor.skip_break();
        let around = self.indents.last().copied();
        let known = (increment > 0).then(|| around.unwrap_or(0) + increment);
        let found = self.skip_block_breaks(known);
        let indent = known.unwrap_or_else(|| found.max(around.map_or(0, |around| around + 1)).max(1));
        while self.cursor.column() == indent && !self.cursor.is_end() {
            self.cursor.skip_to_break();
            self.cursor.skip_break();
            self.skip_block_breaks(Some(indent));
        }
        true
    }

    /// Goes over the indentation and over empty lines. Gives the largest indentation on the way.
    fn skip_block_breaks(&mut self, indent: Option<usize>) -> usize {
        let mut largest = 0;
        loop {
            while self.cursor.byte(0) == b' ' && indent.is_none_or(|indent| self.cursor.column() < indent) {
                self.cursor.skip();
            }
            largest = largest.max(self.cursor.column());
            if !self.cursor.is_break() {
                return largest;
            }
            self.cursor.skip_break();
        }
    }

    /// A scalar without quotes.
    fn plain(&mut self) -> bool {
        self.key_ends();
        let indent = self.indents.last().map_or(0, |around| around + 1);
        let begin = self.cursor.at();
        let mut goes_on_behind_break = false;
        while !self.cursor.is_at_document_mark() && self.cursor.byte(0) != b'#' {
            while !self.cursor.is_space_at(0) && !self.ends_plain() {
                self.cursor.skip();
                goes_on_behind_break = false;
            }
            if !self.cursor.is_blank() && !self.cursor.is_break() {
                break;
            }
            while self.cursor.is_blank() || self.cursor.is_break() {
                goes_on_behind_break |= self.cursor.is_break();
                self.skip_any();
            }
            if self.depth == 0 && self.cursor.column() < indent {
                break;
            }
        }
        self.key_allowed |= goes_on_behind_break;
        self.cursor.at() > begin
    }

    fn ends_plain(&self) -> bool {
        match self.cursor.byte(0) {
            b':' => self.cursor.is_space_at(1) || (self.depth > 0 && b",?[]{}".contains(&self.cursor.byte(1))),
            b',' | b'[' | b']' | b'{' | b'}' => self.depth > 0,
            _ => false,
        }
    }

    /// Goes over a character or a line break.
    fn skip_any(&mut self) {
        if self.cursor.is_break() {
            self.cursor.skip_break();
        } else {
            self.cursor.skip();
        }
    }

    /// A token that is, or may be part of, a key: nothing behind it on its line begins one.
    fn key_ends(&mut self) {
        self.save_key();
        self.key_allowed = false;
    }

    fn save_key(&mut self) {
        if self.depth == 0 && self.key_allowed {
            let (at, line, column) = (self.cursor.at(), self.cursor.line(), self.cursor.column());
            self.key = Some(Key { at, line, column });
        }
    }

    /// Keys in brackets change no indentation, so they are not kept.
    fn forget_key(&mut self) {
        if self.depth == 0 {
            self.key = None;
        }
    }

    /// `false`: the reader refuses a block collection here.
    fn open_block(&mut self) -> bool {
        if self.depth > 0 {
            return true;
        }
        self.open_indent(self.cursor.column());
        self.key_allowed
    }

    fn open_indent(&mut self, column: usize) {
        if self.depth == 0 && self.indents.last().is_none_or(|indent| *indent < column) {
            self.indents.push(column);
        }
    }

    /// Closes what is indented by more than this; by `None`, everything.
    fn close_indents(&mut self, column: Option<usize>) {
        while self.depth == 0 && self.indents.last().is_some_and(|indent| column.is_none_or(|column| *indent > column))
        {
            self.indents.pop();
        }
    }
}

/// A character of an anchor or of the handle of a tag.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}
