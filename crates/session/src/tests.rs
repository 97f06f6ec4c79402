use super::*;
use statement::{Class, Classes};

fn session(charset: Charset) -> SessionText {
    SessionText::new(Server::MySql(90_704), charset, StatementsPerText::Several, false)
}

fn run(session: &mut SessionText, sql: &str, succeeded: bool) {
    let scan = session.read(sql.as_bytes(), Source::Query, Part::Whole);
    session.settle(&TextEffect::of(&scan), succeeded, false);
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
        // What stands before the failure stays.
        (Charset::Utf8, "SET NAMES gbk, gtid_next = 'x'", false, Charset::Unknown),
        (Charset::Utf8, "SET NAMES gbk, gtid_next = 'AUTOMATIC'", true, Charset::Gbk),
        // GLOBAL counts for what stands behind it.
        (Charset::Gbk, "SET GLOBAL x = 1, character_set_client = utf8mb4", true, Charset::Unknown),
        (Charset::Gbk, "SET GLOBAL x = 1, NAMES utf8mb4", true, Charset::Utf8),
        (Charset::Gbk, "SET GLOBAL x = 1, SESSION y = 1, character_set_client = utf8mb4", true, Charset::Utf8),
        (Charset::Gbk, "SET GLOBAL x = 1, @@session.character_set_client = utf8mb4", true, Charset::Utf8),
        (Charset::Gbk, "SET GLOBAL character_set_client = utf8mb4", true, Charset::Gbk),
        // A routine leaves it as it was.
        (Charset::Plain, "CALL p()", true, Charset::Plain),
    ] {
        let mut session = session(before);
        run(&mut session, sql, succeeded);
        assert_eq!(session.charset, after, "{before:?} {sql} {succeeded}");
    }
    let mut session = session(Charset::Plain);
    session.reset(Some(false));
    assert_eq!(session.charset, Charset::Unknown);
}

/// `init_connect` may have set both.
#[test]
fn first_texts_of_a_changed_session_are_read_in_every_way() {
    let gbk = b"SELECT '\xBF\\'; DELETE FROM t; -- '".as_slice();
    let plain = b"SELECT 'a\\'; DELETE FROM t; -- '".as_slice();
    let writes =
        |session: &SessionText, sql| session.read(sql, Source::Query, Part::Whole).classes.contains(Class::Write);
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
    session.log_in(Charset::Utf8, false);
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
    let several = session(Charset::Plain).read(beginning, Source::Query, Part::Beginning);
    assert_eq!(several.classes, Classes::ANY);
    let one = SessionText::new(Server::MySql(90_704), Charset::Plain, StatementsPerText::One, false);
    for scan in [
        one.read(beginning, Source::Query, Part::Beginning),
        session(Charset::Plain).read(beginning, Source::Prepare, Part::Beginning),
    ] {
        assert_eq!(scan.classes, [Class::Write, Class::Call].into_iter().collect());
        assert!(!scan.commits_implicitly);
    }
}

/// Step by step: a text, whether it succeeded, the flag of the last reply, and whether a backslash may then end a string and whether
/// it may escape.
#[test]
fn flag_is_believed_behind_what_sets_the_sql_mode_alone() {
    const SET: &str = "SET sql_mode = 'NO_BACKSLASH_ESCAPES'";
    const CLEAR: &str = "SET sql_mode = ''";
    const ESCAPES: (bool, bool) = (false, true);
    const ENDS: (bool, bool) = (true, false);
    const BOTH: (bool, bool) = (true, true);
    type Step = (&'static str, bool, bool, (bool, bool));
    let cases: &[&[Step]] = &[
        &[(SET, true, true, ENDS), ("SELECT 1", true, true, ENDS), (CLEAR, true, false, ESCAPES)],
        &[(SET, false, false, ESCAPES)],
        // What a routine does to it stays in the flag.
        &[("CALL p()", true, true, ESCAPES), ("SELECT 1", true, true, ESCAPES), (SET, true, true, ENDS)],
        &[("SELECT * FROM v", true, true, ESCAPES)],
        &[(SET, true, true, ENDS), ("SELECT f()", true, false, ENDS), ("SELECT 1", true, false, ENDS)],
        &[("SET STATEMENT sql_mode='NO_BACKSLASH_ESCAPES' FOR SELECT 1", true, true, ESCAPES)],
        // Behind a SET in the same text something may run.
        &[("SET sql_mode = 'NO_BACKSLASH_ESCAPES'; CALL p()", true, false, BOTH), ("SELECT 1", true, false, BOTH)],
        &[("SET sql_mode = 'NO_BACKSLASH_ESCAPES'; SET NAMES utf8mb4", true, true, ENDS)],
        // Some of it may have had an effect.
        &[("SET sql_mode = 'NO_BACKSLASH_ESCAPES', x = 1", false, false, BOTH), ("SELECT 1", true, true, BOTH)],
        &[("SET sql_mode = 'NO_BACKSLASH_ESCAPES', x = 1", false, false, BOTH), ("SELECT 1", true, false, ESCAPES)],
        // One statement of which nothing is known sets it, or runs a routine.
        &[("EXECUTE s", true, false, ESCAPES)],
        &[("EXECUTE s", true, true, BOTH), ("SELECT 1", true, true, BOTH), (CLEAR, true, false, ESCAPES)],
        &[("EXECUTE s", false, false, BOTH), ("SELECT 1", true, false, ESCAPES)],
        &[("EXECUTE s", false, false, BOTH), ("CALL p()", true, false, BOTH), ("SELECT 1", true, false, BOTH)],
        &[("EXECUTE s; EXECUTE t", true, false, BOTH)],
        &[("SET GLOBAL x = 1, sql_mode = 'NO_BACKSLASH_ESCAPES'", true, true, BOTH)],
    ];
    for steps in cases {
        let mut session = session(Charset::Utf8);
        for &(sql, succeeded, shown, expected) in *steps {
            let scan = session.read(sql.as_bytes(), Source::Query, Part::Whole);
            session.settle(&TextEffect::of(&scan), succeeded, shown);
            let writes = |sql: &str| {
                let scan = session.read(sql.as_bytes(), Source::Query, Part::Whole);
                scan.classes.contains(Class::Write)
            };
            let ends = writes("SELECT 'a\\'; DELETE FROM t; -- '");
            let escapes = writes("SELECT 'a\\', '; DELETE FROM t; -- '");
            let found = (ends, escapes);
            assert_eq!(found, expected, "{sql} of {steps:?}");
            assert_eq!(session.mode().is_none(), expected == BOTH, "{sql} of {steps:?}");
        }
    }
}

#[test]
fn locks_are_believed_only_if_the_text_shows_them() {
    let lock = |sql: &str| {
        let mut session = session(Charset::Plain);
        run(&mut session, "LOCK TABLES t READ", true);
        run(&mut session, sql, true);
        session.locks().blocks_others()
    };
    assert!(lock("SELECT 1"));
    for sql in ["EXECUTE s", "EXECUTE IMMEDIATE 'UNLOCK TABLES'", "EXECUTE IMMEDIATE @x"] {
        assert!(!lock(sql), "{sql}");
    }
    // What stands behind the NUL is never run.
    let mut other = session(Charset::Plain);
    let scan = other.read(b"SELECT 1;\0;LOCK TABLES t WRITE", Source::Prepare, Part::Whole);
    other.settle(&TextEffect::of_prepared(&scan), true, false);
    assert!(!other.locks().blocks_others());
    assert_eq!(other.charset, Charset::Unknown);
    // Of several readings one was right, and its statements before the one that failed have run.
    let mut unsure = session(Charset::Plain);
    run(&mut unsure, "SET sql_mode='NO_BACKSLASH_ESCAPES'; DO '\\'; LOCK TABLES t WRITE; SELECT", false);
    assert!(unsure.locks().may_hold_any());
    let mut unsure = session(Charset::Plain);
    let scan = unsure.read(b"SET NAMES DEFAULT;SET @`\x81`=1;LOCK TABLE t WRITE;;", Source::Query, Part::Whole);
    unsure.settle(&TextEffect::of(&scan), false, false);
    assert!(unsure.locks().may_hold_any());
}
