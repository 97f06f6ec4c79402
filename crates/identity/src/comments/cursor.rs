//! A place in a comment.

/// Bytes of the text that a cursor walks; texts are short enough for 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: u16,
    pub(crate) end: u16,
}

impl Span {
    /// Saturating where it cannot be: a span that is too long has no bytes.
    pub(crate) fn new(start: usize, end: usize) -> Span {
        let short = |position: usize| u16::try_from(position).unwrap_or(u16::MAX);
        Span { start: short(start), end: short(end) }
    }

    pub(crate) fn of<'a>(&self, text: &'a [u8]) -> &'a [u8] {
        text.get(usize::from(self.start)..usize::from(self.end)).unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    text: &'a [u8],
    position: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a [u8], position: usize) -> Self {
        Self { text, position }
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.text.get(self.position..).unwrap_or_default()
    }

    pub(crate) fn peek(&self) -> Option<u8> {
        self.rest().first().copied()
    }

    pub(crate) fn skip(&mut self, bytes: usize) {
        self.position = (self.position + bytes).min(self.text.len());
    }

    pub(crate) fn skip_while(&mut self, fits: impl Fn(u8) -> bool) {
        self.run(fits);
    }

    /// Whether it was there; it is behind us then.
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.position += usize::from(found);
        found
    }

    /// The longest stretch whose bytes all fit.
    pub(crate) fn run(&mut self, fits: impl Fn(u8) -> bool) -> Span {
        let rest = self.rest();
        self.take_first(rest.iter().position(|&byte| !fits(byte)).unwrap_or(rest.len()))
    }

    /// The next `length` bytes, or all that are left.
    pub(crate) fn take_first(&mut self, length: usize) -> Span {
        let start = self.position;
        self.skip(length);
        Span::new(start, self.position)
    }
}
