//! What holds locks must finish; what has only read need not begin to write.

use sandbox::APP;

use super::{Dial, cluster, gated, is_refused_by, login, until_passes};
use crate::rules::{Answer, run};

#[test]
fn a_transaction_that_wrote_finishes_and_one_that_read_is_stopped_at_its_first_write() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "transactions");
    cluster
        .primary
        .root_sql("DROP TABLE IF EXISTS test.gated_tx; CREATE TABLE test.gated_tx (a INT)")
        .expect("a table");
    let tollgate = gated(&cluster, &dial.yaml(", classes: [write, call, unparsed, ddl], max_delay: 10s, trickle: 0"));
    let (write, read) = ("INSERT INTO test.gated_tx VALUES (1)", "SELECT COUNT(*) FROM test.gated_tx");
    for begin in ["BEGIN", "SET autocommit = 0"] {
        dial.set(0.0);
        let mut probe = login(&tollgate, APP);
        until_passes(&mut probe, "DELETE FROM test.gated_tx WHERE a = 0");
        let (mut wrote, mut only_read) = (login(&tollgate, APP), login(&tollgate, APP));
        for (raw, first) in [(&mut wrote, write), (&mut only_read, read)] {
            assert_eq!(run(raw, begin), Answer::Done);
            assert_eq!(run(raw, first), Answer::Done);
        }
        dial.set(99.0);
        // Ten seconds are longer than any transaction is held.
        tollgate.await_gate("dial", "closed");
        for sql in [write, read, write, "COMMIT"] {
            assert_eq!(run(&mut wrote, sql), Answer::Done, "{begin}: {sql}");
        }
        assert_eq!(run(&mut only_read, read), Answer::Done);
        let stopped = run(&mut only_read, write);
        assert!(is_refused_by(&stopped, "dial"), "{begin}: {stopped:?}");
        assert!(is_refused_by(&run(&mut only_read, write), "dial"), "and stays so");
        assert_eq!(run(&mut only_read, "COMMIT"), Answer::Done);
    }
    let count = cluster.primary.root_sql("SELECT COUNT(*) FROM test.gated_tx").expect("a count");
    assert_eq!(count.trim(), "6", "three writes of each that finished, and none of the others");
}

/// A statement that waits holds nothing, and passes when the gate opens.
#[test]
fn what_waits_passes_when_the_gate_opens() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "opens");
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.gated_wait (a INT)").expect("a table");
    let tollgate = gated(&cluster, &dial.yaml(", classes: [write], max_delay: 10m, trickle: 0"));
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, "INSERT INTO test.gated_wait VALUES (1)");
    dial.set(99.0);
    tollgate.await_gate("dial", "closed");
    raw.command(0x03, b"INSERT INTO test.gated_wait VALUES (2)");
    crate::harness::wait_until("one waits", || tollgate.waiting() == 1);
    let count = "SELECT COUNT(*) FROM test.gated_wait WHERE a = 2";
    assert_eq!(cluster.primary.root_sql(count).expect("a count").trim(), "0");
    dial.set(0.0);
    assert_eq!(crate::rules::answer(&mut raw), Answer::Done);
    assert_eq!(cluster.primary.root_sql(count).expect("a count").trim(), "1");
}

/// Who leaves while it waits never has its statement run.
#[test]
fn who_leaves_is_not_run() {
    let cluster = cluster();
    let dial = Dial::new(&cluster, "leaves");
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.gated_left (a INT)").expect("a table");
    let tollgate = gated(&cluster, &dial.yaml(", classes: [write], max_delay: 10m, trickle: 0"));
    let mut raw = login(&tollgate, APP);
    until_passes(&mut raw, "INSERT INTO test.gated_left VALUES (1)");
    dial.set(99.0);
    tollgate.await_gate("dial", "closed");
    raw.command(0x03, b"INSERT INTO test.gated_left VALUES (2)");
    crate::harness::wait_until("one waits", || tollgate.waiting() == 1);
    drop(raw);
    crate::harness::wait_until("it has left", || tollgate.waiting() == 0);
    dial.set(0.0);
    let mut other = login(&tollgate, APP);
    until_passes(&mut other, "INSERT INTO test.gated_left VALUES (3)");
    let count = cluster.primary.root_sql("SELECT COUNT(*) FROM test.gated_left WHERE a = 2").expect("a count");
    assert_eq!(count.trim(), "0");
}
