use super::*;
use crate::{Charset, Server};

const MODE: Mode = Mode {
    no_backslash_escapes: false,
    ansi_quotes: false,
    brackets: false,
    server: Server::MySql(90_704),
    extent: Extent::Whole,
    charset: Charset::Plain,
};

/// Each target as `bytes=id`, with `q` before it for KILL QUERY.
#[track_caller]
fn check_in(mode: Mode, sql: &str, expected: &[&str]) {
    let found: Vec<String> = find(sql.as_bytes(), mode)
        .map(|target| {
            let scope = if target.scope == KillScope::Query { "q " } else { "" };
            format!("{scope}{}={}", &sql[target.digits], target.id)
        })
        .collect();
    assert_eq!(found, expected, "{sql}");
}

#[track_caller]
fn check(sql: &str, expected: &[&str]) {
    check_in(MODE, sql, expected);
}

#[test]
fn forms_of_the_statement() {
    check("KILL 5", &["5=5"]);
    check("kill connection 5", &["5=5"]);
    check("Kill Query 5;", &["q 5=5"]);
    check("KILL HARD 5", &["5=5"]);
    check("KILL SOFT QUERY 5", &["q 5=5"]);
    check("  \n/**/KILL/**/7", &["7=7"]);
    check("-- x\nKILL 7 -- y", &["7=7"]);
    check("\u{feff}KILL 7", &["7=7"]);
    check(";;KILL 3", &["3=3"]);
    check("SELECT 1; KILL 3", &["3=3"]);
    check("KILL 1;KILL QUERY 2 ; select 3;\x0bkill 4", &["1=1", "q 2=2", "4=4"]);
    check("SELECT 1; /* c */ KILL 3", &["3=3"]);
    check("KILL; KILL 2", &["2=2"]);
    check("KILL QUERY; KILL 2", &["2=2"]);
    check("KILL -; KILL 2", &["2=2"]);
    check("BEGIN NOT ATOMIC SELECT 1; KILL 5; END", &["5=5"]);
}

#[test]
fn code_comments_are_code() {
    check("/*! KILL 5 */", &["5=5"]);
    check("/*!50000 KILL*/ 5", &["5=5"]);
    check("/*!80000KILL 5*/", &["5=5"]);
    check("KILL /*!4294967295*/", &["67295=67295"]);
    check("/*! SELECT 1; */ KILL 5", &["5=5"]);
    check("/*!99999 KILL 5*/", &[]);
    check("/*!99999 ' */ KILL 5 /*!99999 ' */", &["5=5"]);
    check("/*M! KILL 5*/", &[]);
    check_in(Mode { server: Server::MariaDb(101_106), ..MODE }, "/*M! KILL 5*/", &["5=5"]);
    check("KILL -/*!50000 5*/", &[]);
    check("/*!50000 KILL -*/ 5", &[]);
    check("KILL /*! -5 */", &["-5=4294967291"]);
}

#[test]
fn forms_of_the_id() {
    check("KILL -2147483000", &["-2147483000=2147484296"]);
    check("KILL - \n 1", &["- \n 1=4294967295"]);
    check("KILL-1", &["-1=4294967295"]);
    check("KILL --1", &["--1=1"]);
    check("KILL +1", &["+1=1"]);
    check("KILL 0xFFFFFFFF", &["0xFFFFFFFF=4294967295"]);
    check("KILL x'ff'", &["x'ff'=255"]);
    check("KILL 0b11", &["0b11=3"]);
    check("KILL '5'", &["'5'=5"]);
    check("KILL \"-1\"", &["\"-1\"=4294967295"]);
    check("KILL 4294967296", &["4294967296=0"]);
    check("KILL 8589934591", &["8589934591=4294967295"]);
    check("KILL 18446744073709551616", &["18446744073709551616=4294967295"]);
    check("KILL 99999999999999999999999999999", &["99999999999999999999999999999=4294967295"]);
    for not_a_literal in [
        "KILL USER x",
        "KILL @v",
        "KILL (SELECT 5)",
        "KILL CONNECTION_ID()",
        "KILL 5+1",
        "KILL 5-0",
        "KILL 5.0",
        "KILL 1e1",
        "KILL 0X5",
        "KILL 5a",
        "KILL `5`",
        "KILL QUERY ID 5",
        "KILL ?",
        "KILL '5a'",
        "KILL ''",
        "KILL 'a",
        "KILL '",
        "KILL",
        "KILL x''",
        "KILL 5 6",
        "KILL '5' '6'",
        "KILL N'5'",
    ] {
        check(not_a_literal, &[]);
    }
}

#[test]
fn what_only_looks_like_it() {
    for harmless in [
        "SELECT 'a;KILL 5'",
        "SELECT 'a\\';KILL 5'",
        "SELECT 'a'';KILL 5'",
        "SELECT /* ;KILL 5 */ 1",
        "SELECT 1 -- ;KILL 5",
        "SELECT 1 # ;KILL 5",
        "SELECT `kill` 5 FROM t",
        "SELECT kill 5",
        "SELECT 1; SELECT kill 5",
        "`KILL` 5",
        "'KILL' 5",
        "KILLER 5",
        "SELECT ';\nKILL 5;'",
        "SELECT `;KILL 5`",
        "SELECT \";KILL 5\"",
        "(KILL 5)",
        "/* KILL 5 */",
        "CREATE PROCEDURE p() BEGIN SELECT 1; KILL 5; END",
        "create or replace definer=`a`@`%` trigger t before insert on x for each row begin set @a=1; kill 5; end",
        "SELECT 1; CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO BEGIN DO 1; KILL 5; END",
    ] {
        check(harmless, &[]);
    }
    check("CREATE TABLE event (a int); KILL 5", &["5=5"]);
    check("CREATE VIEW v AS SELECT 1; KILL 5", &["5=5"]);
    check("CREATE; KILL 5", &["5=5"]);
    check("CREATE DEFINER=x; KILL 5", &["5=5"]);
    let plain = Mode { no_backslash_escapes: true, ..MODE };
    check_in(plain, r"SELECT '\'; KILL 5 -- '", &["5=5"]);
    check(r"SELECT '\'; KILL 5 -- '", &[]);
    check_in(Mode { ansi_quotes: true, ..MODE }, r#"SELECT "\"; KILL 5 -- ""#, &["5=5"]);
}

#[test]
fn a_cut_text() {
    let cut = Mode { extent: Extent::Cut, ..MODE };
    for unsure in ["KILL 5", "KILL 5 ", "KILL 5 /* c", "KILL 5;"] {
        check_in(cut, unsure, &[]);
    }
    check_in(cut, "KILL 5; SELECT 'abc", &["5=5"]);
}

#[test]
fn translation() {
    let lookup = |id| (id >= 1 << 31).then_some(id & 0xFF);
    for (sql, expected) in [
        ("SELECT 1", None),
        ("KILL 5", None),
        ("KILL 2147483653", Some("KILL 5")),
        ("KILL -2147483641 -- x", Some("KILL 7 -- x")),
        ("KILL-2147483641", Some("KILL 7")),
        ("KILL QUERY'2147483653'", Some("KILL QUERY 5")),
        ("KILL/*!-2147483641*/", Some("KILL/*! 7*/")),
        (
            "KILL 5; KILL 2147483653; SELECT 2147483653; KILL 0x80000006 ",
            Some("KILL 5; KILL 5; SELECT 2147483653; KILL 6 "),
        ),
    ] {
        let targets: Vec<_> = find(sql.as_bytes(), MODE).collect();
        let translated = translate(sql.as_bytes(), &targets, lookup);
        assert_eq!(translated.as_deref(), expected.map(str::as_bytes), "{sql}");
    }
}

#[test]
fn an_id_that_comes_with_the_execution() {
    for (sql, expected) in [
        ("KILL ?", true),
        ("/* x */ kill query ?;", true),
        ("KILL SOFT CONNECTION ?", true),
        ("KILL 5", false),
        ("SELECT ?", false),
        ("QUERY ?", false),
        ("KILL", false),
    ] {
        assert_eq!(super::names_a_parameter(sql.as_bytes(), Mode::default()), expected, "{sql}");
    }
}
