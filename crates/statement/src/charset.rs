//! Character sets, as far as they decide how the server splits a text into tokens.

use crate::Server;

/// A family of client character sets (`character_set_client`) that the server's lexer reads alike.
///
/// The members, and the bytes of each, were taken from MySQL 9.7 and MariaDB 10.11: every byte above 0x7F was tried as a space,
/// after `--`, and before a backslash in a string, under every character set that a client may choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Charset {
    /// utf8mb4 and utf8mb3. Every byte above 0x7F is part of a word, and names can be compared with those of rules.
    #[default]
    Utf8,
    /// Read like UTF-8, but names in it are others: ascii, binary, cp1251, euckr, ujis and most others.
    Plain,
    /// 0xA0 is a space: latin1, latin2, latin5, greek, dec8, armscii8, geostd8.
    Latin,
    /// 0xFF is a space: cp852, cp866, keybcs2.
    Dos,
    Cp850,
    Cp1250,
    Hebrew,
    Hp8,
    Latin7,
    Macroman,
    /// `[ ] { } ~ ^` and `\` are letters.
    Swe7,
    Big5,
    Gbk,
    Gb18030,
    /// Also cp932.
    Sjis,
    /// Any of the above.
    Unknown,
}

/// What a text sets `character_set_client` to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CharsetChange {
    To(Charset),
    /// The text does not show the value (`SET NAMES @x`, `SET NAMES DEFAULT`), or it shows several.
    Unknown,
}

impl CharsetChange {
    /// By the name of a character set, in any case.
    pub(crate) fn named(name: &[u8]) -> CharsetChange {
        Charset::named(name).map_or(CharsetChange::Unknown, CharsetChange::To)
    }

    pub fn charset(self) -> Charset {
        match self {
            CharsetChange::To(charset) => charset,
            CharsetChange::Unknown => Charset::Unknown,
        }
    }
}

const UTF8: [&str; 3] = ["utf8", "utf8mb3", "utf8mb4"];

/// Character sets that are [`Charset::Plain`].
const PLAIN: [&str; 13] = [
    "ascii", "binary", "cp1251", "cp1256", "cp1257", "eucjpms", "euckr", "gb2312", "koi8r", "koi8u", "macce", "tis620",
    "ujis",
];

const OTHERS: [(&str, Charset); 22] = [
    ("armscii8", Charset::Latin),
    ("dec8", Charset::Latin),
    ("geostd8", Charset::Latin),
    ("greek", Charset::Latin),
    ("latin1", Charset::Latin),
    ("latin2", Charset::Latin),
    ("latin5", Charset::Latin),
    ("cp852", Charset::Dos),
    ("cp866", Charset::Dos),
    ("keybcs2", Charset::Dos),
    ("cp850", Charset::Cp850),
    ("cp1250", Charset::Cp1250),
    ("hebrew", Charset::Hebrew),
    ("hp8", Charset::Hp8),
    ("latin7", Charset::Latin7),
    ("macroman", Charset::Macroman),
    ("swe7", Charset::Swe7),
    ("big5", Charset::Big5),
    ("gbk", Charset::Gbk),
    ("gb18030", Charset::Gb18030),
    ("sjis", Charset::Sjis),
    ("cp932", Charset::Sjis),
];

/// Symbols that are letters in swe7; the backslash only in MySQL.
pub(crate) const SWE7_LETTERS: &[u8] = b"[\\]{}~^";
/// Symbols that are other characters in swe7.
const SWE7_OTHERS: &[u8] = b"@[\\]^`{|}~";

impl Charset {
    /// All families, the usual one first; `Unknown` is none.
    pub(crate) const ALL: [Charset; 15] = [
        Charset::Utf8,
        Charset::Plain,
        Charset::Latin,
        Charset::Dos,
        Charset::Cp850,
        Charset::Cp1250,
        Charset::Hebrew,
        Charset::Hp8,
        Charset::Latin7,
        Charset::Macroman,
        Charset::Swe7,
        Charset::Big5,
        Charset::Gbk,
        Charset::Gb18030,
        Charset::Sjis,
    ];

    /// `None` for a name that no server has as a client's character set.
    pub fn named(name: &[u8]) -> Option<Charset> {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if UTF8.into_iter().any(is) {
            return Some(Charset::Utf8);
        }
        if PLAIN.into_iter().any(is) {
            return Some(Charset::Plain);
        }
        OTHERS.into_iter().find(|(known, _)| is(known)).map(|(_, charset)| charset)
    }

    /// The same on a certain server: what one of them does not have, it replaces by its own default.
    pub fn of_collation_on(server: Server, collation: u16) -> Charset {
        match (server, collation) {
            (Server::MariaDb(_), 76 | 216..=222 | 248..=250 | 255..=323) | (Server::MySql(_), 1024..) => {
                Charset::Unknown
            }
            (Server::MySql(_) | Server::MariaDb(_) | Server::Unknown, _) => Charset::of_collation(collation),
        }
    }

    /// By the collation that a login or COM_CHANGE_USER names. `Unknown` where the server would take its own default: UCS-2 and its
    /// like, and numbers that no collation has.
    pub fn of_collation(collation: u16) -> Charset {
        match collation {
            2 | 3 | 5 | 8 | 9 | 15 | 21 | 25 | 27 | 30..=32 | 47..=49 | 64 | 69 | 70 | 77 | 78 | 92..=94 => {
                Charset::Latin
            }
            36 | 37 | 40 | 68 | 73 | 81 => Charset::Dos,
            4 | 80 => Charset::Cp850,
            26 | 34 | 44 | 66 | 99 => Charset::Cp1250,
            16 | 71 => Charset::Hebrew,
            6 | 72 => Charset::Hp8,
            20 | 41 | 42 | 79 => Charset::Latin7,
            39 | 53 => Charset::Macroman,
            10 | 82 => Charset::Swe7,
            1 | 84 => Charset::Big5,
            28 | 87 => Charset::Gbk,
            248..=250 => Charset::Gb18030,
            13 | 88 | 95 | 96 => Charset::Sjis,
            33 | 45 | 46 | 76 | 83 | 192..=247 | 255..=323 => Charset::Utf8,
            0 | 35 | 54..=56 | 60..=62 | 90 | 100..=183 => Charset::Unknown,
            // MariaDB's collations without padding are 1024 more, its newer ones 2048 and above.
            1024..=1347 => Charset::of_collation(collation - 1024),
            324.. => Charset::Unknown,
            _ => Charset::Plain,
        }
    }

    /// Whether a name of these bytes is what it is in UTF-8, in which the names of rules are. In another set the server would make
    /// another name of it, and it drops bytes that are no characters.
    pub(crate) fn keeps_name(self, name: &[u8]) -> bool {
        self.keeps_text(name) && !mentions_file(name)
    }

    /// Whether these bytes are the same text in UTF-8.
    pub fn keeps_text(self, text: &[u8]) -> bool {
        match self {
            Charset::Utf8 => std::str::from_utf8(text).is_ok(),
            Charset::Swe7 => text.is_ascii() && !text.iter().any(|byte| SWE7_OTHERS.contains(byte)),
            _ => text.is_ascii(),
        }
    }

    /// The byte above 0x7F that is a space.
    pub(crate) fn space(self) -> Option<u8> {
        match self {
            Charset::Latin | Charset::Cp1250 | Charset::Hebrew | Charset::Latin7 => Some(0xA0),
            Charset::Dos => Some(0xFF),
            Charset::Utf8
            | Charset::Plain
            | Charset::Cp850
            | Charset::Hp8
            | Charset::Macroman
            | Charset::Swe7
            | Charset::Big5
            | Charset::Gbk
            | Charset::Gb18030
            | Charset::Sjis
            | Charset::Unknown => None,
        }
    }

    /// Whether `--` with this byte above 0x7F behind it begins a comment: a space or a control character.
    pub(crate) fn ends_dashes(self, byte: u8) -> bool {
        match self {
            Charset::Latin => byte == 0xA0,
            Charset::Dos | Charset::Cp850 => byte == 0xFF,
            Charset::Cp1250 => matches!(byte, 0x80 | 0x81 | 0x83 | 0x88 | 0x90 | 0x98 | 0xA0),
            Charset::Hebrew => matches!(byte, 0xA0 | 0xFD | 0xFE),
            Charset::Hp8 => matches!(byte, 0x80..=0xA0 | 0xB1 | 0xB2 | 0xF2..=0xF5 | 0xFF),
            Charset::Latin7 => {
                matches!(byte, 0x81 | 0x83 | 0x88 | 0x8A | 0x8C | 0x90 | 0x98 | 0x9A | 0x9C | 0x9F..=0xA1 | 0xA5)
            }
            Charset::Macroman => matches!(byte, 0x80 | 0xCB | 0xE5),
            Charset::Utf8
            | Charset::Plain
            | Charset::Swe7
            | Charset::Big5
            | Charset::Gbk
            | Charset::Gb18030
            | Charset::Sjis
            | Charset::Unknown => false,
        }
    }

    /// Whether the second byte of a character may be a backslash or a backtick.
    pub fn is_multibyte(self) -> bool {
        match self {
            Charset::Big5 | Charset::Gbk | Charset::Gb18030 | Charset::Sjis => true,
            Charset::Utf8
            | Charset::Plain
            | Charset::Latin
            | Charset::Dos
            | Charset::Cp850
            | Charset::Cp1250
            | Charset::Hebrew
            | Charset::Hp8
            | Charset::Latin7
            | Charset::Macroman
            | Charset::Swe7
            | Charset::Unknown => false,
        }
    }

    /// The length of the first character, as the server's tables have it (strings/ctype-*.cc); 1 where the bytes are no character.
    pub(crate) fn character_length(self, text: &[u8]) -> usize {
        let [first, second, ..] = *text else { return 1 };
        let pair = match self {
            Charset::Gbk => matches!((first, second), (0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE)),
            Charset::Gb18030 => match text {
                [0x81..=0xFE, b'0'..=b'9', 0x81..=0xFE, b'0'..=b'9', ..] => return 4,
                _ => matches!((first, second), (0x81..=0xFE, 0x40..=0x7E | 0x80..=0xFE)),
            },
            Charset::Big5 => matches!((first, second), (0xA1..=0xF9, 0x40..=0x7E | 0xA1..=0xFE)),
            Charset::Sjis => matches!((first, second), (0x81..=0x9F | 0xE0..=0xFC, 0x40..=0x7E | 0x80..=0xFC)),
            Charset::Utf8
            | Charset::Plain
            | Charset::Latin
            | Charset::Dos
            | Charset::Cp850
            | Charset::Cp1250
            | Charset::Hebrew
            | Charset::Hp8
            | Charset::Latin7
            | Charset::Macroman
            | Charset::Swe7
            | Charset::Unknown => false,
        };
        1 + usize::from(pair)
    }
}

/// Whether a name may be that of a file: MariaDB takes `` `#mysql50#t` `` for the table t (checked on 10.11).
pub fn mentions_file(name: &[u8]) -> bool {
    memchr::memmem::find(name, b"#mysql50#").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_collations_agree() {
        for (name, collation, charset) in [
            ("utf8mb4", 255, Charset::Utf8),
            ("cp1251", 51, Charset::Plain),
            ("UTF8MB4", 45, Charset::Utf8),
            ("utf8", 33, Charset::Utf8),
            ("latin1", 8, Charset::Latin),
            ("cp866", 36, Charset::Dos),
            ("gbk", 28, Charset::Gbk),
            ("gb18030", 248, Charset::Gb18030),
            ("sjis", 13, Charset::Sjis),
            ("cp932", 95, Charset::Sjis),
            ("Big5", 1, Charset::Big5),
            ("swe7", 10, Charset::Swe7),
        ] {
            assert_eq!(Charset::named(name.as_bytes()), Some(charset), "{name}");
            assert_eq!(Charset::of_collation(collation), charset, "{collation}");
        }
        assert_eq!(Charset::named(b"utf16"), None);
        assert_eq!(Charset::of_collation(54), Charset::Unknown);
        assert_eq!(Charset::of_collation(8 + 1024), Charset::Latin);
    }

    /// A server that does not have it takes its own default (checked).
    #[test]
    fn collations_of_the_other_server_are_unknown() {
        let (mysql, mariadb) = (Server::MySql(90_704), Server::MariaDb(101_118));
        for (collation, on_mysql, on_mariadb) in [
            (45, Charset::Utf8, Charset::Utf8),
            (255, Charset::Utf8, Charset::Unknown),
            (248, Charset::Gb18030, Charset::Unknown),
            (8 + 1024, Charset::Unknown, Charset::Latin),
        ] {
            assert_eq!(Charset::of_collation_on(mysql, collation), on_mysql, "{collation}");
            assert_eq!(Charset::of_collation_on(mariadb, collation), on_mariadb, "{collation}");
        }
    }
}
