//! Whatever is put around and between the words of a statement, its class does not get milder; and no bytes at all make
//! the scanner panic or say of a part more than of the whole.

use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// One statement, as words that may be set apart by anything that the server skips. The first must stay where it is.
const STATEMENTS: [(&str, Class); 30] = [
    ("SELECT a FROM t WHERE b = 'x'", Class::Read),
    ("SELECT a FROM t WHERE b = 1 FOR UPDATE", Class::Write),
    ("SELECT a FROM t LOCK IN SHARE MODE", Class::Write),
    ("SELECT a FROM t WHERE c IN ( SELECT d FROM u FOR SHARE )", Class::Write),
    ("SELECT a INTO OUTFILE 'x' FROM t", Class::Write),
    ("SELECT SLEEP( 9 )", Class::Read),
    ("SELECT GET_LOCK( 'a' , 9 )", Class::Write),
    ("SELECT d . f ( 1 )", Class::Call),
    ("DELETE FROM t", Class::Write),
    ("DELETE FROM t WHERE a = \"x\" LIMIT 1", Class::Write),
    ("WITH c AS ( SELECT 1 ) DELETE FROM t", Class::Write),
    ("WITH c AS ( SELECT 1 ) , d ( x ) AS ( SELECT 2 ) UPDATE t SET a = 1", Class::Write),
    ("INSERT INTO t ( a ) VALUES ( 1 ) , ( 2 )", Class::Write),
    ("REPLACE t SET a = 1", Class::Write),
    ("UPDATE t SET a = 'b' WHERE c", Class::Write),
    ("LOAD DATA INFILE 'x' INTO TABLE t", Class::Write),
    ("EXPLAIN ANALYZE DELETE t FROM t JOIN u", Class::Write),
    ("EXPLAIN ANALYZE SELECT a FROM t", Class::Read),
    ("EXPLAIN SELECT a FROM ( SELECT b FROM t ) d", Class::Read),
    ("CALL p ( 1 )", Class::Call),
    ("SET @a = ( SELECT b FROM t )", Class::Read),
    ("SET @a = ( SELECT b FROM t FOR UPDATE )", Class::Write),
    ("SHOW TABLES WHERE d . f ( )", Class::Call),
    ("DROP TABLE t", Class::Ddl),
    ("CREATE TABLE t ( a INT )", Class::Ddl),
    ("TRUNCATE t", Class::Ddl),
    ("GRANT ALL ON * . * TO u", Class::Ddl),
    ("LOCK TABLES t WRITE", Class::Write),
    ("FLUSH TABLES WITH READ LOCK", Class::Write),
    ("EXECUTE s", Class::Unparsed),
];

const GAPS: [&str; 14] = [
    " ",
    "\t\n\x0b\x0c\r ",
    "/**/",
    "/* SELECT 1 */",
    " /* ' \" ` */ ",
    "-- ' x\n",
    "--\t\"\n",
    "# ; COMMIT\n",
    " /*!99999 SELECT ' */ ",
    "/*! */",
    "/*!50000*/ ",
    "\n/*+ x */\n",
    "/*!99999 /* ' */ ' */",
    "/* ; */",
];

const BEFORE: [&str; 10] = [
    "",
    ";",
    ";; /* x */ ;",
    "SELECT 1;",
    "COMMIT;",
    "BEGIN;",
    "SET NAMES utf8mb4;",
    "/* a:b */",
    "SET @x = 'it''s; \\' DROP'; ",
    "PREPARE s FROM 'x';",
];

const AFTER: [&str; 8] =
    ["", ";", "; SELECT 1", "; COMMIT", " /* x='y' */", "; -- x", ";;;", "; SELECT ';', \"\\\\\", `;` -- '"];

fn pick<'a>(random: &mut StdRng, from: &[&'a str]) -> &'a str {
    from[random.random_range(0..from.len())]
}

fn recased(random: &mut StdRng, word: &str) -> String {
    let quoted = word.starts_with(['\'', '"', '`', '@']);
    let change = |byte: char| if random.random() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() };
    if quoted { word.to_owned() } else { word.chars().map(change).collect() }
}

fn dressed(random: &mut StdRng, statement: &str) -> String {
    let mut text = pick(random, &BEFORE).to_owned();
    let in_parentheses = statement.starts_with("SELECT") && !statement.contains("INTO");
    let parentheses = if in_parentheses { random.random_range(0..3) } else { 0 };
    text.push_str(&"(".repeat(parentheses));
    for (at, word) in statement.split(' ').enumerate() {
        if at > 0 {
            text.push_str(pick(random, &GAPS));
        }
        let word = recased(random, word);
        // Code of this server, in a comment that others skip. A word in two is none, so it is whole.
        match random.random_range(0..8) {
            0 => text.push_str(&format!("/*!{word}*/ ")),
            1 => text.push_str(&format!("/*!80000 {word} */")),
            _ => text.push_str(&word),
        }
    }
    text.push_str(&")".repeat(parentheses));
    text.push_str(pick(random, &AFTER));
    text
}

#[test]
fn no_dress_makes_a_statement_milder() {
    for seed in 0..20 {
        let mut random = StdRng::seed_from_u64(seed);
        for _ in 0..1000 {
            let (statement, class) = STATEMENTS[random.random_range(0..STATEMENTS.len())];
            let sql = dressed(&mut random, statement);
            let found = scan(sql.as_bytes(), MYSQL);
            assert!(
                found.class.strictness() >= class.strictness(),
                "seed {seed}: {} instead of {class}: {sql}",
                found.class
            );
            assert!(!found.free, "seed {seed}: {sql}");
            let plain = scan(statement.as_bytes(), MYSQL);
            assert!(
                found.takes_lock >= plain.takes_lock && found.commits_implicitly >= plain.commits_implicitly,
                "{sql}"
            );
            assert!(found.doubts.contains(plain.doubts), "{sql}");
        }
    }
}

/// Pieces that mean something to the scanner, and single bytes.
fn noise(random: &mut StdRng) -> Vec<u8> {
    let mut text = Vec::new();
    for _ in 0..random.random_range(0..30) {
        match random.random_range(0..6) {
            0 => text.push(random.random()),
            1 => text.extend_from_slice(pick(random, &GAPS).as_bytes()),
            2 => text.extend_from_slice(
                pick(random, &["'", "\"", "`", "\\", "(", ")", ";", ",", ".", "@", "*", "="]).as_bytes(),
            ),
            _ => {
                let (statement, _) = STATEMENTS[random.random_range(0..STATEMENTS.len())];
                let words: Vec<&str> = statement.split(' ').collect();
                text.extend_from_slice(pick(random, &words).as_bytes());
                text.push(b' ');
            }
        }
    }
    text
}

#[test]
fn any_bytes() {
    let servers = [Server::Unknown, Server::MySql(90_704), Server::MySql(50_700), Server::MariaDb(101_118)];
    for seed in 0..20 {
        let mut random = StdRng::seed_from_u64(seed);
        for _ in 0..2000 {
            let sql = noise(&mut random);
            let mode = Mode {
                no_backslash_escapes: random.random(),
                ansi_quotes: random.random(),
                brackets: false,
                server: servers[random.random_range(0..servers.len())],
                extent: if random.random() { Extent::Whole } else { Extent::Cut },
                charset: Charset::ALL[random.random_range(0..Charset::ALL.len())],
            };
            check_scan(&sql, mode, seed);
        }
    }
}

#[track_caller]
fn check_scan(sql: &[u8], mode: Mode, seed: u64) {
    let found = scan(sql, mode);
    let context = || format!("seed {seed}, {mode:?}: {:?}\n{found:?}", String::from_utf8_lossy(sql));
    for range in [&found.leading, &found.trailing].into_iter().chain(&found.infix).chain(&found.schema) {
        assert!(range.start <= range.end && range.end <= sql.len(), "{}", context());
    }
    assert!(found.leading.end <= found.trailing.start || found.statements == 0, "{}", context());
    // What is free is mild.
    assert!(!found.free || found.class.strictness() <= Class::Read.strictness(), "{}", context());
    assert!(!(found.free && (found.takes_lock || found.doubts.contains(Doubts::FUNCTIONS))), "{}", context());
    assert!(!found.takes_lock || found.class.locks_or_writes(), "{}", context());
    if mode.charset.is_multibyte() {
        assert!(found.leading.is_empty() && found.trailing.is_empty() && found.infix.is_none(), "{}", context());
    }
    // Whoever takes a lock by the other account takes one by this one.
    let mut state = crate::locks::LockKnowledge::default();
    state.settle(found.locks, false);
    state.settle(found.locks, true);
    assert!(!state.may_hold_any() || found.takes_lock, "{}", context());
}

/// Of a text that was cut, wherever, nothing is said that is milder than what the whole text is, up to `write`.
#[test]
fn cut_anywhere() {
    let mut random = StdRng::seed_from_u64(7);
    for (statement, _) in STATEMENTS {
        let sql = dressed(&mut random, statement);
        let whole = scan(sql.as_bytes(), MYSQL);
        for length in 0..=sql.len() {
            let cut = scan(&sql.as_bytes()[..length], Mode { extent: Extent::Cut, ..MYSQL });
            assert!(cut.class.locks_or_writes() && !cut.free && cut.trailing.is_empty(), "{length}: {sql}");
            assert!(
                cut.class.strictness() <= whole.class.strictness().max(Class::Write.strictness()),
                "{length}: {sql}"
            );
            check_scan(&sql.as_bytes()[..length], MYSQL, 7);
        }
    }
}

#[test]
fn long_texts_take_linear_time() {
    for piece in [
        b"(".as_slice(),
        b")",
        b";",
        b"SELECT ",
        b"f(",
        b"a.",
        b"(SELECT ",
        b"SET x=",
        b"SET sql_mode='\\';",
        b"EXECUTE s;\"\\[\xA0",
        b"/*!",
        b"\"\\",
        b"EXPLAIN ",
        b"WITH a AS (",
        b"@a,",
        b"UNION (",
        b"SET STATEMENT a=1 FOR ",
        b"EXECUTE IMMEDIATE '",
        b"SET sql_mode=1;'\\",
        b"'\x81\\",
        b"- ",
        b"VALUES (",
        b"CREATE DEFINER=",
        b"\xA0",
        b"?,",
        b"(1),",
        b"_utf8 ",
        b"...",
        b"IN (1),",
    ] {
        let sql = piece.repeat((1 << 19) / piece.len());
        for charset in [Charset::Plain, Charset::Latin, Charset::Gbk, Charset::Unknown] {
            let mode = Mode { charset, ..MYSQL };
            let _ = scan(&sql, mode);
            let _ = crate::fingerprint(&sql, mode);
            assert!(crate::normalize(&sql, mode, 100).len() <= 100);
        }
    }
}
