//! Character sets that change where a literal ends.

/// What the client's character set allows (`character_set_client`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Charset {
    /// Every byte of a literal stands for itself: ASCII, latin1, utf8mb4, and most others.
    #[default]
    Plain,
    /// GBK and its like: the second byte of a character may look like a backslash, so the same bytes read differently
    /// with and without knowing about characters.
    Ambiguous,
}

/// What a text sets `character_set_client` to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CharsetChange {
    Plain,
    Ambiguous,
    /// To a value that the text does not show: `SET NAMES @x`, `SET NAMES DEFAULT`, or several different ones.
    Unknown,
}
