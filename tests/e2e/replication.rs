//! A real replica that follows its primary through the proxy: COM_REGISTER_SLAVE and COM_BINLOG_DUMP_GTID (MySQL), COM_BINLOG_DUMP
//! (MariaDB), with and without semi-synchronous acknowledgements, which come from the client in the middle of a reply.

use std::time::Duration;

use sandbox::{APP, Flavor, Options, Server};

use crate::harness::{Tollgate, upstream, wait_until};

const CATCHING_UP: Duration = Duration::from_secs(60);

/// A primary, and a server that is to follow it.
struct Servers {
    primary: Server,
    replica: Server,
}

impl Servers {
    /// `None`: the replica would not reach a proxy on this machine.
    fn start(flavor: Flavor) -> Option<Servers> {
        let options = |server_id| Options::of(flavor).server_id(server_id);
        let primary = Server::start(options(1)).expect("a primary");
        let host_network = std::env::var("TOLLGATE_DOCKER_NETWORK").is_ok_and(|name| name == "host");
        if primary.origin().starts_with("Docker") && !host_network {
            eprintln!("skipped: a replica in a container cannot reach this machine's loopback address");
            return None;
        }
        Some(Servers { primary, replica: Server::start(options(2)).expect("a replica") })
    }

    fn follow_through(&self, port: u16) {
        let sql = match self.primary.flavor() {
            Flavor::Mysql => format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='{}', SOURCE_PASSWORD='{}',
                 SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1; START REPLICA;",
                APP.user, APP.password
            ),
            Flavor::Mariadb => format!(
                "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='{}', MASTER_PASSWORD='{}',
                 MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1; START SLAVE;",
                APP.user, APP.password
            ),
        };
        self.replica.root_sql(&sql).expect("a replica that follows");
    }

    /// Waits until the replica has what the primary has now.
    fn catch_up(&self) {
        let seconds = CATCHING_UP.as_secs();
        let (position, wait) = match self.primary.flavor() {
            Flavor::Mysql => ("SELECT @@global.gtid_executed", "WAIT_FOR_EXECUTED_GTID_SET"),
            Flavor::Mariadb => ("SELECT @@global.gtid_binlog_pos", "MASTER_GTID_WAIT"),
        };
        let position = self.primary.root_sql(position).expect("a position").replace("\\n", "").replace('\n', "");
        let waited = self.replica.root_sql(&format!("SELECT {wait}('{position}', {seconds})")).expect("an answer");
        assert_eq!(waited.trim(), "0", "the replica has not come to {position}: {}", self.replica.log());
    }

    fn on_both(&self, sql: &str) -> (String, String) {
        let on = |server: &Server| server.root_sql(sql).expect("a value").trim().to_owned();
        (on(&self.primary), on(&self.replica))
    }
}

/// Connections that send the binary log, as the primary sees them.
fn dumps(primary: &Server) -> u64 {
    let sql = "SELECT COUNT(*) FROM information_schema.processlist WHERE COMMAND LIKE 'Binlog Dump%'";
    primary.root_sql(sql).expect("the processlist").trim().parse().expect("a number")
}

fn writes_arrive(flavor: Flavor) {
    let Some(servers) = Servers::start(flavor) else { return };
    let tollgate = Tollgate::before(&servers.primary);
    servers.follow_through(tollgate.port());

    servers
        .primary
        .root_sql(
            "CREATE TABLE test.followed (id INT PRIMARY KEY, bin LONGBLOB); INSERT INTO test.followed VALUES (1, 'small');
             INSERT INTO test.followed VALUES (2, REPEAT('0123456789abcdef', 1310720)); DELETE FROM test.followed WHERE id = 1;
             INSERT INTO test.followed VALUES (3, 'last')",
        )
        .expect("writes, one of them over 16 MiB");
    servers.catch_up();
    let (written, arrived) = servers.on_both("SELECT id, LENGTH(bin), SHA2(bin, 256) FROM test.followed ORDER BY id");
    assert_eq!(written, arrived);
    assert_eq!(arrived.lines().count(), 2);
    assert_eq!(dumps(&servers.primary), 1);
    assert_eq!(tollgate.sessions(), 1, "the replica came through the proxy");
    assert_eq!(tollgate.counter("upstream_malformed") + tollgate.counter("client_malformed"), 0);

    // The proxy goes, another takes its place, and the replica goes on where it was.
    let port = tollgate.port();
    drop(tollgate);
    servers.primary.root_sql("INSERT INTO test.followed VALUES (4, 'meanwhile')").expect("a write");
    let tollgate = Tollgate::start(&format!("listen: 127.0.0.1:{port}\n{}", upstream(&servers.primary)));
    servers.catch_up();
    assert_eq!(servers.on_both("SELECT bin FROM test.followed WHERE id = 4"), ("meanwhile".into(), "meanwhile".into()));
    assert_eq!(tollgate.sessions(), 1);

    // A replica that stops leaves nothing behind; a primary notices when it sends events, with a proxy and without.
    servers.replica.root_sql(if flavor == Flavor::Mysql { "STOP REPLICA" } else { "STOP SLAVE" }).expect("a stop");
    wait_until("the session has ended", || tollgate.sessions() == 0);
    wait_until("the dump has ended", || {
        servers.primary.root_sql("UPDATE test.followed SET id = id + 1 WHERE id > 3").expect("an event");
        dumps(&servers.primary) == 0
    });
}

#[test]
fn a_mysql_replica_follows_through_the_proxy() {
    writes_arrive(Flavor::Mysql);
}

#[test]
fn a_mariadb_replica_follows_through_the_proxy() {
    writes_arrive(Flavor::Mariadb);
}

/// What differs between the servers in semi-synchronous replication.
struct SemiSync {
    on_primary: &'static str,
    on_replica: &'static str,
    /// Replicas that acknowledge; transactions that were acknowledged; those that were not waited for.
    status: [&'static str; 3],
}

const MYSQL: SemiSync = SemiSync {
    on_primary: "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'; SET GLOBAL rpl_semi_sync_source_timeout = 60000;
                 SET GLOBAL rpl_semi_sync_source_enabled = 1",
    on_replica: "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so'; SET GLOBAL rpl_semi_sync_replica_enabled = 1",
    status: ["Rpl_semi_sync_source_clients", "Rpl_semi_sync_source_yes_tx", "Rpl_semi_sync_source_no_tx"],
};

const MARIADB: SemiSync = SemiSync {
    on_primary: "SET GLOBAL rpl_semi_sync_master_timeout = 60000; SET GLOBAL rpl_semi_sync_master_enabled = 1",
    on_replica: "SET GLOBAL rpl_semi_sync_slave_enabled = 1",
    status: ["Rpl_semi_sync_master_clients", "Rpl_semi_sync_master_yes_tx", "Rpl_semi_sync_master_no_tx"],
};

/// Every commit waits for the replica's word, which the proxy passes on while the reply of the dump is under way.
fn acknowledgements_arrive(flavor: Flavor, semi_sync: &SemiSync) {
    const COMMITS: u64 = 50;
    let Some(servers) = Servers::start(flavor) else { return };
    let tollgate = Tollgate::before(&servers.primary);
    let value = |name: &str| -> u64 {
        let row = servers.primary.root_sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'")).expect("a status variable");
        row.split_whitespace().nth(1).and_then(|value| value.parse().ok()).expect("a number")
    };
    let [clients, acknowledged, not_waited_for] = semi_sync.status;
    servers.replica.root_sql(semi_sync.on_replica).expect("the plugin of replicas");
    servers.follow_through(tollgate.port());
    servers.primary.root_sql("CREATE TABLE test.acknowledged (id INT PRIMARY KEY)").expect("a table");
    servers.catch_up();
    servers.primary.root_sql(semi_sync.on_primary).expect("the plugin of primaries");
    // Who was there before the plugin has to come again.
    let (stop, start) =
        if flavor == Flavor::Mysql { ("STOP REPLICA", "START REPLICA") } else { ("STOP SLAVE", "START SLAVE") };
    servers.replica.root_sql(&format!("{stop}; {start}")).expect("a new connection");
    wait_until("the replica acknowledges", || value(clients) == 1);

    let before = (value(acknowledged), value(not_waited_for));
    let inserts: String = (0..COMMITS).map(|id| format!("INSERT INTO test.acknowledged VALUES ({id});")).collect();
    servers.primary.root_sql(&inserts).expect("commits");
    assert_eq!((value(acknowledged), value(not_waited_for)), (before.0 + COMMITS, before.1));
    assert_eq!(tollgate.sessions(), 1, "the replica came through the proxy");
    servers.catch_up();
    assert_eq!(servers.on_both("SELECT COUNT(*) FROM test.acknowledged").1, COMMITS.to_string());
}

#[test]
fn a_mysql_primary_waits_for_acknowledgements_through_the_proxy() {
    acknowledgements_arrive(Flavor::Mysql, &MYSQL);
}

#[test]
fn a_mariadb_primary_waits_for_acknowledgements_through_the_proxy() {
    acknowledgements_arrive(Flavor::Mariadb, &MARIADB);
}

/// MySQL's mysqlbinlog, which `tests/drivers/mysqlbinlog` runs, does not read MariaDB's binary log.
#[test]
fn mariadbs_own_mysqlbinlog_reads_through_the_proxy() {
    let server = sandbox::mariadb_shared().expect("a MariaDB");
    let tollgate = Tollgate::before(server);
    let status = server.root_sql("CREATE TABLE test.read_back (s TEXT); SHOW MASTER STATUS").expect("a position");
    let mut words = status.split_whitespace();
    let (file, position) = (words.next().expect("a file").to_owned(), words.next().expect("a position").to_owned());
    server.root_sql("INSERT INTO test.read_back VALUES ('through the gate')").expect("a write");
    for tls in ["--skip-ssl", "--ssl"] {
        let mut program = server.client_to("mariadb-binlog", APP, tollgate.address).expect("MariaDB's program");
        let output = program
            .args([tls, "--read-from-remote-server", "--verbose", "--base64-output=decode-rows"])
            .args([&format!("--start-position={position}"), &file])
            .output()
            .expect("its output");
        let (out, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{tls}: {errors}");
        assert!(
            out.contains("### INSERT INTO `test`.`read_back`") && out.contains("@1='through the gate'"),
            "{tls}: {out}"
        );
    }
    assert_eq!(tollgate.counter("logins_succeeded"), 2);
    assert_eq!(tollgate.counter("upstream_malformed") + tollgate.counter("client_malformed"), 0);
}
