//! A server announces the columns of a PREPARE in 16 bits and sends the definitions of all of them. Whoever counts by
//! the announcement takes the rest for the next replies; through the proxy nothing may pass on the strength of that.

use sandbox::APP;
use wire::Capabilities;

use crate::harness::{Raw, RawOptions, Tollgate};

/// Announced as 255, so that the first definition too many has the number that the next reply would have.
const COLUMNS: usize = 65_536 + 255;

#[test]
fn more_columns_than_can_be_announced_end_the_session() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    for eof in [Capabilities::empty(), Capabilities::DEPRECATE_EOF] {
        let tollgate = Tollgate::before(&mysql.primary);
        let defaults = RawOptions::default();
        let options = RawOptions { capabilities: defaults.capabilities | eof, ..defaults };
        let mut client = Raw::login_with(tollgate.address, APP, &options).expect("a login");
        let sql = format!("SELECT {}", vec!["1"; COLUMNS].join(","));
        // The next commands are there before the definitions are.
        client.command(0x16, sql.as_bytes());
        client.query("SELECT 1");
        client.query("SELECT 1");
        while client.read().is_ok() {}
        tollgate.await_counter("upstream_malformed", 1);
    }
}
