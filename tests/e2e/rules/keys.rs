//! Every key of a rule's `match`, before a real server: whom it concerns, and whom not.

use sandbox::{APP, ETL, Login};
use serde_json::{Value, json};

use super::trust::{Pairs, ask, login};
use super::{AT_ONCE, Answer, primary, ruled, table};
use crate::change_user::change;
use crate::harness::{Raw, Tollgate};

/// Who asks what.
#[derive(Debug, Clone)]
struct Asked {
    login: Login,
    attributes: Pairs,
    /// What it does first.
    first: &'static str,
    query_attributes: Pairs,
    sql: &'static str,
}

/// A plain read of nobody in particular.
fn plain() -> Asked {
    let sql = "SELECT id FROM test.keys_a WHERE id = 1 LIMIT 1";
    Asked { login: APP, attributes: Vec::new(), first: "SELECT 1", query_attributes: Vec::new(), sql }
}

fn text(sql: &'static str) -> Asked {
    Asked { sql, ..plain() }
}

/// Rules that stop what matches, each with what matches and what does not.
fn cases() -> Vec<(Value, Vec<Asked>, Vec<Asked>)> {
    let etl = Asked { login: ETL, ..plain() };
    let loader = Asked { attributes: vec![("program_name", "loader")], ..plain() };
    let job = Asked { query_attributes: vec![("job", "7")], ..plain() };
    let using = |first| Asked { first, sql: "SELECT id FROM keys_a WHERE id = 1 LIMIT 1", ..plain() };
    let tagged = text("SELECT id FROM test.keys_a WHERE id = 1 LIMIT 1 /*team='data'*/");
    let write = text("UPDATE test.keys_a SET step = 1 WHERE id = 1");
    let other_table = text("SELECT id FROM test.keys_b WHERE id = 1 LIMIT 1");
    vec![
        (json!({ "user": "etl" }), vec![etl.clone()], vec![plain()]),
        (json!({ "user": ["nobody", "etl"] }), vec![etl.clone()], vec![plain()]),
        (json!({ "scope": "load*" }), vec![loader.clone()], vec![plain()]),
        (json!({ "address": "127.0.0.0/8" }), vec![plain()], vec![]),
        (json!({ "address": ["10.0.0.0/8", "::/0"] }), vec![], vec![plain()]),
        (json!({ "listener": "main" }), vec![plain()], vec![]),
        (json!({ "listener": "other" }), vec![], vec![plain()]),
        (json!({ "schema": "test" }), vec![using("USE test")], vec![plain(), text("SELECT 1 FROM test.keys_a")]),
        (
            json!({ "class": ["write", "ddl"] }),
            vec![write.clone(), text("CREATE TABLE test.keys_c (a INT)")],
            vec![plain()],
        ),
        (
            json!({ "fingerprint": "SELECT id FROM test.keys_a WHERE id = 4711 LIMIT 5" }),
            vec![plain(), text("select  id\nFROM test.keys_a WHERE id=7 /* x */ LIMIT 2")],
            vec![other_table.clone(), text("SELECT id FROM test.keys_a WHERE step = 1 LIMIT 1")],
        ),
        (
            json!({ "table": "test.keys_a" }),
            vec![plain(), using("USE test"), text("SELECT 1 FROM test.keys_b AS b JOIN test.keys_a AS a USING (id)")],
            vec![other_table.clone()],
        ),
        (json!({ "shape": "no_where" }), vec![text("SELECT id FROM test.keys_a LIMIT 1")], vec![plain()]),
        (json!({ "shape": "no_limit" }), vec![text("SELECT id FROM test.keys_a WHERE id = 1")], vec![plain()]),
        (
            json!({ "shape": "select_star" }),
            vec![text("SELECT * FROM test.keys_a WHERE id = 1 LIMIT 1")],
            vec![plain()],
        ),
        (
            json!({ "tool": "gh-ost" }),
            vec![text("SELECT /* gh-ost `test`.`keys_a` */ id FROM test.keys_a WHERE id = 1 LIMIT 1")],
            vec![plain(), text("SELECT 'gh-ost' FROM test.keys_a WHERE id = 1 LIMIT 1")],
        ),
        (
            json!({ "tool": "mysqldump" }),
            vec![Asked { attributes: vec![("program_name", "mysqldump")], ..plain() }],
            vec![loader.clone()],
        ),
        (json!({ "attr.program_name": "loader" }), vec![loader.clone()], vec![plain()]),
        (json!({ "tag.team": "data" }), vec![tagged.clone()], vec![plain(), loader.clone()]),
        (json!({ "query_attr.job": "7" }), vec![job.clone()], vec![plain()]),
        (json!({ "user": "app", "not": { "class": "read" } }), vec![write.clone()], vec![plain(), etl.clone()]),
        (json!({ "user": "app", "class": "write", "tag.team": "data" }), vec![], vec![tagged, write, etl]),
    ]
}

fn answer_to(tollgate: &Tollgate, asked: &Asked) -> Answer {
    let mut raw = login(tollgate, asked.login, &asked.attributes);
    assert_eq!(ask(&mut raw, &[], asked.first), Answer::Done, "{asked:?}");
    ask(&mut raw, &asked.query_attributes, asked.sql)
}

#[test]
fn every_key_concerns_whom_it_names() {
    table("keys_a");
    table("keys_b");
    let tollgate = ruled(&format!("listen: {{ address: \"127.0.0.1:0\", name: main }}\n{AT_ONCE}"));
    for (matching, hits, misses) in cases() {
        tollgate
            .add_rule(&json!({ "id": "stop", "match": matching, "do": { "rejection_ratio": 1 }, "reason": "test" }));
        for asked in hits {
            let answer = answer_to(&tollgate, &asked);
            assert!(answer.is_refused(), "{matching} does not concern {asked:?}: {answer:?}");
        }
        for asked in misses {
            assert_eq!(answer_to(&tollgate, &asked), Answer::Done, "{matching} concerns {asked:?}");
        }
        tollgate.end_rule("stop");
    }
}

#[test]
fn a_changed_user_is_another_one_to_the_rules() {
    let rule = "rules:\n- { id: etl-stops, match: { user: etl }, do: { rejection_ratio: 1 }, permanent: true }\n";
    let tollgate = ruled(&format!("{AT_ONCE}{rule}"));
    // The server's cache of passwords is warm, so that a change needs no TLS.
    Raw::login(primary().address(), ETL);
    let mut raw = login(&tollgate, APP, &[]);
    let read = "SELECT COUNT(*) FROM mysql.plugin";
    for (user, refused) in [(None, false), (Some(ETL), true), (Some(APP), false), (Some(ETL), true)] {
        if let Some(user) = user {
            change(&mut raw, user, b"").expect("an OK");
        }
        assert_eq!(ask(&mut raw, &[], read).is_refused(), refused, "{user:?}");
    }
}

/// Whoever asks, what writes a heartbeat and nothing else passes: held back, it would look like lag.
#[test]
fn heartbeats_are_exempt_by_themselves() {
    table("keys_c");
    for sql in [
        "CREATE DATABASE IF NOT EXISTS percona",
        "CREATE TABLE IF NOT EXISTS percona.heartbeat (id INT PRIMARY KEY, ts VARCHAR(26))",
    ] {
        primary().root_sql(sql).expect("a table");
    }
    let rule = "rules:\n- { id: stop, match: { scope: \"*\" }, do: { rejection_ratio: 1 }, permanent: true }\n";
    let tollgate = ruled(&format!("{AT_ONCE}{rule}heartbeat_writers: {{ users: [etl] }}\n"));
    for (login, sql, refused) in [
        (APP, "REPLACE INTO percona.heartbeat VALUES (1, NOW())", false),
        (APP, "UPDATE percona.heartbeat SET ts = NOW() WHERE id = 1", false),
        (APP, "REPLACE INTO percona.heartbeat SELECT id, NOW() FROM test.keys_c", true),
        (APP, "SELECT COUNT(*) FROM test.keys_c", true),
        (ETL, "SELECT COUNT(*) FROM test.keys_c", false),
    ] {
        let answer = super::run(&mut Raw::login(tollgate.address, login), sql);
        assert_eq!(answer.is_refused(), refused, "{} {sql}: {answer:?}", login.user);
    }
}

/// The servers take the quotes off.
#[test]
fn login_name_in_quotes_is_the_same_user() {
    let yaml =
        "rules: [{ id: stop, match: { user: app }, do: { rejection_ratio: 1 }, action: reject, permanent: true }]\n";
    for server in [primary(), sandbox::mariadb_shared().expect("a MariaDB")] {
        let tollgate = Tollgate::start(&format!("{}{yaml}", crate::harness::upstream(server)));
        let quoted = Login { user: "'app'", ..APP };
        let mut direct = Raw::login(server.address(), quoted);
        assert_eq!(direct.value("SELECT CURRENT_USER()").as_deref(), Some("app@%"), "{:?}", server.flavor());
        let answer = super::run(&mut Raw::login(tollgate.address, quoted), "SELECT COUNT(*) FROM mysql.user");
        assert!(answer.is_refused(), "{:?}: {answer:?}", server.flavor());
    }
}
