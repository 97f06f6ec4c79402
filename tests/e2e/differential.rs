//! The same conversation with the server itself and through the proxy: every packet, with its number, must be the same.
//!
//! Behind each command goes another whose answer cannot be mistaken (a reset of a statement that does not exist), so the
//! end of a reply is found without understanding it: nothing here shares the proxy's idea of what a reply is, and
//! every command is pipelined with the next.

pub(crate) mod conversation;
pub(crate) mod corpus;
pub(crate) mod values;

use std::net::SocketAddr;

use sandbox::{APP, Flavor, Server};
use wire::Capabilities;

use crate::harness::{Raw, RawOptions, Tollgate};
use conversation::{Conversation, Packet, describe};
use corpus::Step;

/// One way to talk to a server: a name, which is also the schema's, and what is agreed on beyond the usual.
struct Mode {
    name: &'static str,
    capabilities: Capabilities,
    /// Statements that the session starts with.
    start: &'static [&'static str],
    /// Also rows and parameters over 16 MiB.
    large: bool,
}

const TRACK_ALL: &[&str] = &[
    "SET SESSION session_track_schema = ON",
    "SET SESSION session_track_state_change = ON",
    "SET SESSION session_track_system_variables = 'time_zone,autocommit,character_set_client,character_set_results,character_set_connection,sql_mode'",
    "SET SESSION session_track_transaction_info = 'CHARACTERISTICS'",
];

const NO_METADATA: &[&str] = &["SET SESSION resultset_metadata = 'NONE'"];

const MARIADB: Capabilities = Capabilities::MARIADB_PROGRESS
    .union(Capabilities::MARIADB_STMT_BULK_OPERATIONS)
    .union(Capabilities::MARIADB_EXTENDED_METADATA)
    .union(Capabilities::MARIADB_CACHE_METADATA);

#[test]
fn mysql_with_eof() {
    let mode = Mode { name: "diff_eof", capabilities: Capabilities::empty(), start: &[], large: true };
    check_mysql(&mode);
}

#[test]
fn mysql_without_eof() {
    let mode = Mode { name: "diff_ok", capabilities: Capabilities::DEPRECATE_EOF, start: &[], large: true };
    check_mysql(&mode);
}

#[test]
fn mysql_with_session_tracking() {
    let capabilities = Capabilities::SESSION_TRACK;
    check_mysql(&Mode { name: "diff_track_eof", capabilities, start: TRACK_ALL, large: false });
}

#[test]
fn mysql_with_everything() {
    let capabilities = Capabilities::DEPRECATE_EOF
        | Capabilities::SESSION_TRACK
        | Capabilities::QUERY_ATTRIBUTES
        | Capabilities::OPTIONAL_RESULTSET_METADATA
        | Capabilities::FOUND_ROWS
        | Capabilities::ODBC;
    check_mysql(&Mode { name: "diff_all", capabilities, start: TRACK_ALL, large: false });
}

#[test]
fn mysql_with_query_attributes() {
    let capabilities = Capabilities::QUERY_ATTRIBUTES;
    check_mysql(&Mode { name: "diff_attributes", capabilities, start: &[], large: false });
}

#[test]
fn mysql_without_metadata_with_eof() {
    let capabilities = Capabilities::OPTIONAL_RESULTSET_METADATA;
    check_mysql(&Mode { name: "diff_bare_eof", capabilities, start: NO_METADATA, large: false });
}

#[test]
fn mysql_without_metadata_without_eof() {
    let capabilities = Capabilities::OPTIONAL_RESULTSET_METADATA | Capabilities::DEPRECATE_EOF;
    check_mysql(&Mode { name: "diff_bare_ok", capabilities, start: NO_METADATA, large: false });
}

#[test]
fn mariadb_with_eof() {
    check_mariadb(&Mode { name: "diff_eof", capabilities: Capabilities::empty(), start: &[], large: false });
}

#[test]
fn mariadb_without_eof() {
    let capabilities = Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK;
    check_mariadb(&Mode { name: "diff_ok", capabilities, start: TRACK_ALL, large: false });
}

#[test]
fn mariadb_extended_with_eof() {
    check_mariadb(&Mode { name: "diff_extended_eof", capabilities: MARIADB, start: &[], large: false });
}

#[test]
fn mariadb_extended_without_eof() {
    let capabilities = MARIADB | Capabilities::DEPRECATE_EOF | Capabilities::SESSION_TRACK;
    check_mariadb(&Mode { name: "diff_extended_ok", capabilities, start: TRACK_ALL, large: true });
}

fn check_mysql(mode: &Mode) {
    let cluster = sandbox::mysql_shared().expect("a MySQL");
    check(&cluster.primary, mode);
}

fn check_mariadb(mode: &Mode) {
    check(sandbox::mariadb_shared().expect("a MariaDB"), mode);
}

fn check(server: &Server, mode: &Mode) {
    let tollgate = Tollgate::before(server);
    let steps = corpus::steps(server.flavor(), mode.name, mode.capabilities, mode.large);
    let direct = talk(server.flavor(), server.address(), mode, &steps);
    let through = talk(server.flavor(), tollgate.address, mode, &steps);
    let different = steps.iter().zip(direct.iter().zip(&through)).filter(|(_, (direct, through))| direct != through);
    let told: Vec<String> = different.map(|(step, (direct, through))| tell(step, direct, through)).collect();
    assert!(told.is_empty(), "{} of {} steps differ:\n{}", told.len(), steps.len(), told.join("\n"));
}

/// Every step's reply. A step that ends the connection is followed by a new one.
fn talk(flavor: Flavor, address: SocketAddr, mode: &Mode, steps: &[Step]) -> Vec<Vec<Packet>> {
    let schema = mode.name;
    let mut conversation = connect(flavor, address, mode);
    conversation.must(&format!("DROP DATABASE IF EXISTS {schema}"));
    conversation.must(&format!("CREATE DATABASE {schema} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"));
    begin(&mut conversation, mode);
    let mut replies = Vec::new();
    for step in steps {
        if conversation.is_closed() {
            conversation = connect(flavor, address, mode);
            begin(&mut conversation, mode);
        }
        replies.push(conversation.run(step));
    }
    connect(flavor, address, mode).must(&format!("DROP DATABASE {schema}"));
    replies
}

fn connect(flavor: Flavor, address: SocketAddr, mode: &Mode) -> Conversation {
    let mut options = RawOptions::default();
    options.capabilities |= mode.capabilities | Capabilities::LONG_FLAG;
    if flavor == Flavor::Mariadb && mode.capabilities.contains(Capabilities::MARIADB_PROGRESS) {
        options.capabilities -= Capabilities::LONG_PASSWORD;
    }
    let raw = Raw::login_with(address, APP, &options).expect("a login");
    Conversation::new(raw, options.capabilities)
}

fn begin(conversation: &mut Conversation, mode: &Mode) {
    conversation.must(&format!("USE {}", mode.name));
    mode.start.iter().for_each(|sql| conversation.must(sql));
}

fn tell(step: &Step, direct: &[Packet], through: &[Packet]) -> String {
    let same = direct.iter().zip(through).take_while(|(direct, through)| direct == through).count();
    format!(
        "{}\n  packet {same} of {} and {}\n  direct  {}\n  through {}",
        step.name(),
        direct.len(),
        through.len(),
        direct.get(same).map_or_else(|| "nothing".to_owned(), describe),
        through.get(same).map_or_else(|| "nothing".to_owned(), describe),
    )
}
