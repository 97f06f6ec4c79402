//! Servers that are not there, do not answer, or let nobody in.

use std::time::Duration;

use anyhow::Result;
use health::{BuiltIn, Reading, Unknown};
use probes::{Endpoint, Flavor, Login, Secret};
use sandbox::{Options, Server};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

use crate::harness::{USER, cluster, endpoint, heartbeat, make_user, port, session, settings, start};

/// All that is measured on a primary and a replica is unknown for this reason.
async fn all_unknown(bad: Endpoint, login: Option<Login>, why: Unknown) -> Result<()> {
    let mut settings = settings(bad.clone(), vec![bad.clone()], Some(heartbeat("failing")));
    // Where it is not about time, a loaded machine gets some.
    settings.timeout = if why == Unknown::TimedOut { Duration::from_millis(300) } else { Duration::from_secs(10) };
    if let Some(login) = login {
        settings.login = login;
    }
    for metric in [
        BuiltIn::ThreadsRunning,
        BuiltIn::ConnectionsUsed,
        BuiltIn::LockWaits,
        BuiltIn::HistoryListLength,
        BuiltIn::ReplicationLag,
    ] {
        let mut running = start(settings.clone());
        let told = running.report(metric.as_str(), &bad.name(), |_| true).await?;
        assert_eq!(told.reading, Reading::Unknown(why), "{metric}");
    }
    Ok(())
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_unreachable() -> Result<()> {
    let free = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
    all_unknown(port(free), None, Unknown::Unreachable).await
}

#[tokio::test]
async fn one_who_takes_the_connection_and_says_nothing_times_out() -> Result<()> {
    let silent = TcpListener::bind("127.0.0.1:0").await?;
    all_unknown(port(silent.local_addr()?.port()), None, Unknown::TimedOut).await
}

#[tokio::test]
async fn one_who_talks_nonsense_has_failed() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let there = port(listener.local_addr()?.port());
    let talks = tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let _ = client.write_all(b"\x20\x00\x00\x00\xffHTTP/1.1 400 Bad Request\r\n\r\n......").await;
        }
    });
    let told = all_unknown(there, None, Unknown::Failed).await;
    talks.abort();
    told
}

#[tokio::test]
async fn a_wrong_password_is_denied() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let login = Login { user: USER.into(), password: Secret::new("wrong") };
    all_unknown(endpoint(&cluster.primary), Some(login), Unknown::Denied).await
}

/// Error 1040, also for the one connection more that a user with CONNECTION_ADMIN gets.
#[tokio::test]
async fn one_that_has_too_many_connections_has_failed() -> Result<()> {
    let server = Server::start(Options::mysql().argument("--skip-log-bin").argument("--max-connections=4"))?;
    server.root_sql(&make_user(Flavor::Mysql, &heartbeat("any")))?;
    let mut held = Vec::new();
    let full = loop {
        match session(&server).await {
            Ok(session) => held.push(session),
            Err(error) => break error,
        }
    };
    assert!(format!("{full:#}").contains("1040") && held.len() == 5, "{} sessions, then {full:#}", held.len());
    let primary = endpoint(&server);
    all_unknown(primary.clone(), None, Unknown::Failed).await?;
    let mut running = start(settings(primary.clone(), vec![], None));
    running.report("threads_running", &primary.name(), |_| true).await?;
    drop(held);
    running.value(BuiltIn::ThreadsRunning, &primary).await?;
    Ok(())
}

#[tokio::test]
async fn one_that_comes_is_found_and_one_that_goes_is_missed() -> Result<()> {
    let server = Server::start(Options::mysql().argument("--skip-log-bin"))?;
    server.root_sql(&make_user(Flavor::Mysql, &heartbeat("any")))?;
    let primary = endpoint(&server);
    let mut running = start(settings(primary.clone(), vec![], None));
    running.value(BuiltIn::ThreadsRunning, &primary).await?;
    server.kill()?;
    let unreachable = |report: &health::Report| report.reading == Reading::Unknown(Unknown::Unreachable);
    running.report("threads_running", &primary.name(), unreachable).await?;
    server.restart()?;
    running.value(BuiltIn::ThreadsRunning, &primary).await?;
    Ok(())
}
