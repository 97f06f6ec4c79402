//! Programs that give themselves away: by a word in their comments, or by the name that they log in with.

/// Of the inside of a comment, trimmed.
///
/// gh-ost writes ``/* gh-ost `db`.`table` */`` behind its first word, Percona's tools `/*pt-online-schema-change 1234 copy
/// nibble*/` at the end and `/*explain pt-…*/` where they ask for a plan. pt-table-sync writes the name of its family.
pub(crate) fn of_comment(inside: &[u8]) -> Option<&'static [u8]> {
    // Most comments are nobody's of these, which their first letter tells.
    match inside.first()? {
        b'e' => percona(first_word(inside.strip_prefix(b"explain ")?)),
        b'g' => (first_word(inside) == b"gh-ost").then_some(b"gh-ost"),
        b'l' => (inside == b"large hadron migration").then_some(b"lhm"),
        b'p' if inside.starts_with(b"percona-toolkit ") => Some(b"pt-table-sync"),
        b'p' => percona(first_word(inside)),
        _ => None,
    }
}

/// Or of a very long one a part, which is no tool's either.
fn first_word(text: &[u8]) -> &[u8] {
    let start = text.get(..32).unwrap_or(text);
    start.split(u8::is_ascii_whitespace).next().unwrap_or_default()
}

/// From the connection attribute `program_name`, which may be a path: Perl's driver sends `$0`.
pub(crate) fn of_program(name: &[u8]) -> Option<&'static [u8]> {
    let name = name.rsplit(|byte| matches!(byte, b'/' | b'\\')).next()?;
    known(PROGRAMS, name).or_else(|| percona(name))
}

fn percona(word: &[u8]) -> Option<&'static [u8]> {
    if word.starts_with(b"pt-") { known(PERCONA, word) } else { None }
}

fn known(names: &[&'static str], name: &[u8]) -> Option<&'static [u8]> {
    names.iter().map(|known| known.as_bytes()).find(|known| *known == name)
}

/// They copy, dump, load or check whole tables; `mysql` is not a tool but a person.
const PROGRAMS: &[&str] = &[
    "gh-ost",
    "spirit",
    "mysqldump",
    "mysqlpump",
    "mysqlimport",
    "mysqlcheck",
    "mysqlbinlog",
    "mysqlslap",
    "mariadb-dump",
    "mariadb-import",
    "mariadb-check",
    "mariadb-binlog",
    "mariadb-slap",
    "mariadb-backup",
    "mydumper",
    "myloader",
    "xtrabackup",
];

/// Those of the Percona Toolkit that talk to a server.
const PERCONA: &[&str] = &[
    "pt-archiver",
    "pt-config-diff",
    "pt-deadlock-logger",
    "pt-duplicate-key-checker",
    "pt-find",
    "pt-fk-error-logger",
    "pt-heartbeat",
    "pt-index-usage",
    "pt-kill",
    "pt-mysql-summary",
    "pt-online-schema-change",
    "pt-query-digest",
    "pt-replica-find",
    "pt-replica-restart",
    "pt-show-grants",
    "pt-slave-delay",
    "pt-slave-find",
    "pt-slave-restart",
    "pt-stalk",
    "pt-table-checksum",
    "pt-table-sync",
    "pt-table-usage",
    "pt-upgrade",
    "pt-variable-advisor",
    "pt-visual-explain",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_comments() {
        for (inside, tool) in [
            ("gh-ost", "gh-ost"),
            ("gh-ost `shop`.`orders`", "gh-ost"),
            ("pt-online-schema-change 14408 copy nibble", "pt-online-schema-change"),
            ("pt-online-schema-change 10 copy table", "pt-online-schema-change"),
            ("pt-online-schema-change", "pt-online-schema-change"),
            ("explain pt-online-schema-change 14408 copy table", "pt-online-schema-change"),
            ("pt-table-checksum", "pt-table-checksum"),
            ("percona-toolkit src_db:a src_tbl:b  dst_db:a dst_tbl:b  lock:1 transaction:0", "pt-table-sync"),
            ("large hadron migration", "lhm"),
            ("gh-osts", ""),
            ("a gh-ost", ""),
            ("gh-ost,x", ""),
            ("pt-of-no-return", ""),
            ("pt-", ""),
            ("explain", ""),
            ("explain gh-ost", ""),
            ("large", ""),
            ("next chunk boundary", ""),
            ("mysqldump", ""),
            ("", ""),
        ] {
            assert_eq!(of_comment(inside.as_bytes()).unwrap_or_default(), tool.as_bytes(), "{inside}");
        }
    }

    #[test]
    fn names_of_programs() {
        for (name, tool) in [
            ("mysqldump", "mysqldump"),
            ("/usr/bin/pt-archiver", "pt-archiver"),
            ("C:\\tools\\pt-kill", "pt-kill"),
            ("./gh-ost", "gh-ost"),
            ("mysql", ""),
            ("mysqldump/x", ""),
            ("mysqldump ", ""),
            ("percona-toolkit", ""),
            ("/", ""),
            ("", ""),
        ] {
            assert_eq!(of_program(name.as_bytes()).unwrap_or_default(), tool.as_bytes(), "{name}");
        }
    }
}
