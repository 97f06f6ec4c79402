//! Statement by statement. What the servers do with them was tried on MySQL 9.7 and MariaDB 10.11 wherever it says so here
//! or in `verb`.

use super::*;

#[test]
fn queries() {
    check(
        MYSQL,
        &[
            ("SELECT c FROM sbtest1 WHERE id=12345", "read no_limit"),
            ("SELECT c FROM t WHERE id=1 LIMIT 1", "read"),
            ("SELECT c FROM t", "read no_where no_limit"),
            ("SELECT * FROM t WHERE id=1 LIMIT 1", "read select_star"),
            ("SELECT t.* FROM t", "read no_where no_limit select_star"),
            ("SELECT a, t.* FROM t", "read no_where no_limit select_star"),
            ("SELECT SQL_CALC_FOUND_ROWS * FROM t LIMIT 1", "read no_where select_star"),
            ("SELECT DISTINCT * FROM t WHERE 1 LIMIT 1", "read select_star"),
            ("SELECT a * b, 2 * 3 FROM t WHERE x LIMIT 1", "read"),
            ("SELECT COUNT(*) FROM t WHERE x LIMIT 1", "read"),
            ("SELECT a FROM t WHERE b IN (SELECT * FROM u) LIMIT 1", "read"),
            ("SELECT a FROM (SELECT * FROM u WHERE x LIMIT 1) d", "read no_where no_limit"),
            ("SELECT EXISTS(SELECT * FROM u)", "read"),
            ("SELECT a FROM t WHERE x UNION SELECT b FROM u WHERE y LIMIT 5", "read"),
            ("SELECT a FROM t WHERE x UNION ALL SELECT b FROM u LIMIT 5", "read no_where"),
            ("(SELECT a FROM t WHERE x LIMIT 1) UNION (SELECT b FROM u WHERE y)", "read no_limit"),
            ("(SELECT a FROM t WHERE x) UNION (SELECT b FROM u WHERE y LIMIT 1)", "read no_limit"),
            ("(SELECT a FROM t WHERE x) UNION (SELECT b FROM u WHERE y) LIMIT 3", "read"),
            ("(SELECT a FROM t WHERE x) UNION SELECT b FROM u WHERE y LIMIT 3", "read"),
            ("SELECT a FROM t WHERE x FETCH FIRST 5 ROWS ONLY", "read"),
            ("((SELECT * FROM t))", "read no_where no_limit select_star"),
            ("WITH c AS (SELECT * FROM t) SELECT a FROM c WHERE x LIMIT 1", "read"),
            ("WITH c AS (SELECT a FROM t WHERE x LIMIT 1) SELECT * FROM c", "read no_where no_limit select_star"),
            ("WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT n FROM c LIMIT 1", "read no_where"),
            ("WITH c AS (SELECT 1) (SELECT * FROM c WHERE a LIMIT 1)", "read select_star"),
            ("(WITH c AS (SELECT 1) SELECT a FROM c WHERE a LIMIT 1)", "read"),
            ("TABLE t", "read no_where no_limit select_star"),
            ("TABLE t LIMIT 3", "read no_where select_star"),
            ("SELECT 1 UNION TABLE t", "read no_where no_limit select_star"),
            ("VALUES ROW(1,2), ROW(3,4)", "read free"),
            ("HANDLER t OPEN", "read"),
            ("HANDLER t READ FIRST WHERE a > 1 LIMIT 5", "read"),
            ("CHECKSUM TABLE t", "read"),
            ("SELECT a INTO @x FROM t WHERE id = 1 LIMIT 1", "read"),
            ("SELECT 1 FROM t PARTITION (p0) WHERE a = ANY (SELECT 1) LIMIT 1", "read"),
            ("SELECT a FROM t USE INDEX (i) WHERE MATCH (a) AGAINST ('x' WITH QUERY EXPANSION) LIMIT 1", "read"),
            ("SELECT a FROM JSON_TABLE('[]', '$[*]' COLUMNS (a INT PATH '$')) AS j (x) LIMIT 1", "read no_where"),
            ("SELECT CAST(a AS DATETIME(6)), CONVERT(b, CHAR(3)) FROM t WHERE x LIMIT 1", "read"),
            ("SELECT ROW_NUMBER() OVER (PARTITION BY a) FROM t WHERE x LIMIT 1", "read"),
            ("SELECT a FROM t WHERE (a, b) IN ((1, 2), (3, 4)) LIMIT 1", "read"),
            ("select`a`from`t`where`id`=1 limit 1", "read"),
        ],
    );
}

#[test]
fn locking_reads_and_files() {
    check(
        MYSQL,
        &[
            ("SELECT a FROM t WHERE id=1 LIMIT 1 FOR UPDATE", "write"),
            ("SELECT a FROM t WHERE id=1 LIMIT 1 FOR/**/UPDATE SKIP LOCKED", "write"),
            ("SELECT a FROM t WHERE id=1 LIMIT 1 FOR /*!80000 UPDATE */", "write"),
            ("SELECT a FROM t WHERE id=1 LIMIT 1 FOR SHARE", "write"),
            ("SELECT a FROM t WHERE id=1 LIMIT 1 LOCK IN SHARE MODE", "write"),
            ("SELECT a FROM t WHERE b = (SELECT c FROM u LIMIT 1 FOR UPDATE) LIMIT 1", "write"),
            ("SELECT a FROM (SELECT 1 FROM t FOR SHARE OF t NOWAIT) d WHERE x LIMIT 1", "write"),
            ("(SELECT a FROM t WHERE x LIMIT 1 FOR UPDATE)", "write"),
            ("WITH c AS (SELECT a FROM t FOR UPDATE) SELECT a FROM c WHERE x LIMIT 1", "write"),
            ("TABLE t LIMIT 1 FOR UPDATE", "write no_where select_star"),
            ("SELECT 1 FOR UPDATE", "write"),
            ("SELECT a FROM t WHERE x LIMIT 1 INTO OUTFILE '/tmp/x'", "write"),
            ("SELECT 'x' INTO DUMPFILE '/tmp/x'", "write"),
            ("SELECT GET_LOCK('a', 1)", "write lock"),
            ("SELECT `get_lock` ('a', 1) FROM t WHERE x LIMIT 1", "write lock"),
            ("DO GET_LOCK('a', 1)", "write lock"),
            ("SET @a = GET_LOCK('a', 1)", "write lock"),
            ("SHOW TABLES WHERE GET_LOCK('a', 1)", "write lock"),
            // It is no call, and no lock.
            ("SELECT 'GET_LOCK(1)', get_lock FROM t WHERE `for update` LIMIT 1", "read"),
            ("SELECT t.for, t.update FROM t WHERE x LIMIT 1", "read"),
        ],
    );
}

#[test]
fn changes() {
    check(
        MYSQL,
        &[
            ("INSERT INTO t VALUES (1)", "write"),
            ("INSERT INTO t (a, b) VALUES (1, 2), (3, 4)", "write"),
            ("INSERT INTO db.t (a) VALUES (1)", "write"),
            ("INSERT t(a) VALUE (1)", "write"),
            (
                "INSERT LOW_PRIORITY IGNORE INTO `t` (a) VALUES (1) AS new (x) ON DUPLICATE KEY UPDATE a = new.x",
                "write",
            ),
            ("INSERT INTO t SET a = (SELECT * FROM u)", "write"),
            ("INSERT INTO t SELECT * FROM u", "write no_where no_limit select_star"),
            ("INSERT INTO t (value, `set`) SELECT a FROM u WHERE x LIMIT 1", "write"),
            ("REPLACE INTO t (a) VALUES (1)", "write"),
            ("REPLACE t VALUES (REPLACE('a', 'b', 'c'))", "write"),
            ("UPDATE t SET a = 1", "write no_where no_limit"),
            ("UPDATE t SET a = 1 WHERE id = 1 LIMIT 1", "write"),
            ("UPDATE t JOIN u USING (id) SET t.a = (SELECT b FROM v LIMIT 1) WHERE u.x", "write no_limit"),
            ("DELETE FROM t", "write no_where no_limit"),
            ("DELETE FROM t WHERE id IN (SELECT id FROM u) ORDER BY a LIMIT 10", "write"),
            ("DELETE a FROM a JOIN b ON a.x = b.x WHERE b.y", "write no_limit"),
            ("WITH c AS (SELECT 1) DELETE FROM t WHERE a IN (SELECT * FROM c)", "write no_limit"),
            ("WITH c AS (SELECT 1) UPDATE t SET a = 1", "write no_where no_limit"),
            ("LOAD DATA LOCAL INFILE 'x' INTO TABLE t (a, b) SET c = NOW()", "write"),
            ("LOAD XML INFILE 'x' INTO TABLE t", "write"),
            ("BINLOG 'AAAA'", "write"),
            ("PURGE BINARY LOGS BEFORE NOW()", "write"),
        ],
    );
}

#[test]
fn definitions_and_administration() {
    check(
        MYSQL,
        &[
            ("CREATE TABLE t (a INT)", "ddl commits"),
            ("CREATE TABLE t SELECT * FROM u", "ddl commits no_where no_limit select_star"),
            ("CREATE TABLE t (a INT, KEY k (a))", "ddl commits"),
            ("CREATE TEMPORARY TABLE t (a INT)", "ddl"),
            ("CREATE OR REPLACE TEMPORARY TABLE t (a INT)", "ddl"),
            ("DROP TEMPORARY TABLE t", "ddl"),
            ("DROP TABLE t", "ddl commits"),
            ("ALTER TABLE t ADD b INT", "ddl commits"),
            ("ALTER VIEW v AS SELECT 1", "ddl commits"),
            ("RENAME TABLE a TO b", "ddl commits"),
            ("TRUNCATE t", "ddl commits"),
            ("CREATE USER u", "ddl commits"),
            ("GRANT SELECT ON *.* TO u", "ddl commits"),
            ("REVOKE SELECT ON *.* FROM u", "ddl commits"),
            ("SET PASSWORD = 'x'", "ddl commits"),
            ("SET PASSWORD FOR u = 'x'", "ddl commits"),
            ("SET DEFAULT ROLE NONE TO u", "ddl commits"),
            ("CREATE PROCEDURE p() BEGIN DELETE FROM t; COMMIT; END", "ddl commits"),
            (
                "CREATE PROCEDURE IF NOT EXISTS `d`.p(INOUT a ENUM('x'), b DECIMAL(1, 2)) BEGIN COMMIT; END;",
                "ddl commits",
            ),
            (
                "CREATE DEFINER=a@b FUNCTION f(a INT) RETURNS VARCHAR(9) CHARSET utf8mb4 COLLATE utf8mb4_bin \
                 COMMENT 'BEGIN' NOT DETERMINISTIC READS SQL DATA SQL SECURITY INVOKER BEGIN COMMIT; RETURN 1; END",
                "ddl commits",
            ),
            // Here the body is another, or ends before the text does.
            ("CREATE PROCEDURE p() SELECT begin; COMMIT; END", "ddl ends commits crosses"),
            ("CREATE PROCEDURE begin() SELECT 1; COMMIT; END", "ddl ends commits crosses"),
            ("CREATE PROCEDURE p(begin INT) SET @a = begin; COMMIT; END", "ddl ends commits crosses"),
            ("CREATE DEFINER=procedure VIEW v AS SELECT 1 begin; COMMIT; END", "ddl ends commits crosses"),
            ("CREATE PROCEDURE p() BEGIN DO 1; END; COMMIT", "ddl ends commits crosses"),
            ("CREATE PROCEDURE p() BEGIN DO 1; END; COMMIT; END", "ddl ends commits crosses"),
            ("CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT do begin; COMMIT; END", "ddl ends commits crosses"),
            (
                "CREATE DEFINER=a@b TRIGGER x BEFORE INSERT ON t FOR EACH ROW BEGIN SET @a = 1; END; COMMIT",
                "ddl ends commits crosses",
            ),
            ("CREATE LIBRARY l LANGUAGE JAVASCRIPT AS $$ f('); COMMIT; $$", "ddl commits crosses lock"),
            ("IMPORT TABLE FROM 'x'", "ddl commits"),
            ("INSTALL PLUGIN x SONAME 'y'", "ddl commits"),
            ("CLONE LOCAL DATA DIRECTORY 'x'", "ddl commits"),
            ("SHUTDOWN", "ddl commits"),
            ("CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'x'", "ddl commits"),
            ("OPTIMIZE TABLE t", "ddl commits"),
            ("REPAIR TABLE t", "ddl commits"),
            ("ANALYZE TABLE t", "write commits"),
            ("ANALYZE LOCAL TABLE t UPDATE HISTOGRAM ON a", "write commits"),
            ("CHECK TABLE t", "write commits"),
            ("CACHE INDEX t IN c", "write commits"),
            ("LOAD INDEX INTO CACHE t", "write commits"),
            ("FLUSH TABLES", "write commits"),
            ("FLUSH LOCAL PRIVILEGES", "write commits"),
            ("FLUSH TABLES WITH READ LOCK", "write commits lock"),
            ("FLUSH TABLES t FOR EXPORT", "write commits lock"),
            ("RESET BINARY LOGS AND GTIDS", "write commits"),
            ("RESET PERSIST", "write"),
            ("START REPLICA", "write commits"),
            ("STOP REPLICA", "write commits"),
            ("LOCK TABLES t WRITE", "write commits lock"),
            ("LOCK INSTANCE FOR BACKUP", "write lock"),
            ("UNLOCK TABLES", "control free commits"),
            ("UNLOCK INSTANCE", "control free"),
        ],
    );
}

#[test]
fn control() {
    check(
        MYSQL,
        &[
            ("", "control free"),
            (" ;; /* x */ -- y", "control free"),
            ("BEGIN", "control free begins"),
            ("begin work;", "control free begins"),
            ("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY", "control free begins"),
            ("COMMIT", "control free ends"),
            ("COMMIT AND NO CHAIN NO RELEASE", "control free ends"),
            ("COMMIT WORK AND CHAIN", "control free begins"),
            ("ROLLBACK", "control free ends"),
            ("ROLLBACK AND CHAIN", "control free begins"),
            ("ROLLBACK TO SAVEPOINT a", "control free"),
            ("ROLLBACK WORK TO a", "control free"),
            ("SAVEPOINT a", "control free"),
            ("RELEASE SAVEPOINT a", "control free"),
            ("XA START 'x'", "control free begins"),
            ("XA BEGIN 'x'", "control free begins"),
            ("XA END 'x'", "control free"),
            ("XA PREPARE 'x'", "control free ends"),
            ("XA COMMIT 'x' ONE PHASE", "control free ends"),
            ("XA ROLLBACK 'x'", "control free ends"),
            ("XA RECOVER", "control free"),
            ("SET autocommit = 1", "control free ends"),
            ("SET @@session.autocommit = ON, names utf8mb4", "control free ends"),
            ("SET @x = 1, LOCAL `autocommit` := 1", "control free ends"),
            // Nothing ends with it (checked).
            ("SET autocommit = 0", "control free"),
            ("SET GLOBAL autocommit = 1", "control free"),
            ("SET @autocommit = 1", "control free"),
            ("SET TRANSACTION ISOLATION LEVEL READ COMMITTED", "control free"),
            ("SET ROLE NONE", "control free"),
            ("SHOW VARIABLES LIKE 'a%'", "control free"),
            ("SHOW CREATE TABLE t", "control free"),
            ("SHOW FULL COLUMNS FROM t FROM db LIKE 'x'", "control free"),
            ("SHOW GRANTS FOR CURRENT_USER()", "control free"),
            ("SHOW VARIABLES WHERE variable_name = 'port' OR variable_name IN ('a', 'b')", "control free"),
            ("SHOW COUNT(*) WARNINGS", "control free"),
            ("USE db", "control free"),
            ("KILL 5", "control free"),
            ("KILL QUERY CONNECTION_ID()", "control free"),
            ("HELP 'select'", "control free"),
            ("GET DIAGNOSTICS @n = NUMBER", "control free"),
            ("SIGNAL SQLSTATE '45000'", "control free"),
            ("DESCRIBE t", "control free"),
            ("DESC db.t 'a%'", "control free"),
            // The optimiser reads rows by unique keys, and shows them.
            ("EXPLAIN SELECT * FROM t WHERE a = ABS(1)", "read"),
            ("EXPLAIN FORMAT=JSON INTO @v FOR SCHEMA x DELETE FROM t WHERE id = 1", "read"),
            ("EXPLAIN INSERT INTO t (a) VALUES (1)", "read"),
            ("EXPLAIN SELECT 1", "control free"),
            ("EXPLAIN FOR CONNECTION 5", "control free"),
            ("PREPARE s FROM 'DELETE FROM t'", "control free"),
            ("PREPARE s FROM @x", "control free"),
            ("DEALLOCATE PREPARE s", "control free"),
            ("DROP PREPARE s", "control free"),
        ],
    );
}

/// What drivers, pools and frameworks send on connect and to keep a connection alive.
#[test]
fn the_connect_storm_is_free() {
    check(
        MYSQL,
        &[
            ("SELECT 1", "read free"),
            ("/* ping */ SELECT 1", "read free"),
            ("SELECT 1 FROM DUAL", "read free"),
            ("SELECT 1 AS x FROM dual WHERE 1 = 1 LIMIT 1", "read free"),
            ("SELECT @@version_comment LIMIT 1", "read free"),
            (
                "/* mysql-connector-j-8.3.0 */SELECT @@session.auto_increment_increment AS auto_increment_increment, \
                 @@character_set_client AS character_set_client, @@init_connect AS init_connect",
                "read free",
            ),
            ("SELECT DATABASE(), USER() LIMIT 1", "read free"),
            ("SELECT VERSION()", "read free"),
            ("SELECT CAST('test plain returns' AS CHAR(60)) AS anon_1", "read free"),
            ("SELECT CONCAT(@@hostname, ':', @@port)", "read free"),
            ("SELECT TIMEDIFF(NOW(), UTC_TIMESTAMP())", "read free"),
            ("SELECT 1 UNION ALL SELECT 2", "read free"),
            ("SELECT CONNECTION_ID(), LAST_INSERT_ID(), FOUND_ROWS(), ROW_COUNT()", "read free"),
            ("SELECT RELEASE_LOCK('migrations')", "read free"),
            ("DO RELEASE_ALL_LOCKS()", "read free"),
            ("DO 1", "read free"),
            ("SET NAMES utf8mb4", "control free"),
            ("SET character_set_results = NULL, sql_mode = 'STRICT_TRANS_TABLES'", "control free"),
            (
                "SET @@SESSION.sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES'), @@SESSION.wait_timeout = 2147483",
                "control free",
            ),
            ("SET SESSION sql_mode = (SELECT REPLACE(@@sql_mode, 'ONLY_FULL_GROUP_BY', ''))", "control free"),
            ("SET @@sql_mode = CONCAT(REPLACE(REPLACE(@@sql_mode, 'A', ''), 'B', \"\"), ',C')", "control free"),
            ("SET @OLD_SQL_NOTES=@@SQL_NOTES, SQL_NOTES=0", "control free"),
            ("SET SESSION TRANSACTION READ ONLY", "control free"),
            ("SELECT @@SESSION.transaction_isolation, @@GLOBAL.read_only, @x", "read free"),
            ("VALUES ROW(1)", "read free"),
        ],
    );
}

#[test]
fn what_works_is_not_free() {
    check(
        MYSQL,
        &[
            ("SELECT SLEEP(9)", "read"),
            ("SELECT 1 + SLEEP (9)", "read"),
            ("SELECT `sleep`(9)", "read"),
            ("DO SLEEP(9)", "read"),
            ("SELECT BENCHMARK(1e9, 1)", "read"),
            ("SELECT 1 UNION SELECT SLEEP(1)", "read"),
            ("SELECT IF(1, SLEEP(1), 2)", "read"),
            ("SELECT (SELECT SLEEP(1))", "read"),
            ("SELECT 1 WHERE 'aaaaaaaa' REGEXP '(a*)*b'", "read"),
            ("SELECT 'a' LIKE '%a%a%a%b'", "read"),
            ("SELECT REPEAT('a', 1000000), SPACE(9), RPAD('a', 9, 'b')", "read"),
            ("SELECT CAST('a' AS BINARY(100000000))", "read"),
            ("SELECT CONVERT('a', BINARY(100000000))", "read"),
            ("SELECT REPLACE('aaaa', 'a', 'aaaaaaaaaa')", "read"),
            ("SET @a = CONCAT(@a, @a)", "read"),
            ("SELECT CONCAT('x', CONCAT(@a))", "read"),
            ("SELECT 1 FROM `dual`", "read no_where no_limit"),
            ("SELECT (TABLE t)", "read"),
            ("SELECT 1 FROM {oj a LEFT JOIN b ON 1}", "read no_where no_limit"),
            ("SELECT {fn SLEEP(1)}", "read"),
            ("SELECT {fn f(1)}", "read doubt"),
            ("SELECT EXTRACT(YEAR FROM NOW())", "read"),
            ("SET @a = (SELECT a FROM t)", "read"),
            ("SET @a = SLEEP(1)", "read"),
            ("SET @a = 1, @b = (SELECT a FROM t LIMIT 1 FOR UPDATE)", "write"),
            ("SET SESSION sql_mode = (SELECT @@sql_mode FROM t)", "read"),
            ("SET @a = 'x' RLIKE 'y'", "read"),
            ("SHOW TABLES WHERE SLEEP(1)", "read"),
            ("SHOW VARIABLES WHERE variable_name = (SELECT a FROM t)", "read"),
            ("SHOW STATUS WHERE 1 = (SELECT 1 FROM t FOR UPDATE)", "write"),
            ("SHOW STATUS WHERE 'aaa' LIKE '%a%a%b'", "read"),
            ("KILL (SELECT 5 FROM t)", "read"),
            ("EXPLAIN SELECT * FROM (SELECT SLEEP(1) x) d WHERE x = 1", "read"),
            ("EXPLAIN SELECT * FROM (SELECT COUNT(*) x FROM t FOR UPDATE) d", "write"),
            ("EXPLAIN WITH c AS (SELECT 1) SELECT * FROM c", "read"),
            ("EXPLAIN SELECT GET_LOCK('a', 1)", "write lock"),
            ("EXPLAIN ANALYZE SELECT 1 FROM t WHERE a LIMIT 1", "read"),
            ("EXPLAIN ANALYZE FORMAT=JSON INTO @x FOR SCHEMA y SELECT SLEEP(1)", "read"),
            ("EXPLAIN ANALYZE (SELECT a FROM t WHERE x LIMIT 1)", "read"),
            ("DESC ANALYZE DELETE a FROM a JOIN b WHERE 1", "write no_limit"),
            ("EXPLAIN ANALYZE UPDATE a JOIN b SET a.x = 1", "write no_where no_limit"),
        ],
    );
}

#[test]
fn functions_of_somebody_else() {
    check(
        MYSQL,
        &[
            ("CALL p()", "call"),
            ("CALL db.p(f(1), @x)", "call"),
            ("SELECT f()", "read doubt"),
            ("SELECT f(a) FROM t WHERE x LIMIT 1", "read doubt"),
            ("SELECT db.f()", "call"),
            ("SELECT `db`.`f` (1)", "call"),
            ("SELECT a FROM t WHERE x = db . f(1) LIMIT 1", "call"),
            ("DO f()", "read doubt"),
            ("SET @a = f()", "read doubt"),
            ("SET @a = db.f()", "call"),
            ("SHOW TABLES WHERE f()", "read doubt"),
            ("EXPLAIN SELECT f()", "read doubt"),
            ("EXPLAIN SELECT db.f()", "call"),
            ("INSERT INTO t (a) VALUES (f(1))", "write doubt"),
            ("INSERT INTO t SET a = f(1)", "write doubt"),
            ("INSERT INTO f (a) VALUES (1)", "write"),
            ("UPDATE t SET a = db.f(1) WHERE id = 1 LIMIT 1", "call"),
            ("LOAD DATA INFILE 'x' INTO TABLE t (a) SET b = f(a)", "write doubt"),
            ("HANDLER t READ FIRST WHERE db.f(1)", "call"),
            // A name in quotes is the server's own only if it is no word of the grammar, and some are only without a space
            // before the parenthesis (all checked).
            ("SELECT ABS(1), abs (1), `abs`(1)", "read"),
            ("SELECT NOW()", "read free"),
            ("SELECT NOW ()", "read doubt"),
            ("SELECT `now`()", "read doubt"),
            ("SELECT COUNT(1), COUNT/**/(1)", "read doubt"),
            ("SELECT DATABASE ()", "read free"),
            ("SELECT `database`()", "read doubt"),
            ("SELECT `if`(1, 2, 3)", "read doubt"),
            ("SELECT \"sleep\"(9)", "read"),
            ("SELECT \"f\"(9)", "read doubt"),
            ("SELECT \"db\".\"f\"(9)", "call"),
            ("SELECT SQL_NO_CACHE f(1)", "read doubt"),
            ("SELECT HIGH_PRIORITY f(1)", "read doubt"),
            ("SELECT 1 FROM t WHERE x NOT IN (f(1)) LIMIT 1", "read doubt"),
            ("SELECT CASE WHEN (1) THEN f(1) END", "read doubt"),
            ("SELECT asynchronous_connection_failover_reset()", "read doubt"),
            ("SELECT keyring_key_store('a', 'b', 'c')", "read doubt"),
            ("SELECT NEXTVAL(s)", "read doubt"),
            // MySQL takes no keyword for a function's name.
            ("SELECT action(1)", "read"),
            ("SELECT md5('x')", "read doubt"),
            ("CREATE TABLE t (a INT DEFAULT (f(1)))", "ddl commits"),
            ("CREATE TABLE t SELECT f(1)", "ddl commits doubt no_where no_limit select_star"),
            ("CREATE TABLE t VALUES ROW(f(1))", "ddl commits doubt"),
            ("CREATE TABLE t (a INT) PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1))", "ddl commits"),
        ],
    );
    check(
        MARIADB,
        &[
            ("SELECT action(1)", "read doubt"),
            ("SELECT md5('x')", "read"),
            ("SELECT NEXTVAL(s)", "write"),
            ("SELECT SETVAL(s, 5)", "write"),
            ("SELECT NEXT VALUE FOR s", "write"),
            ("SELECT s.nextval", "write"),
            ("SELECT LASTVAL(s)", "read"),
            ("SELECT PREVIOUS VALUE FOR s", "read"),
            ("EXPLAIN SELECT NEXTVAL(s)", "write"),
            ("SHOW TABLES WHERE NEXTVAL(s) > 1", "write"),
            ("SELECT a FROM t WHERE x LIMIT ROWS EXAMINED 10", "read no_limit"),
            ("SELECT a FROM t WHERE x LIMIT 1 ROWS EXAMINED 10", "read"),
            ("SELECT UNIQUE * FROM t WHERE x LIMIT 1", "read select_star"),
            ("SET @a = 1, PASSWORD FOR u = PASSWORD('x')", "ddl commits"),
            ("SET autocommit = 1, DEFAULT ROLE r FOR u", "ddl commits"),
            ("SELECT RANK() OVER (ORDER BY a) FROM t WHERE x LIMIT 1", "read"),
            ("SELECT RANK () OVER (ORDER BY a) FROM t WHERE x LIMIT 1", "read doubt"),
            ("SELECT `database`()", "read free"),
        ],
    );
    let older = Mode { server: Server::MySql(80_036), ..MYSQL };
    check(older, &[("SELECT md5('x')", "read"), ("SELECT f('x')", "read doubt")]);
    let unknown = Mode { server: Server::Unknown, ..MYSQL };
    check(
        unknown,
        &[("SELECT md5('x')", "read doubt"), ("SELECT action(1)", "read doubt"), ("SELECT now()", "read free")],
    );
}

#[test]
fn prepared_by_name() {
    check(
        MYSQL,
        &[
            ("EXECUTE s", "unparsed"),
            ("EXECUTE s USING @a, @b", "unparsed"),
            ("PREPARE s FROM 'DELETE FROM t'; EXECUTE s", "unparsed"),
            ("EXECUTE IMMEDIATE @x", "unparsed"),
        ],
    );
    check(
        MARIADB,
        &[
            ("EXECUTE IMMEDIATE 'SELECT a FROM t'", "read"),
            ("EXECUTE IMMEDIATE 'DELETE FROM t WHERE a = ?' USING 5", "write"),
            ("EXECUTE IMMEDIATE 'DR\\OP TABLE `t`'", "ddl commits"),
            ("EXECUTE IMMEDIATE 'SELECT ''x'' FROM t'", "read"),
            ("EXECUTE IMMEDIATE 'COMMIT'", "read ends"),
            ("EXECUTE IMMEDIATE 'SELECT f()'", "read doubt"),
            ("EXECUTE IMMEDIATE 'SELECT 1' 'x'", "unparsed"),
            ("SET STATEMENT sql_mode = '' FOR EXECUTE IMMEDIATE 'SELECT 1'", "unparsed"),
            ("SET STATEMENT sql_mode = '' FOR EXECUTE s", "unparsed"),
            ("EXECUTE IMMEDIATE CONCAT('DELETE', ' FROM t')", "unparsed"),
            ("EXECUTE IMMEDIATE 'EXECUTE IMMEDIATE ''DROP TABLE t'''", "unparsed"),
            ("PREPARE s FROM CONCAT('x')", "control free"),
            ("PREPARE s FROM f()", "read doubt"),
        ],
    );
}

#[test]
fn several_statements() {
    check(
        MYSQL,
        &[
            ("SELECT 1; SELECT 2", "read free"),
            ("SELECT 1; DELETE FROM t WHERE id = 1 LIMIT 1", "write"),
            (";;DELETE FROM t WHERE id = 1 LIMIT 1;", "write"),
            ("DELETE FROM t WHERE id = 1 LIMIT 1; SELECT 1", "write"),
            ("DROP TABLE t; SELECT 1", "ddl commits"),
            ("BEGIN; UPDATE t SET a = 1 WHERE b LIMIT 1", "write begins crosses"),
            ("COMMIT; BEGIN; UPDATE t SET a = 1 WHERE b LIMIT 1", "write begins crosses"),
            ("BEGIN; SELECT 1; COMMIT", "read free ends"),
            ("UPDATE t SET a = 1 WHERE b LIMIT 1; COMMIT", "write ends"),
            ("CREATE TABLE t (a INT); INSERT INTO t VALUES (1)", "ddl commits crosses"),
            ("SET autocommit = 1; SELECT a FROM t WHERE b LIMIT 1", "read ends crosses"),
            ("COMMIT; ROLLBACK TO a", "control free ends"),
            ("SELECT f(); DROP TABLE t", "ddl commits doubt"),
            ("SELECT ';'; -- ; DELETE FROM t\nSELECT 2", "read free"),
        ],
    );
    assert_eq!(scan(b"SELECT 1;;SELECT 2;", MYSQL).statements, 2);
    assert_eq!(scan("SELECT 1;".repeat(300).as_bytes(), MYSQL).statements, 255);
}

#[test]
fn what_nobody_can_read() {
    check(
        MYSQL,
        &[
            ("BEGIN NOT ATOMIC DELETE FROM t WHERE 1 LIMIT 1", "unparsed"),
            ("IF 1 THEN SELECT 1", "unparsed"),
            ("label: LOOP", "unparsed"),
            ("DECLARE x INT", "unparsed"),
            ("1", "unparsed"),
            ("'x'", "unparsed"),
            ("`select` 1", "unparsed"),
            ("(DELETE FROM t)", "unparsed"),
            ("(1)", "unparsed"),
            ("DELIMITER //", "unparsed"),
            ("SELEC 1", "unparsed"),
            ("a_word_that_is_longer_than_any_verb", "unparsed"),
            ("XA NOTHING", "unparsed"),
            ("DEALLOCATE x", "unparsed"),
            ("ANALYZE x", "unparsed"),
            ("GET x", "unparsed"),
        ],
    );
}

#[test]
fn words_of_mariadb() {
    check(
        MARIADB,
        &[
            ("ANALYZE SELECT a FROM t WHERE x LIMIT 1", "read"),
            ("ANALYZE FORMAT=JSON UPDATE t SET a = 1", "write no_where no_limit"),
            ("ANALYZE TABLE t", "write commits"),
            ("SET STATEMENT max_statement_time = 1 FOR DELETE FROM t", "write no_where no_limit"),
            ("SET STATEMENT a = 1, b = 2 FOR SELECT 1", "read free"),
            ("SET STATEMENT a = f() FOR SELECT 1", "unparsed"),
            ("SET STATEMENT a = 1 FOR SET STATEMENT b = 1 FOR DROP TABLE t", "ddl commits"),
            (
                "SET STATEMENT a=1 FOR SET STATEMENT a=1 FOR SET STATEMENT a=1 FOR SET STATEMENT a=1 FOR SELECT 1",
                "unparsed",
            ),
            ("VALUES (1, 2)", "read free"),
            ("BACKUP STAGE START", "write commits lock"),
            ("BACKUP STAGE END", "control free"),
            ("BACKUP LOCK t", "write commits lock"),
            ("BACKUP UNLOCK", "control free"),
            ("BEGIN NOT ATOMIC SELECT 1; DROP TABLE t; END", "ddl commits crosses"),
            ("/*M! DELETE FROM t */", "write no_where no_limit"),
            ("DELETE FROM t WHERE a LIMIT 1 RETURNING a", "write"),
        ],
    );
}
