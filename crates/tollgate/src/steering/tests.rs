use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use admission::port::{Admission, Ask, Client, Gate, Outcome, SessionState, Verdict};
use serde_json::Value as Json;

use super::*;

/// Everything that is logged.
#[derive(Debug, Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What is logged of clients meanwhile.
fn clients_logged(during: impl FnOnce()) -> Vec<Json> {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = tracing_subscriber::fmt().json().flatten_event(true).with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(log, during);
    let bytes = lines.0.lock().unwrap();
    let lines = std::str::from_utf8(&bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap());
    lines.filter(|line: &Json| line["message"] == "client").collect()
}

const SESSION: SessionState = SessionState { in_transaction: false, autocommit: true, holds_locks: false };

fn client(user: &str) -> Client<'_> {
    Client {
        connection: 1,
        user: user.as_bytes(),
        address: None,
        listener: "main",
        certificate: None,
        attributes: &[],
        database: None,
    }
}

/// Asks so many statements, and answers those that pass.
fn ask(gate: &mut dyn Gate, user: &str, statements: usize) {
    let payload = b"\x03SELECT * FROM t";
    let scan = statement::scan(b"SELECT * FROM t", statement::Mode::default());
    for _ in 0..statements {
        let verdict = gate.ask(&Ask {
            client: client(user),
            command: wire::Command::Query,
            payload,
            sql: payload.get(1..).map(|sql| (sql, &scan)),
            note: None,
            attributes: None,
            mode: Some(statement::Mode::default()),
            session: SESSION,
        });
        match verdict {
            Verdict::Pass(permit) => {
                permit.settle(Outcome { succeeded: true, deadlocked: false, rows: 1, session: SESSION });
            }
            Verdict::Refuse(_) => {}
            Verdict::Hold(_) => panic!("nothing is held here"),
        }
    }
}

fn steering(folder: &Path) -> Steering {
    let file = folder.join("proxy.yaml");
    let yaml = "upstream: { address: db }\n\
        defaults: { action: reject, reject_pause: 0s }\n\
        rules: [{ id: r, match: { user: etl }, do: { rejection_ratio: 1 }, permanent: true }]\n";
    std::fs::write(&file, yaml).unwrap();
    Steering::new(Reloader::start(&file).unwrap().0, 1)
}

#[test]
fn each_minute_it_logs_what_clients_asked_since_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let mut steering = steering(folder.path());
    let keeper = steering.keeper();
    let [mut etl, mut app] = ["etl", "app"].map(|user| keeper.enter(&client(user)).unwrap());
    let start = Instant::now();
    let mut at = |seconds: u64| {
        let logged = clients_logged(|| steering.tick(start + Duration::from_secs(seconds)));
        let number = |line: &Json, key: &str| line[key].as_u64().unwrap();
        let told = |line: &Json| {
            let numbers = ["seen", "passed", "rejected"].map(|key| number(line, key));
            (line["client"].as_str().unwrap().to_owned(), numbers, line["total_by_rule"].as_str().unwrap().to_owned())
        };
        logged.iter().map(told).collect::<Vec<_>>()
    };
    let line = |client: &str, numbers: [u64; 3], by_rule: &str| (client.to_owned(), numbers, by_rule.to_owned());
    assert!(at(0).is_empty());
    ask(&mut *etl, "etl", 3);
    ask(&mut *app, "app", 2);
    assert!(at(59).is_empty());
    // The busiest first.
    assert_eq!(at(60), [line("etl", [3, 0, 3], "r/ratio/rejected=3"), line("app", [2, 2, 0], "")]);
    ask(&mut *app, "app", 5);
    ask(&mut *etl, "etl", 1);
    assert!(at(119).is_empty());
    assert_eq!(at(120), [line("app", [5, 5, 0], ""), line("etl", [1, 0, 1], "r/ratio/rejected=4")]);
    ask(&mut *app, "app", 1);
    assert_eq!(at(181), [line("app", [1, 1, 0], "")]);
    assert!(at(240).is_empty());
    assert!(at(241).is_empty(), "nobody has asked anything");
}
