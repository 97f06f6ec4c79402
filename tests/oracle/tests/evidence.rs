//! Controls: packets whose effects are known must leave their evidence, or a campaign without failures proves nothing.

use oracle::campaign::{single_worker, start_server};
use oracle::case::{Case, Protocol};
use oracle::evidence::Happened;
use oracle::proxy::{Proxy, Rule};
use oracle::worker::Through;
use sandbox::{Flavor, Server};

/// What the server must be seen to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Deed {
    Nothing,
    Reads(&'static str),
    Writes(&'static str),
    /// A routine wrote its table.
    Routine,
    Ddl,
    Sleeps,
    UserLock,
    TableLock,
    GlobalLock,
    File,
}

const PACKETS: [(&str, Deed); 27] = [
    ("SELECT 1", Deed::Nothing),
    ("EXPLAIN SELECT * FROM secret", Deed::Nothing),
    ("EXPLAIN DELETE FROM secret", Deed::Nothing),
    ("SELECT * FROM secret", Deed::Reads("secret")),
    ("SELECT 1; SELECT * FROM secret; SELECT 2", Deed::Reads("secret")),
    ("EXPLAIN FORMAT=JSON SELECT 1; SELECT * FROM secret", Deed::Reads("secret")),
    ("SELECT * FROM vv", Deed::Reads("secret")),
    ("SET @v = (SELECT MAX(a) FROM secret)", Deed::Reads("secret")),
    ("HANDLER secret OPEN; HANDLER secret READ FIRST", Deed::Reads("secret")),
    ("UPDATE t SET a = 17", Deed::Writes("t")),
    ("SELECT 1; INSERT INTO t (id) VALUES (77)", Deed::Writes("t")),
    ("BEGIN; DELETE FROM t; ROLLBACK", Deed::Writes("t")),
    ("PREPARE s FROM 'UPDATE t SET a = 18'; EXECUTE s", Deed::Writes("t")),
    ("SELECT f()", Deed::Routine),
    ("SELECT now ()", Deed::Routine),
    ("SELECT * FROM v_f", Deed::Routine),
    ("CALL p()", Deed::Routine),
    ("UPDATE pub SET a = 19", Deed::Routine),
    ("CREATE TABLE x1 (id INT)", Deed::Ddl),
    ("PREPARE s FROM 'CREATE TABLE x2 (id INT)'; EXECUTE s", Deed::Ddl),
    ("CALL pd()", Deed::Ddl),
    ("SELECT SLEEP(0.001)", Deed::Sleeps),
    ("DO GET_LOCK('w$', 0)", Deed::UserLock),
    ("LOCK TABLES t WRITE", Deed::TableLock),
    ("LOCK TABLES t READ", Deed::TableLock),
    ("FLUSH TABLES WITH READ LOCK", Deed::GlobalLock),
    ("SELECT 1 INTO OUTFILE '@file'", Deed::File),
];

fn did(happened: &Happened, deed: Deed) -> bool {
    let access = |name: &str| happened.tables.iter().find(|((_, table), _)| table == name).map(|(_, access)| *access);
    let after = happened.after.clone().unwrap_or_default();
    match deed {
        Deed::Nothing => happened.tables.is_empty() && !happened.ran_write() && !happened.ran_ddl(),
        Deed::Reads(table) => access(table).is_some_and(|access| access.rows_read),
        Deed::Writes(table) => access(table).is_some_and(|access| access.rows_written),
        Deed::Routine => access("log").is_some_and(|access| access.rows_written) && happened.ran_routine(),
        Deed::Ddl => happened.ran_ddl(),
        Deed::Sleeps => happened.slept,
        Deed::UserLock => after.user_lock,
        Deed::TableLock => after.table_lock,
        Deed::GlobalLock => after.global_lock,
        Deed::File => happened.file_written,
    }
}

fn check(flavor: Flavor) {
    let server = start_server(flavor).expect("a server");
    check_through(&server, flavor, Through::Directly);
    // Without its binary the proxy is not tested, which the campaign through it says.
    let rule = Rule::Fingerprint;
    if let Some(proxy) = Proxy::start(&server, rule, 1).expect("a proxy") {
        check_through(&server, flavor, Through::Proxy(proxy.address.clone(), rule));
    }
}

fn check_through(server: &Server, flavor: Flavor, through: Through) {
    // Through a proxy the session is not asked what it holds.
    let is_seen = |deed| {
        let is_lock = matches!(deed, Deed::UserLock | Deed::TableLock | Deed::GlobalLock);
        matches!(through, Through::Directly) || !is_lock
    };
    let mut worker = single_worker(server, flavor, through.clone()).expect("a worker");
    let case = |text: &str, protocol| Case { protocol, ..Case::of(text) };
    // All in one batch, so that the effects of each must be told from those of its neighbours.
    let mut cases: Vec<Case> = PACKETS.iter().map(|(text, _)| case(text, Protocol::Text)).collect();
    let mut deeds: Vec<Deed> = PACKETS.iter().map(|(_, deed)| *deed).collect();
    for (text, deed) in [("UPDATE t SET a = 20", Deed::Writes("t")), ("DROP TABLE IF EXISTS x1", Deed::Ddl)] {
        cases.push(case(text, Protocol::Prepared));
        deeds.push(deed);
    }
    let outcomes = worker.run(&cases).expect("outcomes");
    assert_eq!(outcomes.len(), cases.len());
    for ((outcome, case), deed) in outcomes.iter().zip(&cases).zip(deeds) {
        let happened = outcome.happened.as_ref().expect("evidence");
        let text = String::from_utf8_lossy(&case.text);
        assert!(happened.error.is_none(), "{text}: {:?}", happened.error);
        let is_expected = !is_seen(deed) || did(happened, deed);
        assert!(is_expected, "{flavor} {through:?}: {text}: {deed:?} is not seen in {happened:#?}");
    }
}

#[test]
fn deeds_of_mysql_are_seen() {
    check(Flavor::Mysql);
}

#[test]
fn deeds_of_mariadb_are_seen() {
    check(Flavor::Mariadb);
}
