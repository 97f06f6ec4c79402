//! Gates before a real primary and replica: what they hold and what they let pass, and what happens when a metric is wrong.

mod crowd;
mod failover;
mod lag;
mod logins;
mod sleep;
mod tools;
mod transactions;
mod wrong;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use sandbox::{Cluster, Login, Server, TOLLGATE};

use crate::harness::{Raw, Tollgate, wait_until};
use crate::rules::{Answer, run};

/// A primary and a replica that these tests may stop, lock and promote: one test at a time.
fn cluster() -> MutexGuard<'static, Cluster> {
    static CLUSTER: OnceLock<Mutex<Cluster>> = OnceLock::new();
    let cluster = CLUSTER.get_or_init(|| {
        let cluster = Cluster::start().expect("a primary and a replica");
        allow(&cluster);
        Mutex::new(cluster)
    });
    cluster.lock().unwrap_or_else(PoisonError::into_inner)
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
    let upstream = format!(
        "upstream: {{ address: \"{}\", replicas: [\"{}\"] }}\n",
        cluster.primary.address(),
        cluster.replica.address()
    );
    Tollgate::start(&format!("{upstream}{}", as_probe_user(yaml)))
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
