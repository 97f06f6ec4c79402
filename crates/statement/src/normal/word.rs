//! What a word means to a fingerprint.

use bitflags::bitflags;

bitflags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub(super) struct Role: u8 {
        /// NULL, which is a literal in most places.
        const NULL = 1;
        /// IS, IS NOT and SET, behind which NULL is no literal.
        const BEFORE_NULL = 1 << 1;
        const NOT = 1 << 6;
        /// VALUES.
        const BEFORE_ROWS = 1 << 2;
        /// IN.
        const BEFORE_LIST = 1 << 3;
        /// Behind it a sign belongs to its number. MySQL's own list (m_start_expr of its tokens).
        const BEFORE_EXPRESSION = 1 << 4;
        /// `_utf8` and its like, before a literal.
        const INTRODUCER = 1 << 5;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Meaning {
    /// The synonym that MySQL prints, in lower case, where it is another word.
    pub(super) synonym: Option<&'static str>,
    pub(super) role: Role,
}

impl Meaning {
    fn role(role: Role) -> Meaning {
        Meaning { synonym: None, role }
    }

    fn synonym(word: &'static str) -> Meaning {
        Meaning { synonym: Some(word), role: Role::empty() }
    }
}

const LONGEST: usize = 18;

pub(super) fn meaning(word: &[u8]) -> Meaning {
    let mut buffer = [0; LONGEST];
    let Some(lower) = buffer.get_mut(..word.len()) else { return Meaning::default() };
    lower.copy_from_slice(word);
    lower.make_ascii_lowercase();
    match &*lower {
        b"null" => Meaning::role(Role::NULL),
        b"is" | b"set" => Meaning::role(Role::BEFORE_NULL),
        b"not" => Meaning::role(Role::NOT | Role::BEFORE_EXPRESSION),
        b"values" | b"value" => Meaning::role(Role::BEFORE_ROWS),
        b"in" => Meaning::role(Role::BEFORE_LIST),
        b"and" | b"at" | b"between" | b"case" | b"default" | b"div" | b"else" | b"elseif" | b"ends" | b"every"
        | b"if" | b"interval" | b"like" | b"mod" | b"or" | b"rlike" | b"return" | b"select" | b"starts" | b"then"
        | b"until" | b"when" | b"while" | b"xor" => Meaning::role(Role::BEFORE_EXPRESSION),
        b"regexp" => Meaning { synonym: Some("rlike"), role: Role::BEFORE_EXPRESSION },
        b"any" => Meaning::synonym("some"),
        b"bigint" => Meaning::synonym("int8"),
        b"char" => Meaning::synonym("character"),
        b"columns" => Meaning::synonym("fields"),
        b"current_date" => Meaning::synonym("curdate"),
        b"current_time" => Meaning::synonym("curtime"),
        b"current_timestamp" | b"localtime" | b"localtimestamp" => Meaning::synonym("now"),
        b"database" => Meaning::synonym("schema"),
        b"databases" => Meaning::synonym("schemas"),
        b"day" => Meaning::synonym("sql_tsi_day"),
        b"dec" => Meaning::synonym("decimal"),
        b"describe" => Meaning::synonym("explain"),
        b"distinct" => Meaning::synonym("distinctrow"),
        b"double" => Meaning::synonym("float8"),
        b"float" => Meaning::synonym("float4"),
        b"geomcollection" => Meaning::synonym("geometrycollection"),
        b"hour" => Meaning::synonym("sql_tsi_hour"),
        b"int" | b"int4" => Meaning::synonym("integer"),
        b"int1" => Meaning::synonym("tinyint"),
        b"int2" => Meaning::synonym("smallint"),
        b"int3" | b"mediumint" => Meaning::synonym("middleint"),
        b"io_thread" => Meaning::synonym("relay_thread"),
        b"mid" | b"substr" => Meaning::synonym("substring"),
        b"minute" => Meaning::synonym("sql_tsi_minute"),
        b"month" => Meaning::synonym("sql_tsi_month"),
        b"ndb" => Meaning::synonym("ndbcluster"),
        b"quarter" => Meaning::synonym("sql_tsi_quarter"),
        b"second" => Meaning::synonym("sql_tsi_second"),
        b"sql_tsi_week" => Meaning::synonym("week"),
        b"sql_tsi_year" => Meaning::synonym("year"),
        b"std" | b"stddev" => Meaning::synonym("stddev_pop"),
        b"user" | b"session_user" => Meaning::synonym("system_user"),
        b"varchar" => Meaning::synonym("varcharacter"),
        b"variance" => Meaning::synonym("var_pop"),
        [b'_', charset @ ..] if is_charset(charset) => Meaning::role(Role::INTRODUCER),
        _ => Meaning::default(),
    }
}

/// By its name in lower case.
fn is_charset(name: &[u8]) -> bool {
    const CHARSETS: [&str; 42] = [
        "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852", "cp866",
        "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek", "hebrew", "hp8",
        "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce", "macroman", "sjis", "swe7",
        "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb3", "utf8mb4",
    ];
    CHARSETS.iter().any(|charset| charset.as_bytes() == name)
}
