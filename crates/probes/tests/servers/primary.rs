//! The primary's metrics, who it is, and who follows it.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use health::{BuiltIn, Reading, Unknown};
use mysql_async::prelude::Queryable;
use probes::{Change, Event, Flavor, Pace, Replicas, Role};
use sandbox::Cluster;

use crate::harness::{cluster, endpoint, heartbeat, of_cluster, replication, run, session, settings, start, start_at};

#[tokio::test]
async fn its_values_arrive() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let primary = endpoint(&cluster.primary);
    let mut running = start(settings(primary.clone(), vec![], None));
    for metric in [BuiltIn::ThreadsRunning, BuiltIn::LockWaits, BuiltIn::HistoryListLength] {
        ensure!(running.value(metric, &primary).await? < 1000.0, "{metric}");
    }
    let used = running.value(BuiltIn::ConnectionsUsed, &primary).await?;
    ensure!(used > 0.0 && used < 1.0, "{used}");
    let load = running.report("load_average", "host", |_| true).await?;
    ensure!(matches!(load.reading, Reading::Value(_)), "{load:?}");

    let mut running = start(settings(primary.clone(), vec![], None));
    let seen = running.event("the server", |event| match event {
        Event::Server(seen) => Some(seen),
        _ => None,
    });
    let seen = seen.await?;
    assert_eq!(
        (&*seen.name, seen.role, seen.flavor, seen.read_only),
        (&*primary.name(), Role::Primary, Flavor::Mysql, false)
    );
    assert_eq!(&*seen.id, cluster.primary.root_sql("SELECT @@server_uuid")?.trim());
    Ok(())
}

#[tokio::test]
async fn what_waits_for_a_lock_and_runs_is_counted_and_we_are_not() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let primary = endpoint(&cluster.primary);
    cluster
        .primary
        .root_sql("CREATE TABLE IF NOT EXISTS test.waits (a INT PRIMARY KEY); REPLACE INTO test.waits VALUES (1)")?;
    let mut running = start(settings(primary.clone(), vec![], None));
    let (mut holder, mut waiter) = (session(&cluster.primary).await?, session(&cluster.primary).await?);
    let is = |value: f64| move |report: &health::Report| report.reading == Reading::Value(value);
    run(&mut holder, "BEGIN").await?;
    run(&mut holder, "UPDATE test.waits SET a = 1").await?;
    let waiting = tokio::spawn(async move { run(&mut waiter, "DELETE FROM test.waits WHERE a = 1").await });
    running.report("lock_waits", &primary.name(), is(1.0)).await?;
    // Whoever asks is running, for the server: this session too, but not beside the probe.
    let sql = "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Threads_running'";
    let (mut told, mut counted) = (0.0, 0.0);
    for _ in 0..100 {
        let answer: Option<String> = holder.query_first(sql).await?;
        counted = answer.context("no answer")?.parse::<f64>()?;
        running.forget();
        told = running.value(BuiltIn::ThreadsRunning, &primary).await?;
        if told == counted - 1.0 {
            break;
        }
    }
    ensure!(told == counted - 1.0 && told >= 1.0, "{told} of {counted}");
    run(&mut holder, "COMMIT").await?;
    waiting.await??;
    running.report("lock_waits", &primary.name(), is(0.0)).await?;
    Ok(())
}

#[tokio::test]
async fn a_metric_without_its_privilege_is_denied_and_the_others_are_known() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let primary = endpoint(&cluster.primary);
    cluster.primary.root_sql("REVOKE PROCESS ON *.* FROM probe@'%'")?;
    let mut running = start(settings(primary.clone(), vec![], None));
    let told = running.report("history_list_length", &primary.name(), |_| true).await;
    let other = running.value(BuiltIn::ThreadsRunning, &primary).await;
    cluster.primary.root_sql("GRANT PROCESS ON *.* TO probe@'%'")?;
    assert_eq!(told?.reading, Reading::Unknown(Unknown::Denied));
    other?;
    Ok(())
}

#[tokio::test]
async fn read_only_is_a_demotion_and_nothing_is_written_meanwhile() -> Result<()> {
    // What our user may write all the same, and what nobody may: there the server refuses the beat by itself.
    for read_only in ["read_only", "super_read_only"] {
        demoted_by(read_only).await.with_context(|| read_only.to_owned())?;
    }
    Ok(())
}

async fn demoted_by(read_only: &str) -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut running = start(of_cluster(cluster, Some(heartbeat("demoted"))));
    running.lag_is_known(&cluster.replica).await?;
    let ours = "SELECT GROUP_CONCAT(DISTINCT t.PROCESSLIST_ID) FROM performance_schema.threads t \
        JOIN performance_schema.prepared_statements_instances p ON p.OWNER_THREAD_ID = t.THREAD_ID \
        WHERE p.SQL_TEXT LIKE '%toll\\_gate%'";
    let connection = cluster.primary.root_sql(ours)?;
    cluster.primary.root_sql(&format!("SET GLOBAL {read_only}=ON"))?;
    let change = |event| match event {
        Event::Changed(change) => Some(change),
        _ => None,
    };
    let demoted = running.event("a demotion", change).await;
    // Lag is unknown when no beat can be written; by then the writer has seen it.
    let unknown = running.lag_is_unknown(&cluster.replica, Unknown::Failed).await;
    let beat = "SELECT beat FROM toll_gate.heartbeat WHERE proxy = 'demoted'";
    let before = cluster.primary.root_sql(beat);
    let again = running.lag_is_unknown(&cluster.replica, Unknown::Failed).await;
    let after = cluster.primary.root_sql(beat);
    // Soon another server may answer to this address, so it dials anew.
    let dialled = running.lag(&cluster.replica, |_| {
        cluster.primary.root_sql(ours).is_ok_and(|now| now != connection && !now.contains("NULL"))
    });
    let dialled = dialled.await;
    cluster.primary.root_sql("SET GLOBAL super_read_only=OFF; SET GLOBAL read_only=OFF")?;
    dialled.context("the writer keeps its connection to a demoted server")?;
    assert_eq!(demoted?, Change::Demoted);
    unknown?;
    again?;
    assert_eq!(before?, after?, "our user may write here all the same, and must not");
    assert_eq!(running.event("a promotion", change).await?, Change::Promoted);
    running.lag_is_known(&cluster.replica).await?;
    Ok(())
}

#[tokio::test]
async fn its_replicas_are_discovered() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut settings = of_cluster(cluster, Some(heartbeat("discovers")));
    settings.replicas = Replicas::Discover;
    let mut running = start(settings);
    running.lag_is_known(&cluster.replica).await?;
    Ok(())
}

/// The primary is asked again and again: it follows only since we know the primary.
#[tokio::test]
async fn a_replica_that_joins_later_is_discovered() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let follow = replication(cluster)?;
    cluster.replica.root_sql("STOP REPLICA; RESET REPLICA ALL")?;
    let joins = joins_later(cluster, &follow).await;
    // Once more where it did not come so far: the other tests need it.
    if joins.is_err() {
        let _ = cluster.replica.root_sql(&follow);
    }
    joins
}

async fn joins_later(cluster: &Cluster, follow: &str) -> Result<()> {
    // It notices that nobody fetches any more when it has something to send.
    let look = "CREATE DATABASE left_alone; DROP DATABASE left_alone; SHOW REPLICAS";
    let alone = (0..1000).find_map(|_| match cluster.primary.root_sql(look) {
        Ok(followers) => followers.is_empty().then_some(Ok(())),
        Err(error) => Some(Err(error)),
    });
    alone.context("it is still fetching")??;
    let (primary, replica) = (endpoint(&cluster.primary), endpoint(&cluster.replica).name());
    let mut wanted = of_cluster(cluster, Some(heartbeat("finds later")));
    wanted.replicas = Replicas::Discover;
    let mut running = start(wanted);
    // Discovery comes behind the first sample, so before the second.
    for _ in 0..2 {
        running.value(BuiltIn::ThreadsRunning, &primary).await?;
    }
    let nobody = running.event("a sample", |event| match event {
        Event::Report(report) if *report.server == *replica => Some(false),
        Event::Report(report) if *report.server == *primary.name() => Some(true),
        _ => None,
    });
    ensure!(nobody.await?, "it is not a replica yet");
    cluster.replica.root_sql(follow)?;
    running.lag_is_known(&cluster.replica).await?;
    Ok(())
}

#[tokio::test]
async fn a_quicker_pace_wakes_everything_at_once() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let asleep = Pace::of_all(Duration::from_secs(3600));
    let mut running = start_at(of_cluster(cluster, Some(heartbeat("wakes"))), asleep);
    running.lag(&cluster.replica, |_| true).await?;
    // Nothing more comes for an hour; and the first answer is not from before.
    running.forget();
    let woken = std::time::Instant::now();
    running.pace.send(Pace::of_all(Duration::from_secs(1800)))?;
    let report = running.lag(&cluster.replica, |_| true).await?;
    ensure!(report.at >= woken && matches!(report.reading, Reading::Value(_)), "{report:?}");
    running.forget();
    running.pace.send(Pace::of_all(Duration::from_secs(900)))?;
    running.value(BuiltIn::ThreadsRunning, &endpoint(&cluster.primary)).await?;
    Ok(())
}
