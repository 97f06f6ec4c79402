//! Gates before a real primary and replica: what they hold and what they let pass, and what happens when a metric is wrong.

mod clocks;
mod crowd;
mod documented;
mod failover;
mod lag;
mod logins;
mod mariadb;
mod metrics;
mod modes;
mod replicas;
mod sleep;
mod tools;
mod transactions;
mod wrong;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use sandbox::{Cluster, Login, Server, TOLLGATE};

use crate::harness::{Raw, Tollgate, wait_until};
use crate::rules::{Answer, run};

/// A primary and a replica that these tests may stop, lock and promote: one test at a time.
fn cluster() -> MutexGuard<'static, Cluster> {
    static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
    let new = || {
        let cluster = Cluster::start().expect("a primary and a replica");
        allow(&cluster);
        cluster
    };
    let cluster = CLUSTER.get_or_init(|| Mutex::new(new()));
    cluster.lock().unwrap_or_else(|failed| {
        // The test before has failed, and may have left it locked, stopped or promoted.
        let mut left = failed.into_inner();
        *left = new();
        cluster.clear_poison();
        left
    })
}

/// What the probe user needs; `tollgate grants` has the whole list.
fn allow(cluster: &Cluster) {
    let user = TOLLGATE.user;
    let sql = format!(
        "GRANT REPLICATION CLIENT, REPLICATION SLAVE, PROCESS ON *.* TO {user}@'%';
         GRANT SELECT ON performance_schema.* TO {user}@'%';
         GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON tollgate.* TO {user}@'%';
         GRANT SELECT ON test.* TO {user}@'%';"
    );
    cluster.primary.root_sql(&sql).expect("grants");
    cluster.wait_for_replica(crate::harness::PATIENCE).expect("a replica that follows");
}

/// A proxy with these lines of configuration, which may say `PROBE` for the probe user's login.
fn gated(cluster: &Cluster, yaml: &str) -> Tollgate {
    Tollgate::start(&before(cluster, yaml))
}

/// The configuration of such a proxy.
fn before(cluster: &Cluster, yaml: &str) -> String {
    let upstream = format!(
        "upstream: {{ address: \"{}\", replicas: [\"{}\"] }}\n",
        cluster.primary.address(),
        cluster.replica.address()
    );
    format!("{upstream}{}", as_probe_user(yaml))
}

fn as_probe_user(yaml: &str) -> String {
    yaml.replace("PROBE", &format!("user: {}, password: \"{}\"", TOLLGATE.user, TOLLGATE.password))
}

/// A metric that a test sets: the number in a row of a table.
struct Dial<'s> {
    server: &'s Server,
    table: String,
}

impl<'s> Dial<'s> {
    fn new(cluster: &'s Cluster, name: &str) -> Dial<'s> {
        Dial::on(&cluster.primary, name)
    }

    fn on(server: &'s Server, name: &str) -> Dial<'s> {
        let table = format!("test.dial_{name}");
        let sql =
            format!("DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (v DOUBLE); INSERT INTO {table} VALUES (0)");
        server.root_sql(&sql).expect("a dial");
        Dial { server, table }
    }

    fn set(&self, value: f64) {
        self.server.root_sql(&format!("UPDATE {} SET v = {value}", self.table)).expect("a value");
    }

    /// The metric `dial`, and a gate on it at 10 with these keys more.
    fn yaml(&self, gate: &str) -> String {
        format!(
            "probe: {{ PROBE }}\nmetrics: {{ dial: {{ sql: \"SELECT v FROM {}\", interval: 100ms }} }}\n\
             gates: {{ dial: {{ threshold: 10, control: binary{gate} }} }}\n",
            self.table
        )
    }
}

/// Heartbeats that all proxies together have written.
fn beats(cluster: &Cluster) -> u64 {
    let sum = cluster.primary.root_sql("SELECT COALESCE(SUM(beat), 0) FROM tollgate.heartbeat").expect("beats");
    sum.trim().parse().expect("a number")
}

const REJECT: &str = ", action: reject, classes: [write, call, unparsed, ddl]";

fn login(tollgate: &Tollgate, login: Login) -> Raw {
    Raw::login(tollgate.address, login)
}

fn is_refused_by(answer: &Answer, gate: &str) -> bool {
    matches!(answer, Answer::Err(1226, message) if message.contains(&format!("reason=gate:{gate} ")))
}

/// Until this statement gets through, or is refused by the gate.
fn until_passes(raw: &mut Raw, sql: &str) {
    wait_until(&format!("{sql} to pass"), || run(raw, sql) == Answer::Done);
}

fn until_refused(raw: &mut Raw, sql: &str, gate: &str) {
    wait_until(&format!("{sql} to be refused by {gate}"), || is_refused_by(&run(raw, sql), gate));
}

/// These clients do this again and again while somebody looks, who is told how often it was done. It must never fail.
fn while_they_run(clients: Vec<Raw>, sql: &str, look: impl FnOnce(&AtomicUsize)) {
    let (stop, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for mut raw in clients {
            let (stop, done) = (&stop, &done);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(run(&mut raw, sql), Answer::Done);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // They end also if what follows fails.
        let _ends = Ends(&stop);
        look(&done);
    });
}

struct Ends<'s>(&'s AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What `tollgate grants` prints for a proxy with this configuration.
fn printed_grants(yaml: &str, more: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("proxy.yaml");
    std::fs::write(&path, yaml).expect("a file");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tollgate"));
    let output = command.args(["grants", "--config"]).arg(&path).args(more).output().expect("running the built binary");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A proxy with this configuration has a value of every metric that servers are asked for, and none is denied.
fn everything_is_known(yaml: &str, cluster: &Cluster) {
    let tollgate = Tollgate::start(yaml);
    let asked = ["threads_running", "connections_used", "history_list_length", "lock_waits"]
        .map(|metric| (metric, &cluster.primary));
    let lag = ("replication_lag", &cluster.replica);
    for (metric, server) in asked.into_iter().chain([lag]) {
        wait_until(&format!("{metric} of {}", server.address()), || is_known(&tollgate, metric, server));
    }
    let seen = tollgate.gates();
    assert!(!seen["metrics"].to_string().contains("denied"), "{seen:#}");
    let replica =
        seen["servers"].as_array().and_then(|servers| servers.iter().find(|server| server["role"] == "replica"));
    assert_eq!(replica.map(|replica| &replica["replication"]), Some(&"replicating".into()), "{seen:#}");
}

/// Whether there is a value of this metric on this server.
fn is_known(tollgate: &Tollgate, metric: &str, server: &Server) -> bool {
    let (gates, server) = (tollgate.gates(), server.address().to_string());
    let mut metrics = gates["metrics"].as_array().expect("metrics").iter();
    metrics.any(|found| found["metric"] == metric && found["server"] == server && found["state"] == "known")
}
