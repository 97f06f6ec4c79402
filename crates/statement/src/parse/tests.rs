use super::*;
use crate::{Server, fingerprint};
use std::sync::Arc;

const MYSQL: Mode = Mode {
    no_backslash_escapes: false,
    ansi_quotes: false,
    brackets: false,
    server: Server::MySql(90_704),
    extent: crate::Extent::Whole,
    charset: crate::Charset::Plain,
};

/// The tables, then the class, and `failed` instead of the tables where there are none to be had.
fn shown(sql: &str, mode: Mode) -> String {
    let scan = crate::scan(sql.as_bytes(), mode);
    let parsed = ParseCache::new().get_or_parse(&scan, sql.as_bytes());
    let tables: Vec<String> = parsed
        .tables
        .iter()
        .map(|table| match &table.schema {
            Some(schema) => format!("{schema}.{}", table.name),
            None => table.name.to_string(),
        })
        .collect();
    let tables = match parsed.outcome {
        Outcome::Read => tables.join(" "),
        Outcome::Among => format!("among {}", tables.join(" ")),
        Outcome::Failed => "failed".to_owned(),
    };
    format!("{tables} | {}{}", class(&scan, &parsed), if parsed.foreign_functions { " foreign" } else { "" })
}

/// The strictest class that the scanner and the parser find together.
fn class(scan: &Scan, parsed: &Parsed) -> Class {
    scan.classes_with(parsed).iter().fold(scan.class, Class::or_stricter)
}

#[track_caller]
fn check(mode: Mode, cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (sql, expected) in cases {
        let found = shown(sql, mode);
        if found != *expected {
            wrong.push(format!("{sql}\n    expected {expected}\n    found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn tables() {
    check(
        MYSQL,
        &[
            ("SELECT c FROM sbtest1 WHERE id = 1", "sbtest1 | read"),
            ("SELECT 1", " | read"),
            ("SELECT * FROM A, `Db`.`B` x JOIN c USING (id) LEFT JOIN d ON 1", "a c d db.b | read"),
            ("SELECT * FROM a WHERE x IN (SELECT y FROM b WHERE z = (SELECT MAX(q) FROM c))", "a b c | read"),
            ("SELECT * FROM (SELECT * FROM a) d UNION SELECT * FROM b", "a b | read"),
            ("(SELECT * FROM a) UNION ALL (SELECT * FROM b) LIMIT 1", "a b | read"),
            ("SELECT * FROM a FOR UPDATE", "a | write"),
            ("SELECT * FROM a /* FROM b */ WHERE c = 'FROM d' -- FROM e", "a | read"),
            ("SELECT * FROM /*! a */", "a | read"),
            ("INSERT INTO a (x) SELECT x FROM b", "a b | write"),
            ("INSERT INTO db.a VALUES (1, 'x'), (2, 'y')", "db.a | write"),
            ("INSERT INTO a VALUES (1) ON DUPLICATE KEY UPDATE b = VALUES(b) + (SELECT 1 FROM c)", "a c | write"),
            ("REPLACE INTO a VALUES (1)", "a | write"),
            ("UPDATE a JOIN b ON a.x = b.x SET a.y = 1 WHERE b.z IN (1, 2)", "a b | write"),
            ("UPDATE a SET b = 1 WHERE c = 2 ORDER BY d LIMIT 1", "a | write"),
            ("DELETE FROM a WHERE b = 1 LIMIT 5", "a | write"),
            ("DELETE a FROM a JOIN b ON 1 WHERE b.x", "a b | write"),
            ("TRUNCATE TABLE a", "a | ddl"),
            ("DROP TABLE a, b", "a b | ddl"),
            ("RENAME TABLE a TO b", "a b | ddl"),
            ("CREATE INDEX i ON a (b)", "a | ddl"),
            ("LOCK TABLES a READ, b WRITE", "among a b lock read tables write | write"),
            ("CREATE TABLE a SELECT * FROM b", "a b | ddl"),
            ("INSERT INTO a TABLE b", "a b | write"),
            ("TABLE a", "among a | read"),
            ("SELECT a FROM b UNION TABLE c", "b c | read"),
            ("SELECT * FROM a PARTITION (p0) USE INDEX (i)", "a | read"),
            ("ALTER TABLE a ADD COLUMN b INT", "a | ddl"),
            ("CREATE TABLE a (b INT)", "a | ddl"),
            ("SELECT a FROM t1; DELETE FROM t2", "t1 t2 | write"),
            ("COMMIT", " | control"),
            ("SELECT @a := b, @@session.x, @`q` FROM t WHERE c = @d LIMIT 1, 2", "t | read"),
            (
                "SELECT DATE '2020-01-01', _utf8mb4'x', x'1F', 'a' 'b', a <> 1, a->>'$.b', a REGEXP 'x' FROM t",
                "t | read",
            ),
            ("SELECT * FROM t WHERE MATCH (a) AGAINST ('x' IN BOOLEAN MODE)", "t | read"),
        ],
    );
}

/// Without a flag that shows it, `"t"` may be a table.
#[test]
fn names_in_double_quotes() {
    check(
        MYSQL,
        &[
            ("SELECT * FROM \"T\"", "among t | read"),
            ("INSERT INTO \"db\".\"t\" (\"a\") VALUES ('x')", "among db.t | write"),
            ("SELECT a FROM t WHERE b = \"x\" AND c IN (\"y\", \"z\")", "t | read"),
            ("SELECT * FROM t, \"u\"", "among t u | read"),
            ("SET sql_mode = 'ANSI'; SELECT * FROM t, \"u\"", "among t u | read"),
            // A list of literals is cut short, but not to one that hides a name.
            ("SELECT * FROM t JOIN u ON '1', \"v\"", "among t u v | read"),
            ("SELECT * FROM t JOIN u ON 1, (\"v\")", "among t u v | read"),
            // A string is no table, though the parser takes it for one.
            ("SELECT * FROM 'x'", "among  | read"),
            ("CREATE TABLE t SELECT f()", "t | ddl foreign"),
        ],
    );
    let cache = ParseCache::new();
    for name in ["a", "b"] {
        let sql = format!("SELECT * FROM \"{name}\"");
        let parsed = cache.get_or_parse(&crate::scan(sql.as_bytes(), MYSQL), sql.as_bytes());
        assert_eq!(&*parsed.tables[0].name, name);
    }
}

/// What a statement calls by a name of its own is no table, but only where it is seen.
#[test]
fn names_of_with() {
    check(
        MYSQL,
        &[
            ("WITH a AS (SELECT * FROM b) SELECT * FROM a", "b | read"),
            ("WITH a AS (SELECT 1), c AS (SELECT * FROM a) SELECT * FROM c, d", "d | read"),
            ("WITH a AS (SELECT * FROM a) SELECT * FROM a", "a | read"),
            // MySQL tells these by their case.
            ("WITH A AS (SELECT 1) SELECT * FROM a", "a | read"),
            ("UPDATE IGNORE t SET a = 1", "among a t | write"),
            ("CREATE TABLE u LIKE t", "among t u | ddl"),
            ("WITH a AS (SELECT * FROM b), b AS (SELECT 1) SELECT * FROM a, b", "b | read"),
            ("WITH RECURSIVE a AS (SELECT 1 UNION ALL SELECT n + 1 FROM a) SELECT * FROM a", " | read"),
            ("SELECT * FROM big WHERE id IN (WITH big AS (SELECT 1) SELECT * FROM big)", "big | read"),
            ("WITH a AS (SELECT 1) SELECT * FROM db.a", "db.a | read"),
            ("WITH a AS (SELECT 1) SELECT * FROM t WHERE x IN (SELECT * FROM a)", "t | read"),
            ("WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b, c) SELECT * FROM a, b", "b c | read"),
            ("WITH a AS (SELECT 1) DELETE FROM t WHERE x IN (SELECT * FROM a)", "t | write"),
            ("WITH a AS (SELECT 1) UPDATE t SET x = (SELECT * FROM a)", "t | write"),
        ],
    );
}

#[test]
fn functions() {
    check(
        MYSQL,
        &[
            ("SELECT f(a) FROM t", "t | call foreign"),
            ("SELECT ABS(a), COUNT(*), NOW() FROM t", "t | read"),
            ("SELECT NOW () FROM t", "t | call foreign"),
            ("SELECT `now`() FROM t", "t | call foreign"),
            ("INSERT INTO t (a) VALUES (f(1))", "t | call foreign"),
            ("UPDATE t SET a = f(1)", "t | call foreign"),
            ("SET @a = f()", " | call foreign"),
            ("SHOW TABLES WHERE f()", "failed | unparsed foreign"),
            // A name with columns is no call, unless it is one too.
            ("WITH a (x) AS (SELECT 1), b (y) AS (SELECT 2) SELECT * FROM a, b", " | read"),
            ("WITH a (x) AS (SELECT 1), b (y) AS (SELECT b(2)) SELECT * FROM a, b", " | call foreign"),
            ("WITH a (x) AS (SELECT 1), b (y) AS (SELECT f(2)) SELECT * FROM a, b", " | call foreign"),
            ("WITH a (x) AS (SELECT 1), b (y) AS (SELECT COUNT (2)) SELECT * FROM a, b", " | call foreign"),
            ("SELECT db.f(1)", " | call"),
            ("SELECT f(1); DROP TABLE t", "t | ddl foreign"),
        ],
    );
    let mariadb = Mode { server: Server::MariaDb(101_118), ..MYSQL };
    check(
        mariadb,
        &[
            ("SELECT * FROM JSON_TABLE('[]', '$[*]' COLUMNS (a INT PATH '$')) AS j", " | read"),
            ("SELECT action(1)", " | call foreign"),
        ],
    );
}

#[test]
fn what_the_parser_cannot_read() {
    check(
        MYSQL,
        &[
            // The scanner is sure of these: only their tables are not known.
            ("HANDLER t READ FIRST", "failed | read"),
            ("SELECT * FROM", "among  | read"),
            ("XA START 'x'", " | control"),
            // Of these it is not.
            ("SELECT f(1) FROM", "among f | call foreign"),
            ("HANDLER t READ FIRST WHERE f(1)", "failed | unparsed foreign"),
            ("DO f(1)", "among do f | call foreign"),
        ],
    );
    let deep = format!("SELECT {}f(1){}", "(".repeat(1000), ")".repeat(1000));
    assert_eq!(shown(&deep, MYSQL), "among f | call foreign");
    let long = format!("SELECT f(1) FROM {}t", "t, ".repeat(10_000));
    assert_eq!(shown(&long, MYSQL), "among f t | call foreign");
}

#[test]
fn tables_are_among_names_where_the_parser_fails() {
    check(
        MYSQL,
        &[
            ("SELECT a MOD 2 FROM db.t", "among a db mod db.t | read"),
            ("SELECT * FROM a LEFT JOIN (b, c) ON !d", "among a b c d | read"),
            (
                "LOAD DATA INFILE 'x' INTO TABLE t (a) SET b = (SELECT 1 FROM u)",
                "among a b data infile load t u | write",
            ),
            ("DROP PROCEDURE p", "among p procedure | ddl"),
            ("DROP INDEX i ON t", "among i index t | ddl"),
            // Names behind a `;` are those of another statement.
            ("UPDATE IGNORE a SET x = 1; DROP TABLE b", "among a b x | ddl"),
            ("UPDATE IGNORE a SET x = 1; HANDLER h READ FIRST", "failed | write"),
            // The server finds `u` where the new table is.
            (
                "CREATE TABLE db.t (a INT, FOREIGN KEY (a) REFERENCES u (a))",
                "among a db foreign key references u db.a db.db db.foreign db.key db.references db.t db.u | ddl",
            ),
            ("CREATE DATABASE d", "among d database | ddl"),
            ("DROP DATABASE IF EXISTS `D`", "among d database d.* | ddl"),
            ("CREATE OR REPLACE SCHEMA d", "among d schema d.* | ddl"),
            // What they concern is not named, or by another name.
            ("DROP TRIGGER g", "failed | ddl"),
            ("ALTER DATABASE d UPGRADE DATA DIRECTORY NAME", "failed | ddl"),
            ("EXPLAIN FOR SCHEMA d UPDATE IGNORE t SET a = 1", "failed | read"),
            ("BINLOG 'x'", "failed | write"),
            ("IMPORT TABLE FROM 'x'", "failed | ddl"),
        ],
    );
    let many = format!("LOCK TABLES {}t READ", (0..600).map(|at| format!("a{at} READ, ")).collect::<String>());
    assert_eq!(shown(&many, MYSQL), "failed | write");
}

/// What was found for one name in double quotes is not taken for another.
#[test]
fn calls_in_double_quotes_are_not_mixed_up() {
    let cache = ParseCache::new();
    for name in ["f", "g"] {
        let sql = format!("SELECT \"{name}\"(1)");
        let parsed = cache.get_or_parse(&crate::scan(sql.as_bytes(), MYSQL), sql.as_bytes());
        let calls: Vec<&str> = parsed.calls.iter().map(|call| &*call.name).collect();
        assert_eq!(calls, [name]);
    }
}

/// A tree as deep as the text is long does not end the process, and lists do not make a text long.
#[test]
fn long_texts() {
    assert_eq!(shown(&format!("SELECT f(1) FROM t WHERE 1{}", " + a".repeat(3000)), MYSQL), "t | call foreign");
    assert_eq!(shown(&format!("SELECT a FROM t WHERE 1{}", " OR a = 1".repeat(1500)), MYSQL), "t | read");
    assert_eq!(shown(&format!("SELECT a FROM t WHERE a IN (1{})", ", 1".repeat(100_000)), MYSQL), "t | read");
    assert_eq!(
        shown(&format!("INSERT INTO t VALUES (1, f(1)){}", ", (2, f(2))".repeat(50_000)), MYSQL),
        "t | call foreign"
    );
}

#[test]
fn cached() {
    let cache = ParseCache::new();
    let get = |sql: &str| cache.get_or_parse(&crate::scan(sql.as_bytes(), MYSQL), sql.as_bytes());
    let first = get("SELECT f(1) FROM t");
    assert!(Arc::ptr_eq(&first, &get("SELECT  f(2)\nFROM t -- x")));
    assert_eq!(cache.len(), 1);
    // Texts of one fingerprint that call different things do not share an answer, whichever comes first.
    let clean = "WITH a (x) AS (SELECT 1), b (y) AS (SELECT COUNT(2)) SELECT * FROM a, b";
    let foul = "WITH a (x) AS (SELECT 1), b (y) AS (SELECT COUNT (2)) SELECT * FROM a, b";
    assert_eq!(fingerprint(clean.as_bytes(), MYSQL), fingerprint(foul.as_bytes(), MYSQL));
    assert_eq!((get(clean).foreign_functions, get(foul).foreign_functions), (false, true));
    // To MySQL's digests these are one.
    let (one, other) = ("SELECT * FROM user", "SELECT * FROM system_user");
    assert_eq!(fingerprint(one.as_bytes(), MYSQL), fingerprint(other.as_bytes(), MYSQL));
    assert_eq!((&*get(one).tables[0].name, &*get(other).tables[0].name), ("user", "system_user"));
}

#[test]
fn the_cache_is_bounded() {
    let cache = ParseCache::new();
    for number in 0..12_000 {
        let sql = format!("SELECT a{number}");
        cache.get_or_parse(&crate::scan(sql.as_bytes(), MYSQL), sql.as_bytes());
    }
    assert!(cache.len() <= 10_000, "{}", cache.len());
}

/// In swe7 `}` is a letter, so that the name is another in UTF-8.
#[test]
fn names_in_swe7_are_not_believed() {
    let swe7 = Mode { charset: crate::Charset::Swe7, ..MYSQL };
    check(
        swe7,
        &[
            ("SELECT * FROM t", "t | read"),
            ("SELECT * FROM }", "failed | read"),
            ("SELECT * FROM `a|b`", "failed | read"),
        ],
    );
    let scan = crate::scan(b"CHECK TABLE }", swe7);
    assert!(!scan.fingerprints(b"CHECK TABLE }").is_complete());
}
