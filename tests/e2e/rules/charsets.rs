//! Character sets in which the second byte of a character may be a backslash or a backtick: the server reads such bytes by
//! the set that the client has chosen, and so must we, or a text is something else to us than to it.

use sandbox::{APP, Login};

use super::{AT_ONCE, Answer, primary, ruled, run, run_bytes, table};
use crate::harness::{Raw, RawOptions, Tollgate};

const WRITES_STOP: &str = "rules:\n\
    - { id: writes-stop, match: { class: [write, call, unparsed, ddl] }, do: { rejection_ratio: 1 }, permanent: true }\n";

/// Each with the collation that a login names it by, and the first byte of a character whose second is a backslash.
const SETS: [(&str, u8, u8); 5] =
    [("big5", 1, 0xA1), ("sjis", 13, 0x81), ("gbk", 28, 0xBF), ("cp932", 95, 0x81), ("gb18030", 248, 0xBF)];

fn login(tollgate: &Tollgate, login: Login, collation: u8) -> Raw {
    let options = RawOptions { collation, ..RawOptions::default() };
    Raw::login_with(tollgate.address, login, &options).expect("a login")
}

/// Where the backslash is half of a character, the quote behind it ends the literal, and what follows is a statement.
fn hidden_delete(table: &str, first: u8) -> Vec<u8> {
    [b"SELECT '", &[first][..], b"\\'; DELETE FROM test.", table.as_bytes(), b" WHERE batch = 0 -- '"].concat()
}

fn rows(table: &str) -> String {
    primary().root_sql(&format!("SELECT COUNT(*) FROM test.{table}")).expect("a count").trim().to_owned()
}

/// Not a tale: with these bytes a real server deletes, and only under these sets.
#[test]
fn a_server_finds_a_statement_in_them() {
    let tollgate = ruled("");
    for (set, collation, first) in SETS {
        let sql = hidden_delete("charset_real", first);
        table("charset_real");
        assert_eq!(run_bytes(&mut login(&tollgate, APP, 8), &sql), Answer::Done, "{set}, as latin1");
        assert_eq!(rows("charset_real"), "3", "{set}, as latin1: a literal");
        assert_eq!(run_bytes(&mut login(&tollgate, APP, collation), &sql), Answer::Done, "{set}");
        assert_eq!(rows("charset_real"), "0", "{set}: a DELETE");
    }
}

#[test]
fn a_statement_that_hides_in_them_gets_its_verdict() {
    table("charset_hidden");
    let tollgate = ruled(&format!("{AT_ONCE}{WRITES_STOP}"));
    for (set, collation, first) in SETS {
        let sql = hidden_delete("charset_hidden", first);
        let refused = |raw: &mut Raw| run_bytes(raw, &sql).is_refused();
        assert!(refused(&mut login(&tollgate, APP, collation)), "{set} by login");
        // By what a session says later; and back again.
        let mut raw = login(&tollgate, APP, 8);
        assert!(!refused(&mut raw), "{set}: a literal under latin1");
        for chosen in [format!("SET NAMES {set}"), format!("SET character_set_client = {set}")] {
            assert_eq!(run(&mut raw, &chosen), Answer::Done);
            assert!(refused(&mut raw), "after {chosen}");
            assert_eq!(run(&mut raw, "SET NAMES latin1"), Answer::Done);
            assert!(!refused(&mut raw), "latin1 after {chosen}");
        }
        // In the same packet, by a prepared statement, and where a variable hides which.
        let together = [format!("SET NAMES {set}; ").as_bytes(), &sql].concat();
        assert!(run_bytes(&mut login(&tollgate, APP, 8), &together).is_refused(), "{set} in one packet");
        let mut raw = login(&tollgate, APP, 8);
        for sql in [format!("PREPARE s FROM 'SET NAMES {set}'"), "EXECUTE s".to_owned()] {
            assert_eq!(run(&mut raw, &sql), Answer::Done, "{sql}");
        }
        assert!(refused(&mut raw), "{set} by EXECUTE");
        let mut raw = login(&tollgate, APP, 8);
        for sql in [format!("SET @set = '{set}'"), "SET character_set_client = @set".to_owned()] {
            assert_eq!(run(&mut raw, &sql), Answer::Done, "{sql}");
        }
        assert!(refused(&mut raw), "{set} by a variable");
    }
    assert_eq!(rows("charset_hidden"), "3");
}

/// No comment can be found for certain under these sets, so nobody is who a comment says.
#[test]
fn comments_do_not_count_under_them() {
    let rules = "rules:\n\
        - { id: everybody-yields, match: { scope: \"*\" }, do: { rejection_ratio: 1 }, permanent: true }\n\
        - { id: favourite, match: { scope: favourite }, do: { rejection_ratio: 0 }, permanent: true }\n";
    let tollgate = ruled(&format!("{AT_ONCE}identity: {{ trust_claims_of: [app] }}\n{rules}"));
    let tagged = "SELECT COUNT(*) FROM mysql.plugin /*app='favourite'*/";
    for (set, collation, _) in SETS {
        assert!(run(&mut login(&tollgate, APP, collation), tagged).is_refused(), "{set} by login");
        let mut raw = login(&tollgate, APP, 45);
        assert_eq!(run(&mut raw, tagged), Answer::Done, "under utf8mb4");
        assert_eq!(run(&mut raw, &format!("SET NAMES {set}")), Answer::Done);
        assert!(run(&mut raw, tagged).is_refused(), "after SET NAMES {set}");
        assert_eq!(run(&mut raw, "SET NAMES utf8mb4"), Answer::Done);
        assert_eq!(run(&mut raw, tagged), Answer::Done, "under utf8mb4 again");
    }
}
