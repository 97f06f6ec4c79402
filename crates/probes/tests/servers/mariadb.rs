//! The same on MariaDB.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use health::{BuiltIn, Reading, Unknown};
use probes::{Ask, Change, CustomMetric, Endpoint, Event, Flavor, On, Replicas, Role, Tls, TlsMode};
use sandbox::{Options, Server};

use crate::harness::{endpoint, heartbeat, make_user, number, settings, start};

#[tokio::test]
async fn a_primary_and_its_replica() -> Result<()> {
    let primary = Server::start(Options::mariadb())?;
    let replica = Server::start(Options::mariadb().server_id(2))?;
    // By the socket the replica is one from now on, and gets the user by replication.
    let port = primary.port();
    replica.root_sql(&format!(
        "CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='repl', MASTER_PASSWORD='repl-pw',
         MASTER_USE_GTID=slave_pos, MASTER_CONNECT_RETRY=1; START SLAVE"
    ))?;
    primary.root_sql(&make_user(Flavor::Mariadb, &heartbeat("any")))?;

    let mut wanted = settings(endpoint(&primary), vec![], Some(heartbeat("maria")));
    wanted.replicas = Replicas::Discover;
    let mut running = start(wanted);
    for metric in [BuiltIn::ThreadsRunning, BuiltIn::LockWaits, BuiltIn::HistoryListLength, BuiltIn::ConnectionsUsed] {
        running.value(metric, &endpoint(&primary)).await?;
    }
    running.lag(&replica, |told| number(told).is_some_and(|lag| lag < 5.0)).await?;

    let mut running = start(settings(endpoint(&primary), vec![endpoint(&replica)], None));
    let seen = running.event("the replica", |event| match event {
        Event::Server(seen) if seen.role == Role::Replica => Some(seen),
        _ => None,
    });
    let seen = seen.await?;
    assert_eq!((seen.flavor, seen.read_only), (Flavor::Mariadb, false));
    running.lag_is_known(&replica).await?;
    for (make, reading) in [
        ("STOP SLAVE SQL_THREAD", Reading::Unknown(Unknown::Stopped)),
        ("STOP SLAVE; CHANGE MASTER TO MASTER_DELAY=3600; START SLAVE", Reading::Delayed),
        (
            "STOP SLAVE; CHANGE MASTER TO MASTER_DELAY=0; START SLAVE; STOP SLAVE IO_THREAD",
            Reading::Unknown(Unknown::Null),
        ),
        ("STOP SLAVE; RESET SLAVE ALL", Reading::Unknown(Unknown::NotAReplica)),
    ] {
        replica.root_sql(make)?;
        running.lag_is(&replica, reading).await?;
    }
    Ok(())
}

#[tokio::test]
async fn read_only_is_a_demotion() -> Result<()> {
    let server = Server::start(Options::mariadb())?;
    let name = endpoint(&server).name();
    server.root_sql(&make_user(Flavor::Mariadb, &heartbeat("any")))?;
    let mut running = start(settings(endpoint(&server), vec![], Some(heartbeat("demoted"))));
    let beat = || server.root_sql("SELECT COALESCE(MAX(beat), 0) FROM toll_gate.heartbeat WHERE proxy = 'demoted'");
    // Until it beats.
    running.report("threads_running", &name, |_| beat().is_ok_and(|beat| beat.trim() != "0")).await?;
    let change = |event| match event {
        Event::Changed(change) => Some(change),
        _ => None,
    };
    server.root_sql("SET GLOBAL read_only = ON")?;
    assert_eq!(running.event("a demotion", change).await?, Change::Demoted);
    let seen = running.event("the server", |event| match event {
        Event::Server(seen) => Some(seen.read_only),
        _ => None,
    });
    assert!(seen.await?, "it is shown");
    let before = beat()?;
    for _ in 0..20 {
        running.value(BuiltIn::ThreadsRunning, &endpoint(&server)).await?;
    }
    assert_eq!(before, beat()?, "nothing is written meanwhile");
    server.root_sql("SET GLOBAL read_only = OFF")?;
    assert_eq!(running.event("a promotion", change).await?, Change::Promoted);
    running.report("threads_running", &name, |_| beat().is_ok_and(|beat| beat != before)).await?;
    Ok(())
}

#[tokio::test]
async fn custom_sql_gives_one_number_or_says_why_not() -> Result<()> {
    let server = Server::start(Options::mariadb())?;
    server.root_sql(&make_user(Flavor::Mariadb, &heartbeat("any")))?;
    server.root_sql("CREATE TABLE toll_gate.secret (a INT)")?;
    let name = endpoint(&server).name();
    let mut running = start(settings(endpoint(&server), vec![endpoint(&server)], None));
    let unknown = Reading::Unknown;
    for (sql, on, reading) in [
        ("SELECT @@port", On::Primary, Reading::Value(f64::from(server.port()))),
        ("SELECT @@port + 0.5", On::Replicas, Reading::Value(f64::from(server.port()) + 0.5)),
        ("SELECT NULL", On::Primary, unknown(Unknown::Null)),
        ("SELECT 'twelve'", On::Primary, unknown(Unknown::NotANumber)),
        ("SELECT 1 UNION ALL SELECT 2", On::Primary, unknown(Unknown::SeveralRows)),
        ("SELECT COUNT(*) FROM toll_gate.secret", On::Primary, unknown(Unknown::Denied)),
        ("INSERT INTO toll_gate.heartbeat VALUES ('x', 1, 1, NOW())", On::Primary, unknown(Unknown::Failed)),
        ("SELECT BENCHMARK(1000000000000, SHA2('a', 512))", On::Primary, unknown(Unknown::TimedOut)),
    ] {
        let metric = CustomMetric {
            name: sql.into(),
            ask: Ask::Sql { sql: sql.into(), on },
            interval: Duration::from_millis(100),
            timeout: Duration::from_secs(1),
        };
        running.custom.send(Arc::new(vec![metric]))?;
        // A loaded machine may be late where it should not.
        let told = running.report(sql, &name, |report| {
            reading == unknown(Unknown::TimedOut) || report.reading != unknown(Unknown::TimedOut)
        });
        assert_eq!(told.await?.reading, reading, "{sql}");
    }
    Ok(())
}

/// With TLS 1.1 at most the server offers TLS and fails each handshake of ours.
#[tokio::test]
async fn preferred_probe_connects_without_tls_to_old_tls_server() -> Result<()> {
    let server = Server::start(Options::mariadb())?;
    server.root_sql(&make_user(Flavor::Mariadb, &heartbeat("old_tls")))?;
    server.restart_with(&["--tls_version=TLSv1.1"])?;
    let preferred = endpoint(&server);
    let mut running = start(settings(preferred.clone(), vec![], None));
    running.value(BuiltIn::ThreadsRunning, &preferred).await?;

    let required = Endpoint { tls: Tls::new(TlsMode::Required), ..preferred };
    let mut running = start(settings(required.clone(), vec![], None));
    let told = running.report(BuiltIn::ThreadsRunning.as_str(), &required.name(), |_| true).await?;
    assert!(matches!(told.reading, Reading::Unknown(_)), "{:?}", told.reading);
    Ok(())
}
