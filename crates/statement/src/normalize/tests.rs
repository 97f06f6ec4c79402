use super::*;
use crate::{Server, fingerprint};

const MODE: Mode = Mode {
    no_backslash_escapes: false,
    ansi_quotes: false,
    brackets: false,
    server: Server::MySql(90_704),
    extent: crate::Extent::Whole,
    charset: crate::Charset::Plain,
};

fn normal(sql: &str) -> String {
    normalize(sql.as_bytes(), MODE, 10_000)
}

#[test]
fn texts_for_people() {
    for (sql, expected) in [
        ("select c from sbtest1 where id=12345", "SELECT c FROM sbtest1 WHERE id = ?"),
        ("SELECT /* x */ * FROM `t` -- y\nWHERE `a b` IN ( 1 ,2 )", "SELECT * FROM t WHERE `a b` IN (...)"),
        ("SELECT * FROM t WHERE a IN (1)", "SELECT * FROM t WHERE a IN (...)"),
        ("SELECT f(1), f(1, 2), f(a, 1, -2), f()", "SELECT f(?), f(...), f(a, ?, ...), f()"),
        ("INSERT INTO t(a,b) VALUES (1,'x'),(2,NULL)", "INSERT INTO t(a, b) VALUES (...)"),
        ("INSERT INTO t VALUES(1,NOW()),(2,NOW()), (3,NOW())", "INSERT INTO t VALUES (?, NOW())"),
        ("INSERT INTO t VALUES (1,2),(3,DEFAULT),(4,DEFAULT)", "INSERT INTO t VALUES (...), (?, DEFAULT)"),
        (
            "INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a=VALUES(a), b=VALUES(a)",
            "INSERT INTO t VALUES (?) ON DUPLICATE KEY UPDATE a = VALUES (a), b = VALUES (a)",
        ),
        ("SELECT a-1, -1, - -1, a - -1, a--1", "SELECT a - ?, ..., a - ?, a - ?"),
        ("SELECT a--b", "SELECT a - - b"),
        ("SELECT a<>1, a<=>NULL, a IS NOT NULL, x->>'$.a'", "SELECT a != ?, a <=> ?, a IS NOT NULL, x ->> ?"),
        ("SET @a=1, @@session.sql_mode='x', @`q`=2", "SET @? = ?, @@SESSION.sql_mode = ?, @`q` = ?"),
        ("SELECT _utf8mb4'a' COLLATE x, x'1F', N'b'", "SELECT ? COLLATE x, ?, ..."),
        ("SELECT t . a , t.`b`.c", "SELECT t.a, t.b.c"),
        ("SELECT `select`, `plain`", "SELECT `select`, plain"),
        ("SELECT 1;;SELECT 2; ", "SELECT ?; SELECT ?"),
        ("SELECT `a\nb`", "SELECT `a b`"),
        ("", ""),
    ] {
        assert_eq!(normal(sql), expected, "{sql}");
    }
}

#[test]
fn length_is_bounded() {
    let sql = format!("SELECT {} FROM t", "é, ".repeat(1000));
    for limit in [0, 1, 2, 3, 4, 10, 11, 12, 13, 100] {
        let text = normalize(sql.as_bytes(), MODE, limit);
        assert!(text.len() <= limit, "{limit}: {text}");
        assert_eq!(text.ends_with('…'), limit >= 3);
    }
    let rows = format!("INSERT INTO t VALUES {}(1, 2)", "(1, 2), ".repeat(100_000));
    assert_eq!(normalize(rows.as_bytes(), MODE, 40), "INSERT INTO t VALUES (...)");
    assert!(normalize(&[b'('; 1 << 20], MODE, 100).len() <= 100);
}

#[test]
fn what_differs_and_what_does_not() {
    let same = [
        ("SELECT a FROM t WHERE b = 1", "select  a from t where b=-2.5e3 # x"),
        ("SELECT a FROM t WHERE b IN (1)", "SELECT a FROM t WHERE b IN (1, 'x', NULL, ?)"),
        ("SELECT a FROM t WHERE b = NULL", "SELECT a FROM `T` WHERE /*!50000 b */ = 'x'"),
        ("INSERT INTO t VALUES (1, f(2))", "INSERT INTO t VALUES (1, f(2)), (3, f(4))"),
        ("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1), (2), (3)"),
        ("SELECT a FROM t WHERE (a, b) IN ((1, 2))", "SELECT a FROM t WHERE (a, b) IN ((1, 2), (3, 4))"),
        ("SELECT 1", "SELECT 'x';"),
    ];
    for (one, other) in same {
        assert_eq!(fingerprint(one.as_bytes(), MODE), fingerprint(other.as_bytes(), MODE), "{one} and {other}");
    }
    let texts = [
        "SELECT a FROM t",
        "SELECT ab FROM t",
        "SELECT a b FROM t",
        "SELECT a FROM u",
        "SELECT a FROM t WHERE a IS NULL",
        "SELECT a FROM t WHERE a IS NOT NULL",
        "SELECT a FROM t WHERE a = 1",
        "SELECT a FROM t WHERE a > 1",
        "SELECT a FROM t WHERE a >= 1",
        "SELECT a FROM t WHERE f(1)",
        "SELECT a FROM t WHERE f(1, 2)",
        "SELECT a FROM t WHERE f(a)",
        "SELECT a FROM t LIMIT 1",
        "SELECT a FROM t LIMIT 1, 2",
        "SELECT a FROM t LIMIT 1 OFFSET 2",
        "SELECT a FROM t; SELECT a FROM t",
        "SELECT a, FROM t",
        "SELECT @a FROM t",
        "SELECT @@a FROM t",
        "DELETE FROM t",
        "INSERT INTO t VALUES (1)",
        "INSERT INTO t VALUES (a)",
        "INSERT INTO t VALUES (1, 2)",
        "INSERT INTO t VALUES (1), (a)",
        "INSERT INTO t VALUES (a), (1)",
    ];
    for (at, one) in texts.iter().enumerate() {
        for other in texts.iter().skip(at + 1) {
            assert_ne!(fingerprint(one.as_bytes(), MODE), fingerprint(other.as_bytes(), MODE), "{one} and {other}");
        }
    }
    // It must stay what it is: rules of operators name it.
    assert_eq!(fingerprint(b"SELECT a FROM t WHERE b = 1", MODE).to_string(), "8e16de99464e32cbb6697c5b0abef512");
}
