use super::*;
use crate::Class;

fn read_body(body: &str) -> ProgramEffects {
    effects(body.as_bytes(), Mode::default())
}

fn shown(names: &BTreeSet<Table>) -> Vec<String> {
    let show = |table: &Table| match &table.schema {
        Some(schema) => format!("{schema}.{}", table.name),
        None => table.name.to_string(),
    };
    names.iter().map(show).collect()
}

/// The effects as letters: reads, writes, ddl, dynamic, locks.
fn letters(effects: &ProgramEffects) -> String {
    let flags =
        [(effects.reads, 'r'), (effects.writes, 'w'), (effects.ddl, 'd'), (effects.dynamic, 'x'), (effects.locks, 'l')];
    flags.into_iter().filter(|(is, _)| *is).map(|(_, letter)| letter).collect()
}

#[test]
fn classes_of_every_kind_of_statement() {
    for (body, expected) in [
        ("BEGIN DECLARE i INT DEFAULT 0; SET i = i + 1; END", ""),
        ("RETURN a + b", ""),
        ("RETURN (SELECT COUNT(*) FROM t)", "r"),
        ("BEGIN INSERT INTO t VALUES (1); END", "rw"),
        ("BEGIN IF a THEN DELETE FROM t; END IF; END", "w"),
        ("RETURN INSERT('abc', 1, 1, 'x')", ""),
        ("RETURN REPLACE(a, 'x', 'y')", ""),
        ("REPLACE INTO t SET a = 1", "w"),
        ("SELECT * FROM t FOR UPDATE", "rw"),
        ("SELECT * FROM t FOR SHARE", "rw"),
        ("SELECT * FROM t LOCK IN SHARE MODE", "rw"),
        ("SELECT 1 INTO OUTFILE 'x'", "rw"),
        ("SELECT 1 INTO DUMPFILE 'x'", "rw"),
        ("SELECT NEXT VALUE FOR s", "rw"),
        ("SELECT nextval(s)", "rw"),
        ("SELECT s.nextval", "rw"),
        ("BEGIN CREATE TEMPORARY TABLE t (a INT); END", "rd"),
        ("BEGIN DROP TABLE t; END", "rd"),
        ("l: BEGIN TRUNCATE t; END", "d"),
        ("BEGIN DECLARE EXIT HANDLER FOR SQLEXCEPTION TRUNCATE t; END", "d"),
        ("BEGIN DECLARE EXIT HANDLER FOR 1062 TRUNCATE TABLE t; END", "rd"),
        ("RETURN TRUNCATE(a, 2)", ""),
        ("SET PASSWORD = 'x'", "d"),
        ("BEGIN START TRANSACTION; COMMIT; END", ""),
        ("BEGIN STOP REPLICA; END", "w"),
        ("BEGIN PREPARE s FROM @x; EXECUTE s; DEALLOCATE PREPARE s; END", "x"),
        ("EXECUTE IMMEDIATE 'DELETE FROM t'", "x"),
        ("SELECT GET_LOCK('a', 1)", "rl"),
        ("SELECT 'DELETE FROM t', \"INSERT INTO t\" -- UPDATE t\n/* DROP TABLE t */", "r"),
        ("SELECT `delete`, t.update FROM t", "r"),
        ("BEGIN /*!50000 DELETE FROM t */; END", "w"),
        ("BEGIN /*!99999 it's */ DELETE FROM t; END", "w"),
        ("BEGIN /*M!100000 DELETE FROM t */; END", "w"),
    ] {
        assert_eq!(letters(&read_body(body)), expected, "{body}");
    }
}

#[test]
fn every_identifier_and_pair_may_be_a_table() {
    for (body, expected) in [
        ("SELECT * FROM Secret", &["secret"][..]),
        ("SELECT * FROM `Shop` . `my``orders`", &["shop", "shop.my`orders"]),
        ("SELECT a AS secret FROM t AS pub", &["a", "t"]),
        ("CREATE TABLE a AS TABLE b", &["a", "b"]),
        ("SELECT `a`.`b`.`c` FROM x", &["x", "a.b"]),
        ("SELECT 1 FROM .t", &["from", "t", "from.t"]),
        ("SELECT 'secret', @secret, @@secret, 1 -- secret", &[]),
        ("INSERT INTO \u{c9}t\u{e9} SELECT 1", &["\u{e9}t\u{e9}"]),
    ] {
        assert_eq!(shown(&read_body(body).names), expected, "{body}");
    }
}

#[test]
fn calls_of_own_functions_are_left_out() {
    for (body, expected) in [
        ("SELECT f(1), now(), count(*), `g`()", &["f", "g"][..]),
        ("SELECT shop.f()", &["shop", "shop.f"]),
        ("SELECT now ()", &["now"]),
        ("CALL p", &["p"]),
        ("CALL shop.p; CALL now()", &["now", "shop", "shop.p"]),
        ("SELECT a.b.c()", &["a.b", "b.c"]),
        ("SELECT IF(a, COALESCE(b, 1), 2)", &[]),
    ] {
        assert_eq!(shown(&read_body(body).calls), expected, "{body}");
    }
}

#[test]
fn sql_mode_decides_about_quotes_and_backslashes() {
    let body = r#"SELECT "secret", 'a\'; DELETE FROM t; -- '"#;
    for (sql_mode, letters_expected, has_name) in [
        ("", "r", false),
        ("STRICT_TRANS_TABLES,ANSI_QUOTES", "r", true),
        ("NO_BACKSLASH_ESCAPES", "rw", false),
        ("REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI", "r", true),
    ] {
        let effects = effects(body.as_bytes(), mode_of(sql_mode, Server::Unknown));
        assert_eq!(letters(&effects), letters_expected, "{sql_mode}");
        assert_eq!(shown(&effects.names).contains(&"secret".to_owned()), has_name, "{sql_mode}");
    }
}

#[test]
fn names_are_bounded() {
    let many: String = (0..MOST_NAMES + 10).map(|number| format!("SELECT * FROM t{number};")).collect();
    let effects = read_body(&many);
    assert!(effects.truncated && effects.names.len() == MOST_NAMES);
    assert!(!read_body("SELECT * FROM t").truncated);
}

#[test]
fn bytes_of_any_kind_do_not_panic() {
    let body = b"BEGIN \xff\xfe `\xff`.`` .. .1a INSERT(`";
    for end in 0..=body.len() {
        effects(&body[..end], Mode::default());
    }
}

/// A statement in a body is never milder than the same statement by itself.
#[test]
fn statements_in_bodies_are_not_milder_than_alone() {
    for sql in [
        "INSERT IGNORE INTO t VALUES (1)",
        "INSERT t SET a = 1",
        "REPLACE DELAYED t VALUES (1)",
        "UPDATE t SET a = 1",
        "DELETE QUICK FROM t",
        "WITH a AS (SELECT 1) DELETE FROM t USING t JOIN a",
        "(SELECT * FROM t) FOR UPDATE",
        "SELECT * FROM t LIMIT 1 FOR SHARE SKIP LOCKED",
        "SELECT 1 INTO OUTFILE '/tmp/x'",
        "SELECT NEXT VALUE FOR s",
        "LOAD DATA INFILE 'x' INTO TABLE t",
        "LOAD INDEX INTO CACHE t",
        "LOCK TABLES t WRITE",
        "LOCK INSTANCE FOR BACKUP",
        "BACKUP STAGE START",
        "FLUSH LOCAL TABLES",
        "FLUSH TABLES WITH READ LOCK",
        "RESET MASTER",
        "RESET PERSIST",
        "PURGE BINARY LOGS TO 'x'",
        "BINLOG 'x'",
        "CACHE INDEX t IN c",
        "CHECK TABLE t",
        "ANALYZE TABLE t",
        "START REPLICA",
        "STOP SLAVE",
        "DO GET_LOCK('a', 1)",
        "CREATE TABLE t (a INT)",
        "CREATE TEMPORARY TABLE t (a INT)",
        "CREATE OR REPLACE VIEW v AS SELECT 1",
        "ALTER TABLE t ADD b INT",
        "DROP VIEW IF EXISTS v",
        "TRUNCATE t",
        "TRUNCATE TABLE `t`",
        "RENAME TABLE a TO b",
        "GRANT SELECT ON *.* TO u",
        "REVOKE ALL ON *.* FROM u",
        "INSTALL PLUGIN p SONAME 'x'",
        "UNINSTALL COMPONENT 'x'",
        "IMPORT TABLE FROM 'x'",
        "CLONE LOCAL DATA DIRECTORY 'x'",
        "SHUTDOWN",
        "RESTART",
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'x'",
        "OPTIMIZE TABLE t",
        "REPAIR TABLE t",
        "SET PASSWORD = 'x'",
        "SET PASSWORD FOR u = 'x'",
        "SET STATEMENT max_statement_time = 1 FOR DELETE FROM t",
        "EXPLAIN ANALYZE UPDATE t SET a = 1",
        "SELECT f(1)",
        "SELECT `g` (1)",
        "SELECT shop.f()",
        "CALL p",
        "EXECUTE s USING @a",
        "EXECUTE IMMEDIATE @a",
    ] {
        let class = crate::scan(sql.as_bytes(), Mode::default()).class;
        for body in [
            sql.to_owned(),
            format!("BEGIN {sql}; END"),
            format!("l: LOOP {sql}; LEAVE l; END LOOP"),
            format!("BEGIN DECLARE EXIT HANDLER FOR NOT FOUND, SQLSTATE '42000' {sql}; END"),
            format!("IF a THEN {sql}; ELSE {sql}; END IF"),
        ] {
            let found = read_body(&body);
            let enough = match class {
                Class::Control => true,
                Class::Read => found.reads,
                Class::Write => found.writes || found.locks || found.ddl,
                Class::Call => !found.calls.is_empty(),
                Class::Unparsed => found.dynamic || found.ddl,
                Class::Ddl => found.ddl,
            };
            assert!(enough, "{class}: {body}: {found:?}");
        }
    }
}
