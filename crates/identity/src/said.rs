//! What one query says of who asks it.

/// Borrowed from the packet; nothing is copied before an identity is made of it.
#[derive(Debug, Clone, Default)]
pub struct Said<'a> {
    traceparent: Option<&'a [u8]>,
}

/// What a PREPARE said, kept with its statement for every EXECUTE.
#[derive(Debug, Clone, Default)]
pub struct Kept {}

/// `leading` and `trailing` hold only white space, `;` and comments; `infix` is the inside of one comment.
pub fn read_comments<'a>(leading: &'a [u8], trailing: &'a [u8], infix: Option<&'a [u8]>) -> Said<'a> {
    let _ = (leading, trailing, infix);
    Said::default()
}

impl<'a> Said<'a> {
    /// Nothing that an identity could be made of.
    pub fn is_empty(&self) -> bool {
        true
    }

    /// For the log; never part of an identity.
    pub fn traceparent(&self) -> Option<&'a [u8]> {
        self.traceparent
    }

    /// Attributes of this query: names with their values as text.
    pub fn with_query_attributes(self, attributes: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Said<'a> {
        let _ = attributes.into_iter();
        self
    }

    /// The same for all that say the same of who asks; a trace is no part of it.
    pub fn key(&self) -> u64 {
        0
    }

    pub fn to_owned(&self) -> Kept {
        Kept {}
    }
}

impl Kept {
    /// To be joined with the query attributes of an EXECUTE.
    pub fn said(&self) -> Said<'_> {
        Said::default()
    }
}
