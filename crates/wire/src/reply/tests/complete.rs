//! Every command has a recording of every reply that it can have, with and without DEPRECATE_EOF, or there is a reason why
//! no server gives that reply.

use std::collections::BTreeSet;

use super::expected::Expected;
use super::fixtures::{Fixture, fixtures};
use crate::{AuthPacket, Capabilities, Command, ReplyShape};

use Command::*;
use Reply::*;
use Shown::*;

/// How a reply may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reply {
    /// An OK or an EOF.
    Done,
    Error,
    Text,
    OneResult,
    /// Or an OK behind a result.
    MoreResults,
    ErrorInRows,
    CursorOpened,
    FileAskedFor,
    FileRefused,
    Prepared,
    Definitions,
    Events,
    ErrorBehindEvents,
    /// The packets of a login, up to its OK.
    LoggedIn,
}

#[derive(Clone, Copy, Debug)]
enum Shown {
    By(&'static [&'static str]),
    Never(&'static str),
}

/// What the shape of a command's replies allows.
fn possible(command: Command) -> &'static [Reply] {
    match command.reply_shape() {
        ReplyShape::None => &[],
        ReplyShape::Simple => &[Done, Error],
        ReplyShape::Text => &[Text, Error],
        ReplyShape::Results => {
            &[Done, Error, OneResult, MoreResults, ErrorInRows, CursorOpened, FileAskedFor, FileRefused]
        }
        ReplyShape::Prepare => &[Prepared, Error],
        ReplyShape::Fields => &[Definitions, Error],
        ReplyShape::Rows => &[OneResult, Error],
        ReplyShape::BinlogEvents => &[Events, Error, ErrorBehindEvents],
        ReplyShape::Login => &[LoggedIn, Error],
    }
}

const GONE: Shown = Never("MySQL 9.7 and MariaDB 10.11 do not know the command any more: 1047");
const ONE_LIST: Shown = Never("what it gives is one list of sessions");
const NOT_IN_BULK: Shown = Never("MariaDB runs no such statement in bulk: 1295, see `bulk_unsafe`");
const ONLY_PREPARED: Shown = Never("a cursor is asked for by COM_STMT_EXECUTE only");

const TABLE: &[(Command, Reply, Shown)] = &[
    (InitDb, Done, By(&["init_db"])),
    (InitDb, Error, By(&["init_db_err"])),
    (Query, Done, By(&["ok", "begin", "ok_in_transaction", "rollback", "tracked", "progress"])),
    (Query, Error, By(&["err"])),
    (Query, OneResult, By(&["rows_0", "rows_1", "rows_3", "row_of_null", "tracked_rows"])),
    (Query, MoreResults, By(&["multi", "multi_err", "call", "call_own_cursor"])),
    (Query, ErrorInRows, By(&["err_in_rows"])),
    (Query, CursorOpened, ONLY_PREPARED),
    (Query, FileAskedFor, By(&["infile", "infile_multi"])),
    (Query, FileRefused, By(&["infile_err"])),
    (FieldList, Definitions, By(&["field_list"])),
    (FieldList, Error, By(&["field_list_err"])),
    (CreateDb, Done, GONE),
    (CreateDb, Error, By(&["create_db"])),
    (DropDb, Done, GONE),
    (DropDb, Error, By(&["drop_db"])),
    (Refresh, Done, By(&["refresh"])),
    (Refresh, Error, By(&["refresh"])),
    (Shutdown, Done, By(&["shutdown"])),
    (Shutdown, Error, By(&["shutdown", "shutdown_denied"])),
    (Statistics, Text, By(&["statistics"])),
    (Statistics, Error, By(&["statistics_err"])),
    (ProcessInfo, Done, ONE_LIST),
    (ProcessInfo, Error, By(&["process_info"])),
    (ProcessInfo, OneResult, By(&["process_info"])),
    (ProcessInfo, MoreResults, ONE_LIST),
    (ProcessInfo, ErrorInRows, Never("the list is made before it is sent")),
    (ProcessInfo, CursorOpened, ONLY_PREPARED),
    (ProcessInfo, FileAskedFor, ONE_LIST),
    (ProcessInfo, FileRefused, ONE_LIST),
    (ProcessKill, Done, By(&["process_kill"])),
    (ProcessKill, Error, By(&["process_kill_err"])),
    (Debug, Done, By(&["debug"])),
    (Debug, Error, By(&["debug_err"])),
    (Ping, Done, By(&["ping"])),
    (Ping, Error, Never("both servers answer everybody with OK, even one whose password has expired (checked)")),
    (ChangeUser, LoggedIn, By(&["change_user", "change_user_full"])),
    (ChangeUser, Error, By(&["change_user_err"])),
    (BinlogDump, Events, By(&["binlog"])),
    (BinlogDump, Error, By(&["binlog_err", "binlog_denied"])),
    (BinlogDump, ErrorBehindEvents, By(&["binlog_err_behind"])),
    (RegisterSlave, Done, By(&["register_slave"])),
    (RegisterSlave, Error, By(&["register_slave_err"])),
    (StmtPrepare, Prepared, By(&["prepare_0_0", "prepare_2_0", "prepare_0_2", "prepare_1_2"])),
    (StmtPrepare, Error, By(&["prepare_err"])),
    (StmtExecute, Done, By(&["execute_ok"])),
    (StmtExecute, Error, By(&["execute_err"])),
    (StmtExecute, OneResult, By(&["execute_rows", "execute_again"])),
    (StmtExecute, MoreResults, By(&["execute_out", "execute_own_cursor"])),
    (StmtExecute, ErrorInRows, By(&["execute_err_in_rows"])),
    (StmtExecute, CursorOpened, By(&["execute_cursor"])),
    (StmtExecute, FileAskedFor, By(&["execute_infile"])),
    (StmtExecute, FileRefused, By(&["execute_infile_err"])),
    (StmtReset, Done, By(&["stmt_reset"])),
    (StmtReset, Error, By(&["stmt_reset_err"])),
    (SetOption, Done, By(&["set_option"])),
    (SetOption, Error, By(&["set_option_err"])),
    (StmtFetch, OneResult, By(&["fetch_2", "fetch_last"])),
    (StmtFetch, Error, By(&["fetch_err"])),
    (BinlogDumpGtid, Events, By(&["binlog_gtid"])),
    (BinlogDumpGtid, Error, By(&["binlog_gtid_err", "binlog_gtid_denied", "binlog_gtid_gone"])),
    (BinlogDumpGtid, ErrorBehindEvents, By(&["binlog_gtid_err_behind"])),
    (ResetConnection, Done, By(&["reset_connection"])),
    (ResetConnection, Error, By(&["reset_connection_err"])),
    (StmtBulkExecute, Done, By(&["bulk"])),
    (StmtBulkExecute, Error, By(&["bulk_err", "bulk_unsafe"])),
    (StmtBulkExecute, OneResult, By(&["bulk_rows"])),
    (StmtBulkExecute, MoreResults, NOT_IN_BULK),
    (StmtBulkExecute, ErrorInRows, By(&["bulk_err_in_rows"])),
    (StmtBulkExecute, CursorOpened, ONLY_PREPARED),
    (StmtBulkExecute, FileAskedFor, NOT_IN_BULK),
    (StmtBulkExecute, FileRefused, NOT_IN_BULK),
];

#[test]
fn every_reply_of_every_command_is_recorded_or_has_a_reason() {
    let fixtures = fixtures();
    for command in (0..=255).filter_map(Command::from_byte) {
        for &reply in possible(command) {
            let shown: Vec<_> = TABLE.iter().filter(|row| (row.0, row.1) == (command, reply)).collect();
            let [(_, _, shown)] = shown[..] else { panic!("{command:?} {reply:?} stands {} times", shown.len()) };
            match shown {
                Never(reason) => assert!(!reason.is_empty()),
                By(names) => {
                    for deprecate_eof in [false, true] {
                        let is_it = |fixture: &&Fixture| {
                            names.contains(&fixture.name.as_str())
                                && fixture.command == command as u8
                                && fixture.capabilities.contains(Capabilities::DEPRECATE_EOF) == deprecate_eof
                                && looks_like(fixture, reply)
                        };
                        let found = fixtures.iter().find(is_it);
                        assert!(found.is_some(), "{command:?} {reply:?}, DEPRECATE_EOF {deprecate_eof}: {names:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_table_has_no_row_too_many_and_no_recording_is_left_out() {
    for (command, reply, shown) in TABLE {
        assert!(possible(*command).contains(reply), "{command:?} {reply:?} {shown:?}");
    }
    let named = |shown: &Shown| match shown {
        By(names) => names.to_vec(),
        Never(_) => Vec::new(),
    };
    let named: BTreeSet<&str> = TABLE.iter().flat_map(|(_, _, shown)| named(shown)).collect();
    let fixtures = fixtures();
    let recorded: BTreeSet<&str> = fixtures.iter().map(|fixture| fixture.name.as_str()).collect();
    assert_eq!(named, recorded);
}

/// By its packets alone, as far as they tell.
fn looks_like(fixture: &Fixture, reply: Reply) -> bool {
    let packets = fixture.packets();
    let (first, last) = (packets[0][0], packets[packets.len() - 1][0]);
    let is_result = (1..0xFB).contains(&first);
    match reply {
        Done => packets.len() == 1 && matches!(first, 0 | 0xFE) || fixture.name == "progress",
        Error if fixture.is_login() => last == 0xFF,
        Error => packets.len() == 1 && first == 0xFF,
        Text => packets.len() == 1 && first >= b' ' && first != 0xFF,
        OneResult if fixture.command == StmtFetch as u8 => first == 0 && last == 0xFE,
        OneResult | CursorOpened => is_result && last == 0xFE,
        MoreResults => is_result && packets.len() > 4,
        ErrorInRows => is_result && last == 0xFF,
        FileAskedFor => first == 0xFB && last != 0xFF,
        FileRefused => first == 0xFB && last == 0xFF,
        Prepared => first == 0 && packets[0].len() >= 12,
        Definitions => last == 0xFE,
        Events => first == 0 && last == 0xFE,
        ErrorBehindEvents => first == 0 && last == 0xFF,
        LoggedIn => first == 0xFE && last == 0,
    }
}

/// What a server asks and answers in the middle of a session is what it does at its beginning.
#[test]
fn the_packets_of_a_change_of_user_are_those_of_a_login() {
    let logins: Vec<Fixture> = fixtures().into_iter().filter(Fixture::is_login).collect();
    assert!(!logins.is_empty());
    for fixture in logins {
        let packets = fixture.packets();
        let (last, before) = packets.split_last().expect("a packet");
        let what = format!("{} {}", fixture.mode, fixture.name);
        match AuthPacket::decode(packets[0]) {
            AuthPacket::Switch { plugin, data } => {
                let method: &[u8] =
                    if fixture.is_mariadb() { b"mysql_native_password" } else { b"caching_sha2_password" };
                assert_eq!(plugin, method, "{what}");
                assert_eq!(crate::scramble(data).len(), 20, "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
        for packet in &before[1..] {
            assert!(matches!(AuthPacket::decode(packet), AuthPacket::MoreData(_)), "{what}");
        }
        let denied = fixture.name == "change_user_err";
        assert_eq!(AuthPacket::decode(last), if denied { AuthPacket::Err } else { AuthPacket::Ok }, "{what}");
    }
}

/// The two tables agree on what is an error.
#[test]
fn what_is_shown_as_an_error_is_expected_to_be_one() {
    for (_, reply, shown) in TABLE {
        let By(names) = shown else { continue };
        let fixtures = fixtures();
        for fixture in fixtures.iter().filter(|fixture| names.contains(&fixture.name.as_str()) && !fixture.is_login()) {
            let failed = Expected::of(&fixture.name).error(fixture).is_some();
            let must_fail = matches!(reply, Error | ErrorInRows | FileRefused | ErrorBehindEvents);
            // Where the servers differ, the same name stands in both rows; an ERR may also stand behind a result.
            let either = TABLE.iter().filter(|(_, _, shown)| is_by(shown, &fixture.name)).count() > 1;
            assert!(either || failed == must_fail || *reply == MoreResults, "{} {}", fixture.mode, fixture.name);
        }
    }
}

fn is_by(shown: &Shown, name: &str) -> bool {
    matches!(shown, By(names) if names.contains(&name))
}
