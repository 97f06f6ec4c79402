//! What the tracker must have seen in each of the recorded replies.

use super::fixtures::Fixture;
use crate::StatusFlags;

pub(super) struct Expected {
    pub(super) name: &'static str,
    /// None where it depends on who else is on the server.
    rows: Option<u64>,
    error: Option<u16>,
    /// Parameters and columns.
    pub(super) prepared: Option<(u16, u16)>,
    pub(super) status: StatusFlags,
}

/// Commands that MySQL 9.7 does not know any more, or neither server.
const GONE: u16 = 1047;
const GONE_FROM_MYSQL: &[&str] = &["process_info", "process_kill_err", "refresh", "shutdown"];

impl Expected {
    pub(super) fn of(name: &str) -> &'static Expected {
        EXPECTED.iter().find(|expected| expected.name == name).unwrap_or_else(|| panic!("what is {name}?"))
    }

    pub(super) fn rows(&self, fixture: &Fixture) -> Option<u64> {
        // The rows of a field list are metadata.
        let no_metadata = fixture.mode.contains("bare") && self.name == "field_list";
        if no_metadata { Some(0) } else { self.rows }
    }

    pub(super) fn error(&self, fixture: &Fixture) -> Option<u16> {
        let gone = !fixture.is_mariadb() && GONE_FROM_MYSQL.contains(&self.name);
        if gone { Some(GONE) } else { self.error }
    }
}

const USUAL: StatusFlags = StatusFlags::AUTOCOMMIT;
const IN_TRANSACTION: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::IN_TRANS);
const LAST_ROW: StatusFlags = StatusFlags::AUTOCOMMIT.union(StatusFlags::LAST_ROW_SENT);

const fn rows(name: &'static str, rows: u64) -> Expected {
    Expected { name, rows: Some(rows), error: None, prepared: None, status: USUAL }
}

const fn ok(name: &'static str) -> Expected {
    rows(name, 0)
}

const fn err(name: &'static str, code: u16, rows: u64) -> Expected {
    Expected { name, rows: Some(rows), error: Some(code), prepared: None, status: USUAL }
}

const fn prepare(name: &'static str, params: u16, columns: u16) -> Expected {
    Expected { prepared: Some((params, columns)), ..ok(name) }
}

pub(super) const EXPECTED: &[Expected] = &[
    ok("ok"),
    Expected { status: IN_TRANSACTION, ..ok("begin") },
    Expected { status: IN_TRANSACTION, ..ok("ok_in_transaction") },
    ok("rollback"),
    err("err", 1064, 0),
    rows("rows_0", 0),
    rows("rows_1", 1),
    rows("rows_3", 3),
    rows("row_of_null", 1),
    rows("multi", 4),
    // The status is that of the result before the ERR, which has none: more was to come.
    Expected { status: USUAL.union(StatusFlags::MORE_RESULTS_EXISTS), ..err("multi_err", 1064, 1) },
    err("err_in_rows", 1690, 1),
    rows("call", 4),
    rows("call_own_cursor", 2),
    ok("infile"),
    rows("infile_multi", 1),
    prepare("prepare_0_0", 0, 0),
    ok("execute_ok"),
    err("prepare_err", 1064, 0),
    prepare("prepare_2_0", 2, 0),
    prepare("prepare_0_2", 0, 2),
    rows("execute_rows", 3),
    rows("execute_again", 3),
    rows("execute_cursor", 0),
    rows("fetch_2", 2),
    Expected { status: LAST_ROW, ..rows("fetch_last", 1) },
    err("fetch_err", 1421, 0),
    ok("stmt_reset"),
    prepare("prepare_1_2", 1, 2),
    rows("execute_out", 2),
    rows("execute_own_cursor", 2),
    rows("field_list", 2),
    err("field_list_err", 1146, 0),
    ok("statistics"),
    ok("ping"),
    ok("init_db"),
    err("init_db_err", 1049, 0),
    ok("set_option"),
    Expected { rows: None, ..ok("process_info") },
    err("process_kill_err", 1094, 0),
    ok("debug"),
    ok("refresh"),
    err("create_db", GONE, 0),
    err("drop_db", GONE, 0),
    ok("tracked"),
    rows("tracked_rows", 2),
    ok("register_slave"),
    ok("bulk"),
    err("bulk_err", 1062, 0),
    ok("progress"),
    ok("reset_connection"),
    ok("binlog"),
    err("binlog_err", 1236, 0),
    err("binlog_denied", 1227, 0),
    err("binlog_err_behind", 1236, 0),
    ok("binlog_gtid"),
    err("binlog_gtid_err", 1236, 0),
    err("binlog_gtid_err_behind", 1236, 0),
    err("binlog_gtid_denied", 1227, 0),
    err("binlog_gtid_gone", GONE, 0),
    err("register_slave_err", 1045, 0),
    err("execute_err", 1062, 0),
    err("execute_err_in_rows", 1690, 1),
    err("infile_err", 1644, 0),
    ok("execute_infile"),
    err("execute_infile_err", 1644, 0),
    rows("bulk_rows", 2),
    err("bulk_err_in_rows", 1062, 1),
    err("bulk_unsafe", 1295, 0),
    err("stmt_reset_err", 1243, 0),
    err("set_option_err", GONE, 0),
    // To one whose password has expired.
    err("reset_connection_err", 1820, 0),
    err("statistics_err", 1820, 0),
    err("debug_err", 1227, 0),
    ok("process_kill"),
    ok("shutdown"),
    err("shutdown_denied", 1227, 0),
];
