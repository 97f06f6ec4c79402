//! PREPARE and EXECUTE as text: no name stands for what it stood for before.

use crate::stage::{At, Session, Stage};

async fn session() -> (Stage, Session) {
    let stage = Stage::new(&["r | class==write,=unparsed | ratio=1 reject"]);
    let mut session = stage.login("app");
    session.run("PREPARE s FROM 'SELECT 1'").await.unwrap();
    assert_eq!(session.at("EXECUTE s").await, At::Once);
    (stage, session)
}

#[tokio::test(start_paused = true)]
async fn a_name_that_may_stand_for_something_else_is_not_believed() {
    for (sql, succeeded, at) in [
        ("PREPARE s FROM 'DELETE FROM t'", true, At::Refused),
        ("PREPARE S FROM 'DELETE FROM t'", true, At::Refused),
        ("PREPARE `s` FROM 'DELETE FROM t'", true, At::Refused),
        ("PREPARE s FROM @a", true, At::Refused),
        ("PREPARE s FROM 'SELECT ' 'DELETE'", true, At::Refused),
        ("DEALLOCATE PREPARE s", true, At::Refused),
        ("DROP PREPARE s", true, At::Refused),
        // Not alone in its text, where it is not looked for.
        ("SET @a = 1; PREPARE s FROM 'DELETE FROM t'", true, At::Refused),
        // In one reading the literal ends at the first quote, in the other at the last.
        (r#"PREPARE s FROM "DELETE FROM t -- \"""#, true, At::Refused),
        (r#"PREPARE "s\"" FROM 'DELETE FROM t'"#, true, At::Refused),
        ("PREPARE s FROM 'DELETE FROM t'; SET nonsense = 1", false, At::Refused),
        ("/*!PREPARE*/ s FROM 'DELETE FROM t'; SET @a = 1", true, At::Refused),
        // The server compares names without their accents and trailing spaces.
        ("PREPARE ś FROM 'DELETE FROM t'", true, At::Refused),
        ("PREPARE `s ` FROM 'DELETE FROM t'", true, At::Refused),
        // What a procedure prepares is there after it, and after it failed.
        ("CALL p()", true, At::Refused),
        ("CALL p()", false, At::Refused),
        // These change nothing.
        ("PREPARE t FROM 'DELETE FROM t'", true, At::Once),
        ("DEALLOCATE PREPARE t", true, At::Once),
        ("PREPARE s FROM 'DELETE FROM t'", false, At::Once),
        ("SELECT 1; SELECT 2", true, At::Once),
        ("SELECT * FROM t", true, At::Once),
    ] {
        let (_stage, mut session) = session().await;
        let verdict = session.ask(sql);
        assert!(matches!(verdict, crate::port::Verdict::Pass(_)), "{sql}");
        session.answer(sql, succeeded);
        assert_eq!(session.at("EXECUTE s").await, at, "after {sql}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_reset_forgets_all_names() {
    let (stage, mut session) = session().await;
    session.gate.reset();
    assert_eq!(session.at("EXECUTE s").await, At::Refused);
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn more_names_than_are_remembered_stand_for_nothing() {
    let (_stage, mut session) = session().await;
    for number in 0..300 {
        session.run(&format!("PREPARE p{number} FROM 'SELECT 1'")).await.unwrap();
    }
    assert_eq!(session.at("EXECUTE p10").await, At::Once);
    assert_eq!(session.at("EXECUTE p299").await, At::Refused);
    session.run("PREPARE p10 FROM 'DELETE FROM t'").await.unwrap();
    assert_eq!(session.at("EXECUTE p10").await, At::Refused);
}
