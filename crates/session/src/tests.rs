use super::*;
use statement::{Class, Classes};

fn session(charset: Charset) -> SessionText {
    SessionText::new(Server::MySql(90_704), charset, StatementsPerText::Several)
}

fn run(session: &mut SessionText, sql: &str, succeeded: bool) {
    let scan = session.read(sql.as_bytes(), Source::Query, Part::Whole, false);
    session.settle(&TextEffect::of(&scan), succeeded);
}

#[test]
fn charset_follows_what_the_server_confirmed() {
    for (before, sql, succeeded, after) in [
        (Charset::Plain, "SET NAMES gbk", true, Charset::Gbk),
        (Charset::Plain, "SET NAMES gbk", false, Charset::Plain),
        (Charset::Plain, "SET NAMES gbk; SELECT nothing", false, Charset::Unknown),
        (Charset::Gbk, "SET NAMES utf8mb4", true, Charset::Utf8),
        (Charset::Gbk, "SET NAMES utf8mb4", false, Charset::Gbk),
        (Charset::Plain, "SET NAMES @x", false, Charset::Plain),
        (Charset::Plain, "SET NAMES @x; SELECT nothing", false, Charset::Unknown),
        (Charset::Plain, "EXECUTE s", true, Charset::Unknown),
        // A routine leaves it as it was.
        (Charset::Plain, "CALL p()", true, Charset::Plain),
    ] {
        let mut session = session(before);
        run(&mut session, sql, succeeded);
        assert_eq!(session.charset, after, "{before:?} {sql} {succeeded}");
    }
    let mut session = session(Charset::Plain);
    session.reset();
    assert_eq!(session.charset, Charset::Unknown);
}

/// `init_connect` may have set both.
#[test]
fn first_texts_of_a_changed_session_are_read_in_every_way() {
    let gbk = b"SELECT '\xBF\\'; DELETE FROM t; -- '".as_slice();
    let plain = b"SELECT 'a\\'; DELETE FROM t; -- '".as_slice();
    let writes = |session: &SessionText, sql| {
        session.read(sql, Source::Query, Part::Whole, false).classes.contains(Class::Write)
    };
    let mut session = session(Charset::Utf8);
    assert!(!writes(&session, gbk) && !writes(&session, plain));
    session.begin(Beginning::Unknown);
    assert!(writes(&session, gbk) && writes(&session, plain));
    run(&mut session, "SELECT nothing", false);
    assert!(writes(&session, plain), "an error does not show the sql_mode");
    run(&mut session, "SELECT 1", true);
    assert!(writes(&session, gbk) && !writes(&session, plain));
    run(&mut session, "SET NAMES utf8mb4", true);
    assert!(!writes(&session, gbk));
    session.log_in(Charset::Utf8);
    assert!(writes(&session, gbk) && writes(&session, plain));
}

#[test]
fn user_locks_let_nothing_pass_and_table_locks_do() {
    let mut session = session(Charset::Plain);
    run(&mut session, "SELECT GET_LOCK('a', 1)", true);
    assert!(session.locks().may_hold_any() && !session.locks().blocks_others());
    run(&mut session, "LOCK TABLES t READ", true);
    assert!(session.locks().blocks_others());
    run(&mut session, "LOCK TABLES nothing READ", false);
    assert!(!session.locks().blocks_others());
}

#[test]
fn the_unseen_rest_of_a_text_is_one_statement_where_the_session_takes_one() {
    let beginning = b"INSERT INTO t VALUES (1, 'abc";
    let several = session(Charset::Plain).read(beginning, Source::Query, Part::Beginning, false);
    assert_eq!(several.classes, Classes::ANY);
    let one = SessionText::new(Server::MySql(90_704), Charset::Plain, StatementsPerText::One);
    for scan in [
        one.read(beginning, Source::Query, Part::Beginning, false),
        session(Charset::Plain).read(beginning, Source::Prepare, Part::Beginning, false),
    ] {
        assert_eq!(scan.classes, [Class::Write, Class::Call].into_iter().collect());
        assert!(!scan.commits_implicitly);
    }
}
