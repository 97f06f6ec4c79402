//! Names, schemas and character sets.

use super::*;
use crate::unquote;

#[test]
fn named_statements() {
    let text = |sql: &str, range: &Range<usize>| sql[range.clone()].to_owned();
    for (sql, expected) in [
        ("PREPARE s FROM 'SELECT 1'", "prepare s from 'SELECT 1'"),
        ("PREPARE `a b` FROM \"SELECT 1\";", "prepare `a b` from \"SELECT 1\""),
        ("PREPARE s FROM @x", "prepare s from a variable"),
        ("PREPARE s FROM CONCAT('a', 'b')", "prepare s from a variable"),
        ("PREPARE s FROM 'a' 'b'", "prepare s from a variable"),
        ("EXECUTE s", "execute s"),
        ("EXECUTE /* x */ s USING @a", "execute s"),
        ("EXECUTE s USING 1, @a", "execute s"),
        // MariaDB takes expressions, which work before the statement does.
        ("EXECUTE s USING SLEEP(9)", "-"),
        ("DEALLOCATE PREPARE s", "deallocate s"),
        ("drop prepare s;", "deallocate s"),
        ("PREPARE s FROM 'SELECT 1'; EXECUTE s", "-"),
        ("SELECT 1; EXECUTE s", "-"),
        ("EXECUTE s; SELECT 1", "-"),
        ("EXECUTE IMMEDIATE 'x'", "-"),
        ("EXECUTE IMMEDIATE USING @a", "execute IMMEDIATE"),
        ("EXECUTE", "-"),
        ("SELECT 1", "-"),
    ] {
        let found = match scan(sql.as_bytes(), MYSQL).named {
            Some(NamedStatement::Prepare { name, from: Source::Literal(literal) }) => {
                format!("prepare {} from {}", text(sql, &name), text(sql, &literal))
            }
            Some(NamedStatement::Prepare { name, from: Source::Variable }) => {
                format!("prepare {} from a variable", text(sql, &name))
            }
            Some(NamedStatement::Execute { name }) => format!("execute {}", text(sql, &name)),
            Some(NamedStatement::Deallocate { name }) => format!("deallocate {}", text(sql, &name)),
            None => "-".to_owned(),
        };
        assert_eq!(found, expected, "{sql}");
    }
}

#[test]
fn schemas() {
    for (sql, expected) in [
        ("USE db", Some("db")),
        ("use `a``b` ;", Some("a`b")),
        ("/*! USE x */", Some("x")),
        ("USE a; USE b", Some("b")),
        ("USE a; EXECUTE s", None),
        ("USE", None),
        ("USE a b", None),
        ("SELECT 1", None),
    ] {
        let found = scan(sql.as_bytes(), MYSQL).schema;
        let found = found.map(|range| unquote(&sql.as_bytes()[range], MYSQL).into_owned());
        assert_eq!(found, expected.map(|name| name.as_bytes().to_vec()), "{sql}");
    }
}

#[test]
fn character_sets() {
    let to = |charset| Some(CharsetChange::To(charset));
    let unknown = Some(CharsetChange::Unknown);
    for (sql, expected) in [
        ("SET NAMES utf8mb4", to(Charset::Utf8)),
        ("SET NAMES 'GBK'", to(Charset::Gbk)),
        ("set names `big5` collate big5_bin", to(Charset::Big5)),
        ("SET CHARACTER SET sjis", to(Charset::Sjis)),
        ("SET CHARSET cp932", to(Charset::Sjis)),
        ("SET CHAR SET 'gb18030'", to(Charset::Gb18030)),
        ("SET character_set_client = gbk", to(Charset::Gbk)),
        ("SET @@character_set_client = gbk", to(Charset::Gbk)),
        ("SET @@session.character_set_client := 'gbk'", to(Charset::Gbk)),
        ("SET SESSION `character_set_client` = gbk", to(Charset::Gbk)),
        ("SET \"character_set_client\" = gbk", to(Charset::Gbk)),
        ("SET @x = 1, sql_mode = f(1, 2), NAMES gbk", to(Charset::Gbk)),
        ("SELECT 1; SET NAMES gbk", to(Charset::Gbk)),
        ("SET NAMES gbk; SET NAMES utf8", to(Charset::Utf8)),
        ("/*!40101 SET NAMES gbk */", to(Charset::Gbk)),
        ("SET NAMES DEFAULT", unknown),
        ("SET character_set_client = @x", unknown),
        ("SET character_set_client = 28", unknown),
        ("SET character_set_client = _utf8'gbk'", unknown),
        ("SET character_set_client = N'gbk'", unknown),
        ("SET NAMES '\\gbk'", unknown),
        ("SET character_set_client = CONCAT('g', 'bk')", unknown),
        ("SET NAMES 'gb' 'k'", unknown),
        // The second byte of a character is a letter or above 0x7F.
        ("SET NAMES euckr", to(Charset::Plain)),
        ("SET NAMES latin1", to(Charset::Latin)),
        ("SET NAMES utf16", unknown),
        ("SET NAMES gb2312", to(Charset::Plain)),
        ("SET NAMES ujis", to(Charset::Plain)),
        ("SET GLOBAL character_set_client = gbk", None),
        ("SET @@global.character_set_client = gbk", None),
        ("SET @character_set_client = gbk", None),
        ("SET character_set_results = gbk", None),
        ("SELECT 'SET NAMES gbk'", None),
    ] {
        assert_eq!(scan(sql.as_bytes(), MYSQL).charset, expected, "{sql}");
    }
}
