//! The primary, and the replica that is slowed to an exact speed.
//!
//! The writers' updates call `storm.cost()` for each row. On the primary that function does nothing. They are binlogged
//! as statements, so the replica's applier calls a function of the same name there, which was made to take its time: it
//! sleeps until the time that the row costs has passed since the row before it was done. That needs no CPU, so a busy
//! machine hardly changes the speed; it is exact; and one UPDATE of a table of one row changes it.

use super::plan::Plan;
use anyhow::{Context, Result};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Opts, OptsBuilder};
use sandbox::{APP, Cluster, Login, Options, Server};
use std::net::SocketAddr;
use std::time::Duration;

/// Each writer has rows of its own: writers wait for the gate, not for each other's locks.
pub const ROWS_A_WRITER: u32 = 200;
/// Connections that go around the proxy, where the scenario has them.
pub const AROUND_WRITERS: u32 = 4;
/// What the foreground reads.
pub const ITEMS: u32 = 10_000;
const CATCH_UP: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Servers {
    pub cluster: Cluster,
}

impl Servers {
    /// Starts both, makes the tables and slows the replica. Blocks for some seconds.
    pub fn start(plan: &Plan) -> Result<Self> {
        let primary = Options::mysql().argument("--binlog-format=STATEMENT");
        let replica = Options::mysql()
            .argument("--binlog-format=STATEMENT")
            // One applier. Nothing replicates from this replica, and its own binlog would be full of warnings.
            .argument("--replica-parallel-workers=1")
            .argument("--log-replica-updates=OFF")
            // The slow function writes.
            .argument("--log-bin-trust-function-creators=ON");
        let cluster = Cluster::with_options(primary, replica)?;
        cluster.primary.root_sql(&tables(plan)).context("making the tables")?;
        cluster.primary.root_sql(&grants()).context("granting what the gates will need")?;
        cluster.wait_for_replica(CATCH_UP).with_context(|| errors(&cluster.replica))?;
        cluster.replica.root_sql(&slow_function(plan.replica_rate)).context("slowing the replica")?;
        Ok(Self { cluster })
    }

    /// To be said when the replica does not do what it should.
    pub fn replica_errors(&self) -> String {
        errors(&self.cluster.replica)
    }

    pub fn primary(&self) -> SocketAddr {
        self.cluster.primary.address()
    }

    pub fn replica(&self) -> SocketAddr {
        self.cluster.replica.address()
    }
}

/// The first row of the range that large updates use.
pub fn large_start(plan: &Plan) -> u32 {
    (plan.writers + AROUND_WRITERS) * ROWS_A_WRITER + 1
}

/// How many rows take the replica this long.
pub fn rows_worth(plan: &Plan, time: Duration) -> u32 {
    (plan.replica_rate * time.as_secs_f64()).round() as u32
}

/// Makes the replica apply this many rows a second from the next statement on.
pub async fn set_rate(replica: &mut Conn, rows_a_second: f64) -> Result<()> {
    replica.query_drop("SET sql_log_bin = 0").await?;
    replica.query_drop(format!("UPDATE storm.price SET seconds = {}", 1.0 / rows_a_second)).await?;
    Ok(())
}

/// How to reach an address, which may be the proxy's.
pub fn opts(address: SocketAddr, login: Login) -> Opts {
    OptsBuilder::default()
        .ip_or_hostname(address.ip().to_string())
        .tcp_port(address.port())
        .user(Some(login.user))
        .pass(Some(login.password))
        // mysql_async would otherwise find out the server's socket and go around the proxy.
        .prefer_socket(false)
        .into()
}

/// The rig's own connection to a server.
pub async fn direct(address: SocketAddr) -> Result<Conn> {
    Conn::new(opts(address, APP)).await.with_context(|| format!("connecting to {address}"))
}

/// What the server's log has of errors: why an applier has stopped stands there.
fn errors(server: &Server) -> String {
    let log = server.log();
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("[ERROR]")).collect();
    format!("errors in the server's log: {}", if lines.is_empty() { "none".to_owned() } else { lines.join(" | ") })
}

fn tables(plan: &Plan) -> String {
    let rows = large_start(plan) + rows_worth(plan, plan.large_update().map_or(Duration::ZERO, |(_, worth)| worth));
    let numbers = |count| {
        format!("WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < {count}) SELECT id")
    };
    format!(
        "CREATE DATABASE storm;
         USE storm;
         CREATE TABLE counters (id INT PRIMARY KEY, n BIGINT NOT NULL);
         CREATE TABLE items (id INT PRIMARY KEY, note CHAR(60) NOT NULL);
         CREATE TABLE beat (id INT PRIMARY KEY, at BIGINT NOT NULL);
         CREATE FUNCTION cost() RETURNS INT NO SQL RETURN 0;
         -- The depth is not replicated: as a statement the filling would fail on the replica.
         SET SESSION cte_max_recursion_depth = 1000000, SESSION binlog_format = ROW;
         INSERT INTO counters {}, 0 FROM ids;
         INSERT INTO items {}, REPEAT('x', 60) FROM ids;
         INSERT INTO beat VALUES (1, 0);",
        numbers(rows),
        numbers(ITEMS),
    )
}

/// Beyond what the sandbox gives Tollgate's user: its heartbeat, and to look at the replica.
fn grants() -> String {
    let user = sandbox::TOLLGATE.user;
    format!(
        "GRANT CREATE, SELECT, INSERT, UPDATE, DELETE ON tollgate.* TO {user}@'%';
         GRANT REPLICATION CLIENT, PROCESS ON *.* TO {user}@'%';
         GRANT SELECT ON performance_schema.* TO {user}@'%';"
    )
}

/// As if rows stood in a line from their commit on the primary: each has its time from when the row before it was done, or
/// from its commit if that is later. So what applying and waking up cost is inside that time and not on top, an applier
/// that the machine held up catches up, and idleness is not saved up. When the row before was done is kept in a table: the
/// applier forgets user variables from statement to statement.
fn slow_function(rows_a_second: f64) -> String {
    format!(
        "STOP REPLICA SQL_THREAD;
         SET sql_log_bin = 0;
         USE storm;
         CREATE TABLE price (seconds DOUBLE NOT NULL);
         INSERT INTO price VALUES ({price});
         CREATE TABLE applier (id INT PRIMARY KEY, free_at DOUBLE NOT NULL);
         INSERT INTO applier VALUES (1, 0);
         DROP FUNCTION cost;
         DELIMITER //
         CREATE FUNCTION cost() RETURNS INT MODIFIES SQL DATA
         BEGIN
           DECLARE price, moment, free DOUBLE;
           SELECT seconds INTO price FROM storm.price;
           SELECT free_at INTO free FROM storm.applier WHERE id = 1;
           SET moment = UNIX_TIMESTAMP(SYSDATE(6));
           SET free = LEAST(GREATEST(free, @@session.original_commit_timestamp / 1e6), moment) + price;
           UPDATE storm.applier SET free_at = free WHERE id = 1;
           IF free > moment THEN
             DO SLEEP(free - moment);
           END IF;
           RETURN 0;
         END//
         DELIMITER ;
         START REPLICA SQL_THREAD;",
        price = 1.0 / rows_a_second,
    )
}

#[cfg(test)]
mod tests {
    use super::super::plan::tests::plan;
    use super::super::plan::{Control, Scenario};
    use super::*;

    #[test]
    fn large_updates_have_rows_of_their_own() {
        let plan = plan(Scenario::Huge, Control::Off);
        assert_eq!(large_start(&plan), 52 * 200 + 1);
        assert_eq!(rows_worth(&plan, Duration::from_secs(2)), 800);
        assert!(tables(&plan).contains("WHERE id < 11201"));
    }
}
