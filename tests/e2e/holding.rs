//! A verdict that waits: what passes, what never does, and when a permit is given back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use admission::port::{Account, Ask, Outcome, Permit, Verdict};
use relay::counters::Counter;
use sandbox::{APP, MONITOR, Server};
use tokio::sync::oneshot;

use crate::harness::{Decides, InProcess, Raw, upstream, wait_until};

/// Holds what says so, and counts the permits that are out.
#[derive(Default)]
pub(crate) struct Gate {
    held: Mutex<Vec<oneshot::Sender<()>>>,
    out: Arc<AtomicUsize>,
}

struct Out(Arc<AtomicUsize>);

impl Account for Out {
    fn blocked_on_client(&self) {}

    fn resumed(&self) {}

    fn settle(&self, _outcome: Outcome) {
        self.abandon();
    }

    fn abandon(&self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Gate {
    fn permit(out: &Arc<AtomicUsize>) -> Permit {
        out.fetch_add(1, Ordering::SeqCst);
        Permit::new(Arc::new(Out(Arc::clone(out))))
    }

    pub(crate) fn permits(&self) -> usize {
        self.out.load(Ordering::SeqCst)
    }

    fn await_held(&self, count: usize) {
        wait_until("a command is held", || self.held.lock().expect("the held").len() == count);
    }

    fn release(&self) {
        self.held.lock().expect("the held").drain(..).for_each(|held| held.send(()).unwrap_or_default());
    }
}

impl Decides for Gate {
    fn ask(&self, ask: &Ask<'_>) -> Verdict {
        let out = Arc::clone(&self.out);
        if !ask.sql.is_some_and(|(sql, _)| sql.starts_with(b"/*hold*/")) {
            return Verdict::Pass(Gate::permit(&out));
        }
        let (sender, released) = oneshot::channel();
        self.held.lock().expect("the held").push(sender);
        Verdict::Hold(Box::pin(async move {
            let _ = released.await;
            Ok(Gate::permit(&out))
        }))
    }
}

pub(crate) fn primary() -> &'static Server {
    &sandbox::mysql_shared().expect("a MySQL").primary
}

pub(crate) fn gated(yaml: &str) -> (Arc<Gate>, InProcess) {
    let gate = Arc::new(Gate::default());
    let proxy = InProcess::start(&format!("{}{yaml}", upstream(primary())), Arc::clone(&gate) as Arc<dyn Decides>);
    (gate, proxy)
}

/// An empty table of the test's own.
pub(crate) fn table(name: &str) -> String {
    let sql = format!("DROP TABLE IF EXISTS test.{name}; CREATE TABLE test.{name} (a LONGTEXT)");
    primary().root_sql(&sql).expect("a table");
    format!("test.{name}")
}

pub(crate) fn rows(table: &str) -> String {
    primary().root_sql(&format!("SELECT COUNT(*) FROM {table}")).expect("a count").trim().to_owned()
}

#[test]
fn a_held_command_goes_when_it_is_released_and_those_behind_it_wait() {
    let (gate, proxy) = gated("");
    let mut client = Raw::login(proxy.address, APP);
    client.query("/*hold*/ SELECT 1 INTO @a");
    client.query("SELECT 2 INTO @a");
    client.query("SELECT 3 + @a INTO @a");
    gate.await_held(1);
    assert_eq!(gate.permits(), 0);
    gate.release();
    for _ in 0..3 {
        client.ok();
    }
    assert_eq!(client.value("SELECT @a").as_deref(), Some("5"));
    wait_until("permits are given back", || gate.permits() == 0);
}

#[test]
fn a_client_that_leaves_while_held_never_has_its_statement_run() {
    let (gate, proxy) = gated("");
    let table = table("held_and_left");
    // The second is larger than a read: it fills the buffer that the client's leaving is read into.
    for (number, text) in [(1, "x".to_owned()), (2, "x".repeat(40_000))] {
        let mut client = Raw::login(proxy.address, APP);
        client.query(&format!("/*hold*/ INSERT INTO {table} VALUES ('{text}')"));
        gate.await_held(1);
        drop(client);
        wait_until("its leaving is noticed", || proxy.counter(Counter::LeftDuringHold) == number);
        gate.release();
        wait_until("its session has ended", || proxy.shared.registry.is_empty());
    }
    assert_eq!(rows(&table), "0");
}

#[test]
fn a_kill_that_the_server_agrees_to_ends_a_hold() {
    let (gate, proxy) = gated("");
    let table = table("held_and_killed");
    let mut victim = Raw::login(proxy.address, APP);
    victim.query(&format!("/*hold*/ INSERT INTO {table} VALUES ('x')"));
    gate.await_held(1);
    let mut other = Raw::login(proxy.address, MONITOR);
    other.query(&format!("KILL QUERY {}", victim.id()));
    assert_eq!(other.err().0, 1095, "not theirs");
    assert_eq!(gate.held.lock().expect("the held").iter().filter(|held| !held.is_closed()).count(), 1, "still held");
    Raw::login(proxy.address, APP).value(&format!("KILL QUERY {}", victim.id()));
    assert_eq!(victim.err(), (1317, "70100".into(), "Query execution was interrupted".into()));
    gate.release();
    assert_eq!(rows(&table), "0");
    assert_eq!(victim.value("SELECT 1").as_deref(), Some("1"), "the session goes on");
}

#[test]
fn losing_the_upstream_ends_a_hold_with_a_close() {
    let (gate, proxy) = gated("");
    for closing in ["KILL {id}", "wait_timeout"] {
        let mut client = Raw::login(proxy.address, APP);
        let id = client.value("SELECT CONNECTION_ID()").expect("an id");
        if closing == "wait_timeout" {
            // The server says why, and then closes.
            client.query("SET wait_timeout = 1");
            client.ok();
        }
        client.query("/*hold*/ SELECT 1");
        gate.await_held(1);
        if closing != "wait_timeout" {
            primary().root_sql(&closing.replace("{id}", &id)).expect("killing it");
        }
        assert_eq!(client.rest(), b"", "{closing}");
        gate.release();
    }
}

#[test]
fn a_drain_ends_a_hold_with_1053() {
    let (gate, proxy) = gated("");
    let mut client = Raw::login(proxy.address, APP);
    client.query("/*hold*/ SELECT 1");
    gate.await_held(1);
    let drained = std::thread::spawn(move || drop(proxy));
    assert_eq!(client.err(), (1053, "08S01".into(), "Server shutdown in progress".into()));
    assert_eq!(client.sequence, 1);
    assert!(client.is_closed());
    drained.join().expect("the drain");
}

#[test]
fn a_permit_is_out_exactly_while_the_server_works() {
    let (gate, proxy) = gated("");
    let mut client = Raw::login(proxy.address, APP);
    let id = client.value("SELECT CONNECTION_ID()").expect("an id");
    client.query("SELECT SLEEP(600)");
    wait_until("it is out", || gate.permits() == 1);
    primary().root_sql(&format!("KILL QUERY {id}")).expect("ending it");
    assert_eq!(client.read().expect("a result")[0], 1);
    wait_until("it is back after a result", || gate.permits() == 0);
    let _rest: Vec<_> = (0..4).map(|_| client.read()).collect();
    client.query("SELECT nothing_like_it");
    assert_eq!(client.err().0, 1054);
    wait_until("it is back after an error", || gate.permits() == 0);
    client.query("SELECT SLEEP(600)");
    wait_until("it is out", || gate.permits() == 1);
    primary().root_sql(&format!("KILL {id}")).expect("ending the connection");
    wait_until("it is back when the upstream is lost", || gate.permits() == 0);
}
