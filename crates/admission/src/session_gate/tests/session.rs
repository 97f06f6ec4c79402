//! What a session is followed through: its schema, its user, its commands.

use wire::Command;

use crate::port::Verdict;
use crate::stage::{At, Stage, Who};

#[tokio::test(start_paused = true)]
async fn the_schema_is_followed() {
    let stage = Stage::new(&["r | schema=prod | ratio=1 reject"]);
    let mut session = stage.login("app database=dev");
    let data = "SELECT * FROM t";
    assert_eq!(session.at(data).await, At::Once);
    for (sql, succeeded, expected) in [
        ("USE prod", true, At::Refused),
        ("USE dev", false, At::Refused),
        ("USE `dev`", true, At::Once),
        ("USE prod", false, At::Once),
        ("SELECT 1; USE prod; SELECT 1", true, At::Refused),
        ("USE dev; SELECT 1", true, At::Once),
        ("USE `prod`; USE dev; USE prod", true, At::Refused),
    ] {
        assert!(matches!(session.ask(sql), Verdict::Pass(_)), "{sql}");
        session.answer(sql, succeeded);
        assert_eq!(session.at(data).await, expected, "after {sql}");
    }
    for (name, succeeded, expected) in
        [("dev", false, At::Refused), ("dev", true, At::Once), ("prod", true, At::Refused)]
    {
        let payload = [b"\x02", name.as_bytes()].concat();
        assert!(matches!(session.ask_command(Command::InitDb, &payload, None), Verdict::Pass(_)));
        session.answer("", succeeded);
        assert_eq!(session.at(data).await, expected, "after COM_INIT_DB {name}");
    }
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn commands_without_a_text() {
    let stage = Stage::new(&["r | scope=* | ratio=1 reject"]);
    let mut session = stage.login("app");
    for (command, passes) in [
        (Command::Ping, true),
        (Command::Statistics, true),
        (Command::ProcessKill, true),
        (Command::StmtPrepare, true),
        (Command::StmtReset, true),
        (Command::StmtFetch, true),
        (Command::BinlogDump, true),
        (Command::FieldList, true),
        (Command::CreateDb, false),
        (Command::DropDb, false),
        (Command::Shutdown, false),
        (Command::Refresh, false),
        // Of a statement that nobody knows.
        (Command::StmtExecute, false),
        (Command::StmtBulkExecute, false),
    ] {
        let verdict = session.ask_command(command, b"\x00x", None);
        assert_eq!(matches!(verdict, Verdict::Pass(_)), passes, "{command:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn another_user_is_another_client() {
    let stage = Stage::new(&["r | user=batch | ratio=1 reject"]);
    let mut session = stage.login("app");
    assert_eq!(session.at("SELECT * FROM t").await, At::Once);
    for (user, expected) in [("batch", At::Refused), ("web", At::Once)] {
        session.gate.changed_user(&Who::new(user).client()).unwrap();
        assert_eq!(session.at("SELECT * FROM t").await, expected, "{user}");
        assert_eq!(stage.counted(user, user).seen, 1);
    }
    stage.assert_settled();
}

#[tokio::test(start_paused = true)]
async fn a_new_policy_counts_from_the_next_statement_on() {
    let stage = Stage::new(&[]);
    let mut session = stage.login("app");
    assert_eq!(session.at("SELECT * FROM t /* team:data */").await, At::Once);
    stage.apply(&["r | tag.team=data | ratio=1 reject"]);
    assert_eq!(session.at("SELECT * FROM t /* team:data */").await, At::Refused);
    assert_eq!(session.at("SELECT * FROM t").await, At::Once);
    stage.apply(&[]);
    assert_eq!(session.at("SELECT * FROM t /* team:data */").await, At::Once);
}

/// A text of which only the beginning was looked at is at least a write, and may have changed anything.
#[tokio::test(start_paused = true)]
async fn a_text_that_was_cut() {
    let stage = Stage::new(&["r | class==write | ratio=1 reject"]);
    let mut session = stage.login("app");
    session.run("PREPARE s FROM 'SELECT 1'").await.unwrap();
    let ask = |session: &mut crate::stage::Session, sql: &str, extent| {
        let who = Who::new("app");
        let scan = statement::scan(sql.as_bytes(), statement::Mode { extent, ..statement::Mode::default() });
        let ask = crate::port::Ask {
            client: who.client(),
            command: Command::Query,
            payload: sql.as_bytes(),
            sql: Some((sql.as_bytes(), &scan)),
            note: None,
            attributes: None,
            mode: Some(statement::Mode::default()),
            session: session.state,
        };
        match session.gate.ask(&ask) {
            Verdict::Pass(permit) => Verdict::Pass(session.keep(permit)),
            verdict => verdict,
        }
    };
    let verdict = ask(&mut session, "SELECT 1 ", statement::Extent::Cut);
    assert!(matches!(verdict, Verdict::Refuse(_)));
    stage.apply(&["r | class=unparsed !class==write | ratio=1 reject"]);
    assert_eq!(session.at("EXECUTE s").await, At::Once);
    stage.apply(&[]);
    assert!(matches!(ask(&mut session, "SELECT 1 ", statement::Extent::Cut), Verdict::Pass(_)));
    stage.apply(&["r | class=unparsed | ratio=1 reject"]);
    session.answer_with(true, 0);
    assert_eq!(session.at("EXECUTE s").await, At::Refused);
}
