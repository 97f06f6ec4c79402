//! Everyone yields but one: who can become that one.

use crate::stage::{At, Session, Setup, Stage};

const ALL_BUT_ONE: &[&str] = &["all | scope=* | ratio=1 reject", "one | scope=checkout | ratio=0"];

/// Login, text, and query attributes.
type Query = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Ways to be called `checkout` that are claims.
const CLAIMS: &[Query] = &[
    ("app program_name=checkout", "SELECT * FROM t", &[]),
    ("app tollgate_client=checkout", "SELECT * FROM t", &[]),
    ("app tollgate_client=x:checkout:y", "SELECT * FROM t", &[]),
    ("app", "/*app='checkout'*/ SELECT * FROM t", &[]),
    ("app", "SELECT * FROM t /*app='checkout'*/", &[]),
    ("app", "SELECT * FROM t /* app:checkout */", &[]),
    ("app", "/* client:checkout */ SELECT * FROM t", &[]),
    ("app", "SELECT * FROM t", &[("app", "checkout")]),
    ("app", "SELECT * FROM t", &[("tollgate_client", "checkout")]),
    ("app", "SELECT * FROM t /* app:other */", &[("app", "checkout")]),
];

/// What only looks like one.
const NO_CLAIMS: &[Query] = &[
    ("app", "SELECT * FROM t", &[]),
    ("app", "SELECT 'checkout', '/* app:checkout */' FROM t", &[]),
    ("app", "SELECT \"/*app='checkout'*/\" FROM t", &[]),
    ("app", "/*! app='checkout' */ SELECT * FROM t", &[]),
    ("app", "SELECT * FROM t /*! , checkout */", &[]),
    ("app", "SELECT * FROM t /*+ app:checkout */", &[]),
    ("app", "SELECT * FROM checkout", &[]),
    ("app", "SELECT checkout FROM `checkout`", &[]),
    ("app database=checkout", "SELECT * FROM t", &[]),
    ("app x=checkout", "SELECT * FROM t", &[]),
    ("app", "SELECT * FROM t", &[("user", "checkout")]),
    ("app", "/* app:checkout,app:other */ SELECT * FROM t", &[]),
];

async fn at(session: &mut Session, sql: &str, attributes: &[(&str, &str)]) -> At {
    let verdict = session.ask_with(sql.as_bytes(), attributes);
    session.sort(sql, verdict).await
}

#[tokio::test(start_paused = true)]
async fn nobody_becomes_the_favoured_one_by_saying_so() {
    let stage = Stage::new(ALL_BUT_ONE);
    assert_eq!(stage.login("checkout").at("SELECT * FROM t").await, At::Once);
    for (who, sql, attributes) in CLAIMS.iter().chain(NO_CLAIMS) {
        let mut session = stage.login(who);
        assert_eq!(at(&mut session, sql, attributes).await, At::Refused, "{who}: {sql} {attributes:?}");
    }
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn nor_by_preparing_it() {
    let stage = Stage::new(ALL_BUT_ONE);
    for (who, sql, _) in CLAIMS.iter().filter(|(.., attributes)| attributes.is_empty()) {
        let mut session = stage.login(who);
        let verdict = session.ask_prepared(sql);
        assert_eq!(session.sort(sql, verdict).await, At::Refused, "{who}: {sql}");
    }
}

#[tokio::test(start_paused = true)]
async fn nor_by_a_fresh_name_for_every_query() {
    let stage = Stage::new(ALL_BUT_ONE);
    let mut session = stage.login("app");
    for number in 0..3000 {
        let sql = format!("SELECT * FROM t /* app:checkout-{number} */");
        assert_eq!(session.at(&sql).await, At::Refused, "{sql}");
    }
    let names = stage.keeper.clients().len();
    assert!(names <= 2_502, "{names} names of one user are remembered");
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn who_is_trusted_says_who_it_is() {
    let stage = Setup::trusting("app").stage(ALL_BUT_ONE);
    for (who, sql, attributes) in CLAIMS {
        let mut session = stage.login(who);
        assert_eq!(at(&mut session, sql, attributes).await, At::Once, "{who}: {sql} {attributes:?}");
    }
    for (who, sql, attributes) in NO_CLAIMS {
        let mut session = stage.login(who);
        assert_eq!(at(&mut session, sql, attributes).await, At::Refused, "{who}: {sql} {attributes:?}");
    }
    // Another user's claims are not trusted for it.
    assert_eq!(stage.login("other").at("/*app='checkout'*/ SELECT * FROM t").await, At::Refused);
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn a_prepared_statement_keeps_what_its_text_says_and_an_execution_may_say_more() {
    let stage = Setup::trusting("app").stage(ALL_BUT_ONE);
    let mut session = stage.login("app");
    for (sql, at) in [("SELECT * FROM t /*app='checkout'*/", At::Once), ("SELECT * FROM t", At::Refused)] {
        let verdict = session.ask_prepared(sql);
        assert_eq!(session.sort(sql, verdict).await, at, "{sql}");
    }
    session.run("PREPARE s FROM 'SELECT * FROM t /* app:checkout */'").await.unwrap();
    assert_eq!(session.at("EXECUTE s").await, At::Once);
    assert_eq!(session.at("EXECUTE s /* app:other */").await, At::Refused);
}

#[tokio::test(start_paused = true)]
async fn a_claim_may_always_make_it_stricter() {
    let stage = Stage::new(&["strict | tag.team=data | ratio=1 reject", "attr | query_attr.job=x | ratio=1 reject"]);
    let mut session = stage.login("app");
    for (sql, attributes, expected) in [
        ("SELECT * FROM t /* team:data */", &[][..], At::Refused),
        ("SELECT * FROM t /* team:web */", &[], At::Once),
        ("SELECT * FROM t", &[], At::Once),
        ("SELECT * FROM t", &[("job", "x")], At::Refused),
        ("SELECT * FROM t /* team:web */", &[("team", "data")], At::Refused),
        // Who says both says neither.
        ("SELECT * FROM t /* team:data,team:web */", &[], At::Once),
    ] {
        assert_eq!(at(&mut session, sql, attributes).await, expected, "{sql} {attributes:?}");
    }
    assert!(stage.keeper.conflicts() > 0);
}

#[tokio::test(start_paused = true)]
async fn what_nobody_looks_at_makes_no_new_client() {
    let stage = Stage::new(&["r | tag.team=data | ratio=0"]);
    let mut session = stage.login("app");
    for number in 0..500 {
        let sql = format!("SELECT * FROM t /* request_id:{number},team:data */");
        assert_eq!(session.at(&sql).await, At::Once);
    }
    let counted = stage.counted("app", "app");
    assert_eq!((stage.keeper.clients().len(), counted.seen), (1, 500));
}

/// Under GBK the last byte of a character may be a backslash: no comment can be found for certain.
#[tokio::test(start_paused = true)]
async fn comments_do_not_count_where_the_character_set_may_hide_their_ends() {
    let stage = Setup::trusting("app").stage(ALL_BUT_ONE);
    let tagged = "/*app='checkout'*/ SELECT * FROM t";
    assert_eq!(stage.login("app").at(tagged).await, At::Once);
    assert_eq!(stage.login("app charset=gbk").at(tagged).await, At::Refused);

    let mut session = stage.login("app");
    for (sql, succeeded, expected) in [
        ("SET NAMES gbk", true, At::Refused),
        ("SET NAMES utf8mb4", true, At::Once),
        // The first of them may have been carried out; but all sets read this text alike.
        ("SET NAMES gbk; SET nonsense = 1", false, At::Once),
        ("SET NAMES @x", true, At::Once),
        ("SET character_set_client = latin1", true, At::Once),
    ] {
        assert!(matches!(session.ask(sql), crate::port::Verdict::Pass(_)), "{sql}");
        session.answer(sql, succeeded);
        assert_eq!(session.at(tagged).await, expected, "after {sql}");
    }
    let verdict = session.ask_prepared("SET NAMES gbk");
    assert_eq!(session.sort("SET NAMES gbk", verdict).await, At::Once);
    assert_eq!(session.at(tagged).await, At::Refused, "after a prepared SET NAMES gbk");
}

/// Dynamic SQL may set the character set unseen: texts that GBK would read otherwise are then read both ways.
#[tokio::test(start_paused = true)]
async fn text_after_dynamic_sql_is_read_in_every_charset() {
    let stage = Stage::new(&["r | class==write | ratio=1 reject"]);
    let mut session = stage.login("app");
    // Under GBK `\xbf\x5c` is a character, and the quote behind it ends the literal.
    let odd = b"SELECT '\xbf\\' FROM t; DELETE FROM t; -- ' FROM t";
    let may = |session: &mut Session, sql: &[u8]| matches!(session.ask_with(sql, &[]), crate::port::Verdict::Pass(_));
    assert!(may(&mut session, odd));
    // A routine leaves it as it was (checked).
    session.run("CALL p()").await.unwrap();
    assert!(may(&mut session, odd));
    session.run("EXECUTE s").await.unwrap();
    assert_eq!(session.at("SELECT 'plain' FROM t").await, At::Once);
    assert!(!may(&mut session, odd));
    session.run("SET NAMES utf8mb4").await.unwrap();
    assert!(may(&mut session, odd));
}
