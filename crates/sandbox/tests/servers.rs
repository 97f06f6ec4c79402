//! Real servers start, replicate, come back after a crash, and let in those they should.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use sandbox::{
    APP, ETL, Flavor, Login, MONITOR, Options, Server, TOLLGATE, client_program, mariadb_shared, mysql_shared,
};

fn run(command: &mut Command) -> Result<String> {
    let output = command.output().context("running a client")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn query(server: &Server, login: Login, arguments: &[&str], sql: &str) -> Result<String> {
    let name = server.flavor().client_program();
    run(server.client(name, login)?.args(["-N", "-B"]).args(arguments).args(["-e", sql]))
}

#[test]
fn a_row_written_on_the_primary_arrives_at_the_replica() -> Result<()> {
    let cluster = mysql_shared()?;
    cluster.primary.root_sql("CREATE TABLE test.arrives (a INT PRIMARY KEY); INSERT INTO test.arrives VALUES (42)")?;
    cluster.wait_for_replica(Duration::from_secs(30))?;
    assert_eq!(cluster.replica.root_sql("SELECT a FROM test.arrives")?, "42\n");
    assert_eq!(cluster.replica.root_sql("SELECT @@gtid_mode, @@read_only")?, "ON\t1\n");
    Ok(())
}

#[test]
fn every_server_has_its_own_port_folder_and_identity() -> Result<()> {
    let cluster = mysql_shared()?;
    let (primary, replica) = (&cluster.primary, &cluster.replica);
    assert_ne!(primary.port(), replica.port());
    assert_ne!(primary.data_dir(), replica.data_dir());
    assert_ne!(primary.pid()?, replica.pid()?);
    assert_ne!(primary.root_sql("SELECT @@server_uuid")?, replica.root_sql("SELECT @@server_uuid")?);
    for server in [primary, replica] {
        assert!(server.socket().as_os_str().len() < 100);
        assert_eq!(server.root_sql("SELECT @@port")?.trim(), server.port().to_string());
    }
    Ok(())
}

#[test]
fn everybody_may_do_what_they_should() -> Result<()> {
    for server in [&mysql_shared()?.primary, mariadb_shared()?] {
        let kill = if server.flavor() == Flavor::Mysql { "CONNECTION_ADMIN" } else { "CONNECTION ADMIN" };
        for (login, privilege) in [
            (APP, "GRANT OPTION"),
            (ETL, "INSERT"),
            (MONITOR, "REPLICATION CLIENT"),
            (MONITOR, "PROCESS"),
            (TOLLGATE, kill),
        ] {
            // MariaDB prints ALL PRIVILEGES for what MySQL lists one by one.
            let grants = query(server, login, &[], "SHOW GRANTS")?
                .replace("ALL PRIVILEGES", "INSERT")
                .replace("BINLOG MONITOR", "REPLICATION CLIENT");
            assert!(grants.contains(privilege), "{} {}: {grants}", server.flavor(), login.user);
        }
        assert!(query(server, Login { user: "app", password: "wrong" }, &[], "SELECT 1").is_err());
        assert!(query(server, TOLLGATE, &[], "SELECT * FROM mysql.user").is_err());
    }
    Ok(())
}

#[test]
fn tls_is_on_and_the_authority_verifies() -> Result<()> {
    let (mysql, mariadb) = (&mysql_shared()?.primary, mariadb_shared()?);
    let ca = |server: &Server| format!("--ssl-ca={}", server.ca_pem().display());
    let sql = "SHOW STATUS LIKE 'Ssl_version'";
    let answer = query(mysql, APP, &["--ssl-mode=VERIFY_CA", &ca(mysql)], sql)?;
    assert!(answer.contains("TLSv1."), "{answer}");
    // MariaDB's certificate is ours and names the host, so that can be verified too.
    let answer = query(mariadb, APP, &["--ssl-verify-server-cert", &ca(mariadb)], sql)?;
    assert!(answer.contains("TLSv1."), "{answer}");
    Ok(())
}

#[test]
fn mariadb_is_10_11_with_ed25519() -> Result<()> {
    let server = mariadb_shared()?;
    let version = server.root_sql("SELECT VERSION()")?;
    assert!(version.starts_with("10.11.") && version.contains("MariaDB"), "{version}");
    assert!(server.version().starts_with("10.11."), "{}", server.version());
    server.root_sql("CREATE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('secret')")?;
    let login = Login { user: "ed", password: "secret" };
    assert_eq!(query(server, login, &[], "SELECT 1")?, "1\n");
    Ok(())
}

#[test]
fn the_settings_that_tests_rely_on() -> Result<()> {
    let sql = "SELECT @@local_infile, @@max_allowed_packet, @@performance_schema, @@log_bin, @@max_connections >= 1000";
    for server in [&mysql_shared()?.primary, &mysql_shared()?.replica, mariadb_shared()?] {
        assert_eq!(server.root_sql(sql)?, "1\t1073741824\t1\t1\t1\n", "{}", server.flavor());
    }
    Ok(())
}

#[test]
fn the_packages_client_programs_run() -> Result<()> {
    for (flavor, names) in [
        (Flavor::Mysql, ["mysql", "mysqldump", "mysqlbinlog", "mysqlslap", "mysqladmin"].as_slice()),
        (Flavor::Mariadb, &["mariadb", "mariadb-dump", "mysqlbinlog", "mariadb-slap", "mysqladmin"]),
    ] {
        for name in names {
            let version = run(client_program(flavor, name)?.arg("--version")).context(*name)?;
            let is_mariadb = version.to_lowercase().contains("mariadb");
            assert_eq!(is_mariadb, flavor == Flavor::Mariadb, "{name}: {version}");
        }
    }
    Ok(())
}

#[test]
fn a_server_comes_back_with_its_data_after_a_crash_and_a_restart() -> Result<()> {
    for options in [Options::mysql(), Options::mariadb()] {
        let server = Server::start(options.argument("--wait-timeout=77"))?;
        server.root_sql("CREATE TABLE test.stays (a INT PRIMARY KEY); INSERT INTO test.stays VALUES (7)")?;
        let (port, pid) = (server.port(), server.pid()?);
        server.kill()?;
        assert!(!server.is_running());
        assert!(server.root_sql("SELECT 1").is_err());
        server.restart()?;
        assert_eq!((server.port(), server.is_running()), (port, true));
        assert_ne!(server.pid()?, pid);
        server.restart_with(&["--max-connections=55"])?;
        assert_eq!(
            server.root_sql("SELECT a, @@global.wait_timeout, @@max_connections FROM test.stays")?,
            "7\t77\t55\n"
        );
    }
    Ok(())
}

#[test]
fn a_server_that_cannot_start_says_why() -> Result<()> {
    let error = Server::start(Options::mysql().argument("--no-such-option")).err().context("it started")?;
    let text = format!("{error:#}");
    assert!(text.contains("no-such-option"), "{text}");
    Ok(())
}
