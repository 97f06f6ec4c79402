//! A place in a YAML text, which counts lines and columns as libyaml does.

/// The place of the next character.
#[derive(Debug)]
pub(super) struct Cursor<'t> {
    text: &'t [u8],
    at: usize,
    line: usize,
    /// In characters.
    column: usize,
}

impl<'t> Cursor<'t> {
    pub(super) fn new(text: &'t str) -> Cursor<'t> {
        Cursor { text: text.as_bytes(), at: 0, line: 0, column: 0 }
    }

    /// Bytes before the next character.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }

    pub(super) fn column(&self) -> usize {
        self.column
    }

    /// The byte so many bytes ahead; 0 behind the end, which libyaml takes for the end too.
    pub(super) fn byte(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    pub(super) fn is_end(&self) -> bool {
        self.byte(0) == 0
    }

    pub(super) fn is_byte_order_mark(&self) -> bool {
        (self.byte(0), self.byte(1), self.byte(2)) == (0xEF, 0xBB, 0xBF)
    }

    pub(super) fn is_blank(&self) -> bool {
        matches!(self.byte(0), b' ' | b'\t')
    }

    pub(super) fn is_break(&self) -> bool {
        self.is_break_at(0)
    }

    /// A blank, a line break or the end.
    pub(super) fn is_space_at(&self, ahead: usize) -> bool {
        matches!(self.byte(ahead), b' ' | b'\t' | 0) || self.is_break_at(ahead)
    }

    /// `---` or `...` at the start of a line.
    pub(super) fn is_at_document_mark(&self) -> bool {
        let is_mark = |byte| (0..3).all(|ahead| self.byte(ahead) == byte);
        self.column == 0 && (is_mark(b'-') || is_mark(b'.')) && self.is_space_at(3)
    }

    /// Goes over a character.
    pub(super) fn skip(&mut self) {
        self.at = self.text.len().min(self.at + self.width());
        self.column += 1;
    }

    /// Goes over a line break, if there is one.
    pub(super) fn skip_break(&mut self) {
        if !self.is_break() {
            return;
        }
        self.at += if (self.byte(0), self.byte(1)) == (b'\r', b'\n') { 2 } else { self.width() };
        (self.line, self.column) = (self.line + 1, 0);
    }

    pub(super) fn skip_to_break(&mut self) {
        while !self.is_break() && !self.is_end() {
            self.skip();
        }
    }

    pub(super) fn skip_while(&mut self, belongs: impl Fn(u8) -> bool) {
        while belongs(self.byte(0)) {
            self.skip();
        }
    }

    fn is_break_at(&self, ahead: usize) -> bool {
        match self.byte(ahead) {
            b'\r' | b'\n' => true,
            0xC2 => self.byte(ahead + 1) == 0x85,
            0xE2 => self.byte(ahead + 1) == 0x80 && matches!(self.byte(ahead + 2), 0xA8 | 0xA9),
            _ => false,
        }
    }

    /// The length of the next character.
    fn width(&self) -> usize {
        match self.byte(0) {
            0xF0.. => 4,
            0xE0.. => 3,
            0xC0.. => 2,
            _ => 1,
        }
    }
}
