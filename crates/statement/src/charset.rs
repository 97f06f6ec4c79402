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

impl CharsetChange {
    /// By the name of a character set, in any case.
    pub(crate) fn named(name: &[u8]) -> CharsetChange {
        let is = |known: &&str| name.eq_ignore_ascii_case(known.as_bytes());
        if AMBIGUOUS.iter().any(is) { CharsetChange::Ambiguous } else { CharsetChange::Plain }
    }
}

/// Those in which 0x5C and 0x60 may be the second byte of a character. Not among them: euckr, gb2312, ujis and eucjpms, whose
/// second bytes are letters or above 0x7F, and utf8mb4. UTF-16 and its like no client can have.
const AMBIGUOUS: [&str; 5] = ["big5", "cp932", "gb18030", "gbk", "sjis"];

/// How many bytes make a character, as the server's tables have it (strings/ctype-*.cc).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) enum Multibyte {
    #[default]
    No,
    Gbk,
    Gb18030,
    Big5,
    /// And cp932.
    Sjis,
}

impl Multibyte {
    pub(crate) const ALL: [Multibyte; 5] =
        [Multibyte::No, Multibyte::Gbk, Multibyte::Gb18030, Multibyte::Big5, Multibyte::Sjis];

    /// The length of the first character; 1 where the bytes are no character.
    pub(crate) fn length(self, text: &[u8]) -> usize {
        let (first, second) = match text {
            [first, second, ..] => (*first, *second),
            _ => return 1,
        };
        let pair = match self {
            Multibyte::No => false,
            Multibyte::Gbk => matches!((first, second), (0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE)),
            Multibyte::Gb18030 => match text {
                [0x81..=0xFE, b'0'..=b'9', 0x81..=0xFE, b'0'..=b'9', ..] => return 4,
                _ => matches!((first, second), (0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE)),
            },
            Multibyte::Big5 => matches!((first, second), (0xA1..=0xF9, 0x40..=0x7E | 0xA1..=0xFE)),
            Multibyte::Sjis => matches!((first, second), (0x81..=0x9F | 0xE0..=0xFC, 0x40..=0x7E | 0x80..=0xFC)),
        };
        1 + usize::from(pair)
    }
}

/// Whether a set of more than one byte a character could split the text otherwise.
pub(crate) fn has_odd_pairs(sql: &[u8]) -> bool {
    memchr::memchr2_iter(b'\\', b'`', sql).any(|at| at > 0 && sql.get(at - 1).is_some_and(|&before| before >= 0x80))
}

/// Whether a single-byte set could split the text otherwise, because it has spaces or control characters over 0x7F. Not in
/// UTF-8, where those bytes only follow others that would be letters.
pub(crate) fn has_odd_spaces(sql: &[u8]) -> bool {
    if sql.is_ascii() {
        return false;
    }
    let dashes = memchr::memmem::find_iter(sql, b"--").any(|at| sql.get(at + 2).is_some_and(|&byte| byte >= 0x80));
    dashes || (memchr::memchr2(0xA0, 0xFF, sql).is_some() && std::str::from_utf8(sql).is_err())
}
