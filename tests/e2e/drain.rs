//! SIGTERM: nobody is cut off who need not be, and a successor takes over unnoticed.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use sandbox::{APP, MONITOR, Options, Server};

use crate::harness::{PATIENCE, Raw, RawOptions, Tollgate, read_err, upstream, wait_until};

fn primary() -> &'static Server {
    &sandbox::mysql_shared().expect("a MySQL").primary
}

fn with(rest: &str) -> Tollgate {
    Tollgate::start(&format!("{}{rest}\n", upstream(primary())))
}

#[test]
fn first_it_is_not_ready_and_still_accepts_and_then_it_does_not() {
    let mut tollgate = with("drain: { wait: 2s, deadline: 10s }");
    wait_until("it is ready", || tollgate.get("/readyz").0 == 200);
    tollgate.signal("TERM");
    wait_until("it says so", || tollgate.get("/readyz") == (503, "draining\n".to_owned()));
    let mut late = Raw::login(tollgate.address, APP);
    assert_eq!(late.value("SELECT 1").as_deref(), Some("1"), "let in while it waits");
    // Asked again, it is already doing it.
    tollgate.signal("TERM");
    assert_eq!(late.rest(), b"", "an idle client is told nothing, as by a server that shuts down");
    assert!(tollgate.wait().success());
    assert!(std::net::TcpStream::connect(tollgate.address).is_err());
    assert!(tollgate.log().contains("sessions_drained=1"), "{}", tollgate.log());
}

#[test]
fn what_is_open_may_be_finished() {
    let mut tollgate = with("drain: { wait: 0s, deadline: 60s }");
    let begin = |sql: &str| {
        let mut client = Raw::login(tollgate.address, APP);
        client.value(sql);
        client
    };
    primary().root_sql("CREATE TABLE IF NOT EXISTS test.drained (a INT)").expect("a table");
    primary().root_sql("CREATE TABLE IF NOT EXISTS test.drained_too (a INT)").expect("a table");
    let mut idle = begin("SELECT 1");
    // It holds nothing that could be waited for.
    let mut failed = begin("SELECT 1");
    failed.query("LOCK TABLES test.drained READ, test.there_is_no_such_table READ");
    assert_eq!(failed.err().0, 1146);
    let mut finishing = [
        ("BEGIN", "COMMIT"),
        ("LOCK TABLES test.drained READ", "UNLOCK TABLES"),
        ("FLUSH TABLES test.drained_too WITH READ LOCK", "UNLOCK TABLES"),
        ("SELECT GET_LOCK('tollgate-drain', 0)", "SELECT RELEASE_LOCK('tollgate-drain')"),
    ]
    .map(|(first, last)| (begin(first), last));
    let mut running = begin("SELECT 1");
    running.query("SELECT SLEEP(1)");
    tollgate.signal("TERM");
    assert_eq!(idle.rest(), b"");
    assert_eq!(failed.rest(), b"", "a LOCK TABLES that failed keeps nobody");
    for (client, last) in &mut finishing {
        assert_eq!(client.value("SELECT 2").as_deref(), Some("2"), "before {last}");
        client.value(last);
        assert_eq!(client.rest(), b"", "after {last}");
    }
    assert_eq!(running.read().expect("its result"), [1], "what runs is answered");
    running.rest();
    assert!(tollgate.wait().success());
    assert!(tollgate.log().contains("sessions_drained=7"), "{}", tollgate.log());
}

/// On a server of its own: nobody else could write meanwhile.
#[test]
fn the_global_read_lock_may_be_let_go_of() {
    let server = Server::start(Options::mysql()).expect("a MySQL");
    let mut tollgate = Tollgate::start(&format!("{}drain: {{ wait: 0s, deadline: 60s }}\n", upstream(&server)));
    let [mut idle, mut locking] = [(); 2].map(|()| Raw::login(tollgate.address, APP));
    locking.value("FLUSH TABLES WITH READ LOCK");
    let locks = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE OBJECT_TYPE = 'GLOBAL'";
    assert_eq!(server.root_sql(locks).expect("its locks").trim(), "1", "so the server says");
    tollgate.signal("TERM");
    assert_eq!(idle.rest(), b"");
    assert_eq!(locking.value("SELECT 2").as_deref(), Some("2"), "a backup goes on");
    locking.value("UNLOCK TABLES");
    assert_eq!(locking.rest(), b"");
    assert!(tollgate.wait().success());
    assert!(tollgate.log().contains("sessions_drained=2"), "{}", tollgate.log());
}

#[test]
fn at_the_deadline_the_rest_is_cut() {
    let mut tollgate = with("drain: { wait: 0s, deadline: 1s }\nprobe: { user: tollgate, password: tollgate-pw }");
    let mut open = Raw::login(tollgate.address, APP);
    open.query("BEGIN");
    open.ok();
    // Not one with SYSTEM_USER, whom only others with it may kill.
    let mut running = Raw::login(tollgate.address, MONITOR);
    running.query("DO SLEEP(611)");
    let count = "SELECT COUNT(*) FROM performance_schema.processlist WHERE info LIKE 'DO SLEEP(611)'";
    wait_until("it runs", || primary().root_sql(count).expect("the processlist").trim() == "1");
    let mut silent = Raw::greeted(tollgate.address);
    tollgate.signal("TERM");
    assert_eq!(running.err(), (1053, "08S01".into(), "Server shutdown in progress".into()));
    assert_eq!(running.sequence, 1);
    assert_eq!(open.rest(), b"");
    assert_eq!(silent.err().0, 1053, "one that never logged in");
    assert!(tollgate.wait().success());
    assert!(tollgate.log().contains("sessions_cut=2"), "{}", tollgate.log());
    wait_until("the statement has ended", || primary().root_sql(count).expect("the processlist").trim() == "0");
}

#[test]
fn a_second_interrupt_ends_it_at_once() {
    let mut tollgate = with("drain: { wait: 600s, deadline: 600s }");
    tollgate.signal("INT");
    wait_until("it drains", || tollgate.get("/readyz").1 == "draining\n");
    tollgate.signal("INT");
    assert!(tollgate.wait().success());
    assert!(tollgate.log().contains("\"ended\""), "{}", tollgate.log());
}

/// Clients that come, ask and go, until told to stop.
struct Crowd {
    stop: Arc<AtomicBool>,
    served: Arc<AtomicUsize>,
    failures: Arc<Mutex<Vec<String>>>,
    threads: Vec<std::thread::JoinHandle<()>>,
}

impl Crowd {
    fn start(visit: impl Fn() -> Result<(), String> + Clone + Send + 'static) -> Crowd {
        let (stop, served, failures): (Arc<AtomicBool>, Arc<AtomicUsize>, Arc<Mutex<Vec<_>>>) = Default::default();
        let threads = (0..4).map(|_| {
            let (stop, served, failures) = (Arc::clone(&stop), Arc::clone(&served), Arc::clone(&failures));
            let visit = visit.clone();
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    match visit() {
                        Ok(()) => drop(served.fetch_add(1, Ordering::Relaxed)),
                        Err(why) => failures.lock().expect("the failures").push(why),
                    }
                }
            })
        });
        let threads = threads.collect();
        Crowd { stop, served, failures, threads }
    }

    fn await_more(&self, count: usize) {
        let from = self.served.load(Ordering::Relaxed);
        wait_until("more clients are served", || self.served.load(Ordering::Relaxed) >= from + count);
    }

    fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("a client");
        }
        let failures = self.failures.lock().expect("the failures");
        let served = self.served.load(Ordering::Relaxed);
        assert!(failures.is_empty(), "{} of {served} failed: {:?}", failures.len(), failures.first());
    }
}

#[test]
fn a_new_process_takes_over_the_port_and_no_client_notices() {
    let mut old = with("drain: { wait: 0s, deadline: 20s }");
    let address = old.address;
    let crowd = Crowd::start(move || {
        let stream = std::net::TcpStream::connect_timeout(&address, PATIENCE).map_err(|error| format!("{error}"))?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|error| format!("{error}"))?;
        let raw = Raw { stream, greeting: None, sequence: 0 };
        std::panic::catch_unwind(|| {
            let mut raw =
                raw.log_in(APP, &RawOptions::default()).map_err(|packet| format!("{:?}", read_err(&packet)))?;
            raw.query("DO 1");
            let reply = raw.read().map_err(|error| format!("asking: {error}"))?;
            if reply.first() == Some(&0) { Ok(()) } else { Err(format!("{:?}", read_err(&reply))) }
        })
        .unwrap_or_else(|_| Err("broken off while logging in".to_owned()))
    });
    crowd.await_more(20);
    let new = with(&format!("listen: \"{address}\""));
    wait_until("it is ready", || new.get("/readyz").0 == 200);
    crowd.await_more(20);
    old.signal("TERM");
    assert!(old.wait().success());
    crowd.await_more(20);
    crowd.end();
    assert!(new.counter("logins_succeeded") > 0);
}

#[test]
fn a_new_process_takes_over_a_socket_and_no_client_notices() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("s");
    let yaml = format!("listen: {}\ndrain: {{ wait: 0s, deadline: 20s }}", path.display());
    let mut old = with(&yaml);
    wait_until("it is ready", || old.get("/readyz").0 == 200);
    let visited = path.clone();
    let crowd = Crowd::start(move || {
        let mut stream = UnixStream::connect(&visited).map_err(|error| format!("{error}"))?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|error| format!("{error}"))?;
        let mut start = [0; 5];
        stream.read_exact(&mut start).map_err(|error| format!("greeting: {error}"))?;
        if start[4] == 10 { Ok(()) } else { Err(format!("no greeting: {start:02x?}")) }
    });
    crowd.await_more(100);
    let new = with(&yaml);
    crowd.await_more(100);
    old.signal("TERM");
    assert!(old.wait().success());
    crowd.await_more(100);
    crowd.end();
    assert!(path.exists(), "the successor's socket is left alone");
    drop(new);
}

/// With everything that a configuration has: the successor is asked on the same HTTP port from then on.
#[test]
fn a_new_process_takes_over_the_http_port_of_one_that_drains() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let http = format!("admin: {{ http: '{free}' }}\ndrain: {{ wait: 20s, deadline: 30s }}\n");
    let mut old = with(&http);
    wait_until("it is ready", || old.get("/readyz").0 == 200);
    let yaml = format!("listen: \"{}\"\n{http}", old.address);
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("proxy.yaml");
    std::fs::write(&file, format!("{}{yaml}", upstream(primary()))).expect("a file");
    let second =
        std::process::Command::new(env!("CARGO_BIN_EXE_tollgate")).args(["run", "--config"]).arg(&file).output();
    let second = second.expect("the built binary");
    let said = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(!second.status.success() && said.contains("send it SIGTERM first"), "{said}");

    let mut open = Raw::login(old.address, APP);
    open.query("BEGIN");
    open.ok();
    old.signal("TERM");
    wait_until("it drains", || old.get("/readyz") == (503, "draining\n".to_owned()));
    let new = with(&yaml);
    wait_until("the new one answers", || new.get("/readyz").0 == 200);
    assert_eq!(open.value("SELECT 1").as_deref(), Some("1"), "whoever was in a transaction goes on");
    let mut raw = Raw::login(new.address, APP);
    assert_eq!(raw.value("SELECT 2").as_deref(), Some("2"));
    old.signal("INT");
    old.signal("INT");
    old.wait();
    assert_eq!(new.get("/readyz").0, 200);
}
