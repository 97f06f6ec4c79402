//! Every matching limit counts, wherever it comes from and in whatever order it was added; so does what passes for other
//! reasons.
//!
//! Statements run for as long as a test wants them to: they read a table that the test has locked on the server itself.

use std::sync::atomic::{AtomicUsize, Ordering};

use sandbox::{APP, ETL, Login};
use serde_json::{Value, json};

use super::{Answer, answer, primary, ruled, run, table, word};
use crate::harness::{Raw, RawOptions, Tollgate, process_list, read_err, wait_until};

const CLIENTS: usize = 6;

/// Statements with this marker that the server has begun and not answered.
fn at_work(marker: &str) -> usize {
    let list = process_list(primary());
    let sql =
        format!("SELECT COUNT(*) FROM {list} WHERE command = 'Query' AND user <> 'root' AND info LIKE '%{marker}%'");
    primary().root_sql(&sql).expect("the process list").trim().parse().expect("a number")
}

/// A table that nobody can read until this is dropped.
struct Locked(Raw);

impl Locked {
    fn table(name: &str) -> Locked {
        table(name);
        let mut raw = Raw::login(primary().address(), APP);
        assert_eq!(run(&mut raw, &format!("LOCK TABLES test.{name} WRITE")), Answer::Done);
        Locked(raw)
    }

    fn unlock(mut self) {
        assert_eq!(run(&mut self.0, "UNLOCK TABLES"), Answer::Done);
    }
}

fn asking(tollgate: &Tollgate, login: Login, sql: &str) -> Raw {
    let mut raw = Raw::login(tollgate.address, login);
    raw.query(sql);
    raw
}

/// Where a limit is written.
#[derive(Debug, Clone, Copy)]
enum From {
    File,
    Runtime,
}

fn add(tollgate: &Tollgate, rule: &Value, from: From) {
    match from {
        From::Runtime => {
            let mut rule = rule.clone();
            rule["reason"] = json!("test");
            tollgate.add_rule(&rule);
        }
        From::File => {
            tollgate.rewrite(|yaml| yaml.replacen("rules:\n", &format!("rules:\n{}", in_file(rule)), 1));
            assert_eq!(tollgate.post("/reload", "").0, 200);
        }
    }
}

/// JSON is YAML.
fn in_file(rule: &Value) -> String {
    let mut rule = rule.clone();
    rule["permanent"] = json!(true);
    format!("- {rule}\n")
}

/// Each pair in both orders, the second one from the file and added at run time.
fn pairs(wide: &Value, narrow: &Value) -> Vec<(Value, Value, From)> {
    let orders = [(wide, narrow), (narrow, wide)].into_iter();
    let pairs = orders.flat_map(|(first, second)| [From::File, From::Runtime].map(|from| (first, second, from)));
    pairs.map(|(first, second, from)| (first.clone(), second.clone(), from)).collect()
}

#[test]
fn added_limit_never_lets_more_run() {
    let wide = json!({ "id": "wide", "match": { "user": "etl" }, "do": { "max_concurrency": 2 }, "max_delay": "60s" });
    let narrow = json!({ "id": "narrow", "match": { "user": "etl", "class": "read" }, "do": { "max_concurrency": 2 },
                         "max_delay": "60s" });
    for (first, second, from) in pairs(&wide, &narrow) {
        let case = format!("{} and then {} ({from:?})", first["id"], second["id"]);
        let locked = Locked::table("limits_pair");
        let tollgate = ruled(&format!("rules:\n{}", in_file(&first)));
        let sql = "SELECT 'limits-pair', COUNT(*) FROM test.limits_pair";
        let mut clients: Vec<Raw> = (0..2).map(|_| asking(&tollgate, ETL, sql)).collect();
        wait_until(&format!("two run: {case}"), || at_work("limits-pair") == 2);
        add(&tollgate, &second, from);
        clients.extend((2..CLIENTS).map(|_| asking(&tollgate, ETL, sql)));
        wait_until(&format!("the others wait: {case}"), || tollgate.waiting() == 4);
        assert_eq!(at_work("limits-pair"), 2, "{case}");
        locked.unlock();
        clients.iter_mut().for_each(|client| assert_eq!(answer(client), Answer::Done, "{case}"));
        assert!(most_at_once(&tollgate) <= 2, "{case}");
    }
}

/// The most statements of six busy clients that the server shows at once.
fn most_at_once(tollgate: &Tollgate) -> usize {
    let (most, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut raw = Raw::login(tollgate.address, ETL);
                for _ in 0..20 {
                    let sql = "SELECT 'limits-busy', SLEEP(0.005) FROM test.limits_pair";
                    assert_eq!(run(&mut raw, sql), Answer::Done);
                }
                done.fetch_add(1, Ordering::Relaxed);
            });
        }
        while done.load(Ordering::Relaxed) < CLIENTS {
            most.fetch_max(sleeping("limits-busy"), Ordering::Relaxed);
        }
    });
    let most = most.into_inner();
    assert!(most > 0, "nothing was seen to run");
    most
}

/// A statement that has just been answered is in the list for a moment longer, but does not sleep.
fn sleeping(marker: &str) -> usize {
    let list = process_list(primary());
    let sql = format!("SELECT COUNT(*) FROM {list} WHERE state = 'User sleep' AND info LIKE '%{marker}%'");
    primary().root_sql(&sql).expect("the process list").trim().parse().expect("a number")
}

#[test]
fn overriding_limit_replaces_the_files() {
    let locked = Locked::table("limits_override");
    let tollgate = ruled(
        "rules:\n- { id: one, match: { user: etl }, do: { max_concurrency: 1 }, max_delay: 60s, permanent: true }\n",
    );
    tollgate.add_rule(&json!({ "id": "three", "match": { "user": "etl", "class": "read" }, "override": true,
                               "do": { "max_concurrency": 3 }, "max_delay": "60s", "reason": "test" }));
    let sql = "SELECT 'limits-override', COUNT(*) FROM test.limits_override";
    let mut clients: Vec<Raw> = (0..CLIENTS).map(|_| asking(&tollgate, ETL, sql)).collect();
    wait_until("three wait", || tollgate.waiting() == 3);
    wait_until("three run", || at_work("limits-override") == 3);
    locked.unlock();
    clients.iter_mut().for_each(|client| assert_eq!(answer(client), Answer::Done));
}

/// Whether a session was let in, or the rule that kept it out.
fn login(tollgate: &Tollgate) -> Result<Raw, String> {
    Raw::login_with(tollgate.address, ETL, &RawOptions::default()).map_err(|denied| {
        let (code, _, message) = read_err(&denied);
        assert_eq!(code, 1040, "{message}");
        word(&message, "rule").to_owned()
    })
}

#[test]
fn added_limit_never_lets_more_connect() {
    let wide = json!({ "id": "wide", "match": { "user": "etl" }, "do": { "max_connections": 2 } });
    let narrow = json!({ "id": "narrow", "match": { "user": "etl", "address": "127.0.0.0/8" },
                         "do": { "max_connections": 3 } });
    for (first, second, from) in pairs(&wide, &narrow) {
        let case = format!("{} and then {} ({from:?})", first["id"], second["id"]);
        let tollgate = ruled(&format!("rules:\n{}", in_file(&first)));
        let mut there: Vec<Raw> = (0..2).map(|_| login(&tollgate).expect(&case)).collect();
        add(&tollgate, &second, from);
        for _ in 0..2 {
            assert_eq!(login(&tollgate).err().as_deref(), Some("wide"), "{case}");
        }
        there.pop();
        wait_until("a place is free", || login(&tollgate).map(|raw| there.push(raw)).is_ok());
        assert_eq!(login(&tollgate).err().as_deref(), Some("wide"), "{case}");
        there.iter_mut().for_each(|raw| assert_eq!(run(raw, "SELECT 1"), Answer::Done, "{case}"));
    }
}

/// Ways to pass although there may be no room: who, and what comes before.
const WAYS: [(&str, Login, &[&str], &[&str]); 3] = [
    ("lock holder", ETL, &["LOCK TABLES test.limits_forced READ"], &["UNLOCK TABLES"]),
    ("writing transaction", ETL, &["BEGIN", "INSERT INTO test.limits_before (batch) VALUES (1)"], &["COMMIT"]),
    ("exempt user", APP, &[], &[]),
];

#[test]
fn units_that_pass_for_other_reasons_take_the_places_of_others() {
    table("limits_forced");
    table("limits_before");
    for (way, login, before, after) in WAYS {
        let tollgate = ruled(
            "rules:\n\
             - { id: one, match: { table: limits_forced }, do: { max_concurrency: 1 }, max_delay: 60s, permanent: true }\n\
             - { id: free, match: { user: app }, do: { exempt: true }, permanent: true }\n",
        );
        let mut server = Raw::login(primary().address(), APP);
        assert_eq!(run(&mut server, "SELECT GET_LOCK('limits-forced', 60)"), Answer::Done);
        let mut forced = Raw::login(tollgate.address, login);
        before.iter().for_each(|sql| assert_eq!(run(&mut forced, sql), Answer::Done, "{way}: {sql}"));
        // It waits on the server until the test lets go of the lock.
        forced.query("SELECT 'limits-forced', GET_LOCK('limits-forced', 60) FROM test.limits_forced LIMIT 1");
        wait_until(&format!("it runs: {way}"), || at_work("limits-forced") == 1);
        let mut other = asking(&tollgate, ETL, "SELECT 'limits-other', COUNT(*) FROM test.limits_forced");
        wait_until(&format!("the other one waits: {way}"), || tollgate.waiting() == 1);
        assert_eq!(at_work("limits-other"), 0, "{way}");
        assert_eq!(run(&mut server, "SELECT RELEASE_LOCK('limits-forced')"), Answer::Done);
        assert_eq!(answer(&mut forced), Answer::Done, "{way}");
        after.iter().for_each(|sql| assert_eq!(run(&mut forced, sql), Answer::Done, "{way}: {sql}"));
        assert_eq!(answer(&mut other), Answer::Done, "its place is returned: {way}");
    }
}
