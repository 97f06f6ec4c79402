//! Bytes that are read in more than one way: the stricter stands.

use super::*;

#[track_caller]
fn class(mode: Mode, sql: &[u8]) -> Class {
    scan(sql, mode).class
}

#[test]
fn quotes_that_no_flag_shows() {
    // A string that ends at the last quote, or an identifier that ends at the second.
    let hidden = br#"SELECT "\"; DELETE FROM t WHERE 1 LIMIT 1 -- ""#;
    assert_eq!(class(MYSQL, hidden), Class::Write);
    assert_eq!(class(Mode { ansi_quotes: true, ..MYSQL }, hidden), Class::Write);
    assert!(!scan(br#"SELECT "\", SLEEP(9) -- ""#, MYSQL).free);
    assert_eq!(class(Mode { no_backslash_escapes: true, ..MYSQL }, br#"SELECT "\"; DELETE FROM t -- ""#), Class::Write);
    // In single quotes there is nothing to doubt.
    assert_eq!(class(MYSQL, br#"SELECT '\"; DELETE FROM t -- '"#), Class::Read);
    assert!(scan(br#"SELECT '{"a": "\\n"}'"#, MYSQL).free);
}

#[test]
fn modes_that_change_within_the_text() {
    for (sql, expected) in [
        (r"SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SELECT '\'; DROP TABLE t; -- '", Class::Ddl),
        (r"SET sql_mode = ''; SELECT '\'; DROP TABLE t; -- '", Class::Ddl),
        (r"SET @@session.sql_mode = @x; SELECT '\'; DROP TABLE t; -- '", Class::Ddl),
        // A routine leaves sql_mode and character set as they were (checked).
        (r"CALL p(); SELECT '\'; DROP TABLE t; -- '", Class::Call),
        (r"EXECUTE s; SELECT '\'; DROP TABLE t; -- '", Class::Ddl),
        // What comes before the change is not touched by it.
        (r"SELECT '\'; DROP TABLE t; -- '; SET sql_mode = ''", Class::Read),
        (r"SET @a = 1; SELECT '\'; DROP TABLE t; -- '", Class::Read),
    ] {
        assert_eq!(class(MYSQL, sql.as_bytes()), expected, "{sql}");
    }
    assert_eq!(class(MYSQL, b"SET NAMES gbk; SELECT '\x81\\'; DROP TABLE t; -- '"), Class::Ddl);
    assert_eq!(class(MYSQL, b"SET NAMES gbk; SELECT 1 AS \x81`; DROP TABLE t; -- `"), Class::Ddl);
}

#[test]
fn characters_of_two_bytes() {
    let ambiguous = Mode { charset: Charset::Unknown, ..MYSQL };
    // GBK has a character of 0x81 and a backslash; sjis has none of 0xA1 and a backslash, big5 has.
    for sql in [
        b"SELECT '\x81\\'; DROP TABLE t; -- '".as_slice(),
        b"SELECT '\x81\\\\'; DROP TABLE t; -- '",
        b"SELECT '\xA1\\', '\x81\\'; DROP TABLE t; -- '",
        b"SELECT '\x81\\\\', '\xA1\\'; DROP TABLE t; -- '",
        b"SELECT 1 AS \x81`; DROP TABLE t; -- `",
        b"SELECT '\x810\x81\\'; DROP TABLE t; -- '",
    ] {
        assert_eq!(class(ambiguous, sql), Class::Ddl, "{:?}", String::from_utf8_lossy(sql));
    }
    // Plainly, the backslash escapes the quote.
    assert_eq!(class(MYSQL, b"SELECT '\x81\\'; DROP TABLE t; -- '"), Class::Read);
    assert_eq!(class(ambiguous, b"SELECT '\x81a'"), Class::Read);
}

#[test]
fn space_bytes_split_words_in_their_charset_only() {
    let of = |charset| Mode { charset, ..MYSQL };
    for (charset, sql, expected) in [
        (Charset::Latin, b"SELECT a FROM t WHERE b LIMIT 1 FOR\xA0UPDATE".as_slice(), Class::Write),
        (Charset::Dos, b"WITH c AS (SELECT 1)\xFFDELETE\xFFFROM t", Class::Write),
        (Charset::Latin, b"SELECT 1 --\xA0'\n; DROP TABLE t -- '", Class::Ddl),
        (Charset::Latin, b"SELECT @x\xA0OR f()", Class::Read),
        // In latin1 the second byte of UTF-8's `à` is a space too.
        (Charset::Latin, "SELECT a FROM t FORà UPDATE".as_bytes(), Class::Write),
        (Charset::Plain, "SELECT voilà FROM t".as_bytes(), Class::Read),
        (Charset::Plain, "SELECT 'à' FROM t".as_bytes(), Class::Read),
        (Charset::Hp8, b"SELECT 1 --\xB1'\n; DROP TABLE t -- '", Class::Ddl),
        (Charset::Macroman, b"SELECT 1 --\xCB'\n; DROP TABLE t -- '", Class::Ddl),
    ] {
        for charset in [charset, Charset::Unknown] {
            assert_eq!(class(of(charset), sql), expected, "{charset:?} {:?}", String::from_utf8_lossy(sql));
        }
    }
    let hidden_call = scan(b"SELECT @x\xA0OR f()", of(Charset::Latin));
    assert!(!hidden_call.free && hidden_call.doubts.contains(Doubts::FUNCTIONS));
    assert_eq!(class(MYSQL, b"SELECT a FROM t WHERE b LIMIT 1 FOR\xA0UPDATE"), Class::Read);
}

/// The mode changes at a boundary between statements, so the text before it is read in the old one.
#[test]
fn text_before_a_mode_change_is_read_in_the_old_mode() {
    for sql in [
        r"SELECT 'x\''; SET sql_mode=NO_BACKSLASH_ESCAPES; SELECT 'a\'; DELETE FROM t; -- '",
        r"SET sql_mode=''; SELECT 'x\''; SET sql_mode=NO_BACKSLASH_ESCAPES; SELECT 'a\'; DELETE FROM t; -- '",
        r"EXECUTE s; SELECT 'x\''; EXECUTE s; SELECT 'a\'; DELETE FROM t; -- '",
    ] {
        let found = scan(sql.as_bytes(), MYSQL);
        assert!(found.classes.contains(Class::Write), "{sql}: {found:?}");
    }
}

#[test]
fn escape_of_a_two_byte_character_covers_one_byte() {
    // The backslash escapes 0x81 alone, and the next backslash the quote.
    let sql = b"SELECT '\\\x81\\', '; DROP TABLE t; -- '";
    assert_eq!(class(Mode { charset: Charset::Gbk, ..MYSQL }, sql), Class::Ddl);
}

#[test]
fn trigger_with_a_whole_block_is_one_statement() {
    let head = "CREATE TRIGGER x AFTER UPDATE ON t FOR EACH ROW ";
    for (body, one) in [
        ("BEGIN DELETE FROM u WHERE a <=> OLD.a; REPLACE INTO u VALUES (NEW.a); END", true),
        ("BEGIN DELETE FROM u; END ; ", true),
        ("BEGIN IF NEW.a THEN DELETE FROM u; END IF; SET @a = CASE 1 WHEN 1 THEN 2 END; END", true),
        ("BEGIN CASE NEW.a WHEN 1 THEN DELETE FROM u; END CASE; BEGIN END; END", true),
        ("SET @a = 1; DELETE FROM u", false),
        ("BEGIN END; DELETE FROM u", false),
        ("BEGIN SELECT CASE WHEN 1 THEN begin+1 END INTO @a; END; DELETE FROM u; END", false),
        ("SET @a = (SELECT 1 begin); DELETE FROM u; END", false),
        ("BEGIN SELECT 1 AS end INTO @a; END; DELETE FROM u; SELECT 1 AS end", false),
        ("BEGIN END CASE; DELETE FROM u; END", false),
    ] {
        let found = scan(format!("{head}{body}").as_bytes(), MYSQL);
        let expected = if one { Classes::of(Class::Ddl) } else { found.classes };
        assert_eq!(found.classes, expected, "{body}");
        assert_eq!(found.doubts.is_empty(), one, "{body}");
    }
}

#[test]
fn brackets_quote_in_mariadbs_mssql_mode() {
    let sql = b"SELECT [a'b]; DELETE FROM t WHERE 1; -- '";
    assert_eq!(class(MARIADB, sql), Class::Write);
    assert_eq!(class(MYSQL, sql), Class::Read);
}

#[test]
fn versions_of_a_server_that_is_not_known() {
    let unknown = Mode { server: Server::Unknown, ..MYSQL };
    assert_eq!(class(unknown, b"SELECT 1 /*!99999 ' */; DROP TABLE t -- '"), Class::Ddl);
    assert_eq!(class(unknown, b"SELECT 1 /*!99999 ; DROP TABLE t */"), Class::Ddl);
    assert_eq!(class(MYSQL, b"SELECT 1 /*!99999 ; DROP TABLE t */"), Class::Read);
    assert_eq!(class(MYSQL, b"SELECT 1 /*!50000 ; DROP TABLE t */"), Class::Ddl);
}

#[test]
fn cut_texts_are_at_least_writes() {
    let cut = Mode { extent: Extent::Cut, ..MYSQL };
    for (sql, expected) in [
        ("SELECT 1", Class::Write),
        ("COMMIT ", Class::Write),
        ("", Class::Write),
        ("DROP TABLE t ", Class::Ddl),
        ("CALL p(1) ", Class::Call),
    ] {
        let scan = scan(sql.as_bytes(), cut);
        assert_eq!((scan.class, scan.free), (expected, false), "{sql}");
    }
}

/// Long texts that could be read in many ways are not read at all.
#[test]
fn many_ways_and_long() {
    let mut sql = b"SET sql_mode = '', NAMES DEFAULT; SELECT \"\\\", '\x81\\', '\xA0' ".to_vec();
    assert_eq!(class(MYSQL, &sql), Class::Read);
    sql.extend(std::iter::repeat_n(b' ', 100_000));
    let scan = scan(&sql, MYSQL);
    assert_eq!((scan.class, scan.free), (Class::Ddl, false));
}
