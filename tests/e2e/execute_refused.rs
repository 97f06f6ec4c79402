//! A refused COM_STMT_EXECUTE leaves its statement whole, before real servers: the client sends its types once only, as
//! client libraries do, and what it gets in the end is what a session without the refusal got.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use admission::port::{Ask, Permit, Refusal, Verdict};
use relay::counters::Counter;
use sandbox::{APP, Server};
use wire::{Capabilities, Command};

use crate::differential::conversation::{Conversation, Packet, describe};
use crate::differential::corpus::Step;
use crate::differential::values::Value;
use crate::harness::{Decides, InProcess, Raw, RawOptions, upstream};

const BLOB: u16 = 0xFC;
const SEND_LONG_DATA: u8 = 0x18;
const BULK_EXECUTE: u8 = 0xFA;

/// Refuses so many executions.
#[derive(Debug, Default)]
struct RefuseExecutions(AtomicUsize);

impl Decides for RefuseExecutions {
    fn ask(&self, ask: &Ask<'_>) -> Verdict {
        let execution = matches!(ask.command, Command::StmtExecute | Command::StmtBulkExecute);
        let left = |count: usize| count.checked_sub(1);
        if execution && self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok() {
            let message = "a budget is used up [tollgate]".to_owned();
            return Verdict::Refuse(Refusal { code: 1226, sqlstate: *b"HY000", message });
        }
        Verdict::Pass(Permit::without_reply())
    }
}

fn long_data(parameter: u16, bytes: &[u8]) -> Step {
    Step::OnStatement(SEND_LONG_DATA, [&parameter.to_le_bytes()[..], bytes].concat())
}

fn execute(values: &[Value], types: bool) -> Step {
    Step::Execute { flags: 0, values: values.to_vec(), types }
}

/// Runs the steps of `refused` through the proxy and `direct` with the server; their last replies must be the same.
fn check(server: &Server, capabilities: Capabilities, refusals: usize, refused: &[Step], direct: &[Step]) {
    let admission = Arc::new(RefuseExecutions(AtomicUsize::new(refusals)));
    let proxy = InProcess::start(&upstream(server), admission);
    let mut options = RawOptions::default();
    options.capabilities |= capabilities;
    if capabilities.contains(Capabilities::MARIADB_STMT_BULK_OPERATIONS) {
        options.capabilities -= Capabilities::LONG_PASSWORD;
    }
    let run = |address, steps: &[Step]| {
        let raw = Raw::login_with(address, APP, &options).expect("a login");
        let mut conversation = Conversation::new(raw, options.capabilities);
        steps.iter().map(|step| conversation.run(step)).collect::<Vec<Vec<Packet>>>()
    };
    let through = run(proxy.address, refused);
    let codes = through.iter().flatten().filter_map(|packet| wire::ErrPacket::decode(&packet.payload).ok());
    assert_eq!(codes.filter(|err| err.code == 1226).count(), refusals, "told about each");
    assert_eq!(proxy.counter(Counter::Refused), refusals as u64);

    let plain = run(server.address(), direct);
    let answer = |replies: &[Vec<Packet>]| {
        let reply = replies.last().expect("a reply");
        reply.iter().map(describe).collect::<Vec<_>>()
    };
    assert_eq!(answer(&through), answer(&plain));
    assert!(plain.last().is_some_and(|reply| reply[0].payload[0] != 0xFF), "{:?}", answer(&plain));
}

fn on_each_server(check: impl Fn(&Server, Capabilities)) {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let mariadb = sandbox::mariadb_shared().expect("a MariaDB");
    for capabilities in [Capabilities::empty(), Capabilities::QUERY_ATTRIBUTES, Capabilities::DEPRECATE_EOF] {
        check(&mysql.primary, capabilities);
    }
    check(mariadb, Capabilities::empty());
}

#[test]
fn the_retry_has_the_types_of_the_refused() {
    on_each_server(|server, capabilities| {
        let values = [Value::int(-5), Value::text("text"), Value::Null(6)];
        let prepare = Step::Prepare("SELECT ?, ?, ?".to_owned());
        let again = [execute(&values, true), execute(&values, false), execute(&values, false)];
        let refused = [std::slice::from_ref(&prepare), again.as_slice()].concat();
        check(server, capabilities, 2, &refused, &[prepare, execute(&values, true)]);
    });
}

#[test]
fn long_data_is_not_doubled() {
    on_each_server(|server, capabilities| {
        let prepare = Step::Prepare("SELECT ?, LENGTH(?)".to_owned());
        let data = [long_data(0, b"some "), long_data(0, b"data"), long_data(1, &[7; 50_000])];
        let values = [Value::Long(BLOB), Value::Long(BLOB)];
        let direct = [std::slice::from_ref(&prepare), data.as_slice(), &[execute(&values, true)]].concat();
        let refused = [
            &[prepare],
            data.as_slice(),
            &[execute(&values, true)],
            // The client library sends all of it again.
            data.as_slice(),
            &[execute(&values, false)],
        ]
        .concat();
        check(server, capabilities, 1, &refused, &direct);
    });
}

#[test]
fn a_retry_may_be_larger_than_a_packet() {
    let mysql = sandbox::mysql_shared().expect("a MySQL");
    let values = |length| [Value::Bytes(BLOB, vec![b'x'; length]), Value::int(3)];
    let prepare = Step::Prepare("SELECT LENGTH(?), ?".to_owned());
    let size = wire::packet::MAX_PAYLOAD;
    // The first is one packet from the client and two to the server.
    for length in [size - 22, size + 1000] {
        let refused = [prepare.clone(), execute(&values(10), true), execute(&values(length), false)];
        let direct = [prepare.clone(), execute(&values(length), true)];
        let sent = 1 + 10 + 1 + 1 + 4 + length + 4;
        assert!(length > size || (sent < size && sent + 4 >= size), "at the boundary");
        check_numbers_from(&mysql.primary, &refused, &direct, length > size);
    }
}

/// As [`check`]; where the client's command had one packet less than the direct one, so have its reply's numbers.
fn check_numbers_from(server: &Server, refused: &[Step], direct: &[Step], same_count: bool) {
    if same_count {
        return check(server, Capabilities::empty(), 1, refused, direct);
    }
    let proxy = InProcess::start(&upstream(server), Arc::new(RefuseExecutions(AtomicUsize::new(1))));
    let mut conversation = Conversation::new(Raw::login(proxy.address, APP), RawOptions::default().capabilities);
    let replies: Vec<_> = refused.iter().map(|step| conversation.run(step)).collect();
    let reply = replies.last().expect("a reply");
    let numbers: Vec<u8> = reply.iter().map(|packet| packet.sequence).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6], "{:?}", reply.iter().map(describe).collect::<Vec<_>>());
}

#[test]
fn a_bulk_execution_keeps_its_types_too() {
    let mariadb = sandbox::mariadb_shared().expect("a MariaDB");
    let bulk = |types: bool, rows: &[i32]| {
        let mut body = if types { vec![128, 0, 3, 0] } else { vec![0, 0] };
        for row in rows {
            body.push(0);
            body.extend_from_slice(&row.to_le_bytes());
        }
        Step::OnStatement(BULK_EXECUTE, body)
    };
    let extended = Capabilities::MARIADB_STMT_BULK_OPERATIONS;
    let setting = |table: &str| {
        [
            Step::Query(format!("CREATE OR REPLACE TEMPORARY TABLE test.{table} (a INT)"), Vec::new()),
            Step::Prepare(format!("INSERT INTO test.{table} VALUES (?)")),
        ]
    };
    let look = |table: &str| Step::Query(format!("SELECT a FROM test.{table}"), Vec::new());
    for (name, last) in [("bulk", bulk(false, &[1, 2])), ("then_plain", execute(&[Value::int(5)], false))] {
        let refused = [&setting(name)[..], &[bulk(true, &[1, 2]), last.clone(), look(name)]].concat();
        let first = match last {
            Step::Execute { .. } => execute(&[Value::int(5)], true),
            _ => bulk(true, &[1, 2]),
        };
        let direct = [&setting(name)[..], &[first, look(name)]].concat();
        check(mariadb, extended, 1, &refused, &direct);
    }
}
