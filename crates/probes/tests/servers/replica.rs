//! What can become of a replica, with a heartbeat and without.

use std::time::Duration;

use anyhow::{Result, ensure};
use health::{Reading, Unknown};
use probes::{Event, Flavor, Heartbeat, ReplicationState};
use sandbox::{Options, Server};

use crate::harness::{
    cluster, endpoint, heartbeat, make_user, number, of_cluster, over, replication, run, session, settings, start,
};

/// With and without: the states are the same.
fn both(proxy: &str) -> [Option<Heartbeat>; 2] {
    [Some(heartbeat(proxy)), None]
}

#[tokio::test]
async fn an_applier_that_is_held_up_lags_and_catches_up() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    cluster.primary.root_sql("CREATE TABLE IF NOT EXISTS test.held (a INT)")?;
    cluster.wait_for_replica(Duration::from_secs(30))?;
    for heartbeat in both("held") {
        let with_heartbeat = heartbeat.is_some();
        let mut running = start(of_cluster(cluster, heartbeat));
        let first = running.lag_is_known(&cluster.replica).await?;
        ensure!(number(first.reading) < Some(20.0), "{first:?}");
        let mut holder = session(&cluster.replica).await?;
        run(&mut holder, "FLUSH TABLES WITH READ LOCK").await?;
        cluster.primary.root_sql("INSERT INTO test.held VALUES (1)")?;
        let lagging = running.lag(&cluster.replica, over(0.7)).await;
        run(&mut holder, "UNLOCK TABLES").await?;
        let lagging = lagging?;
        let caught_up = running.lag(&cluster.replica, |told| number(told).is_some_and(|lag| lag < 0.5)).await?;
        if with_heartbeat {
            ensure!(lagging.applied.is_some_and(|work| work.transactions == 7.0), "{lagging:?}");
        }
        ensure!(caught_up.at > lagging.at);
    }
    Ok(())
}

#[tokio::test]
async fn an_applier_that_is_stopped_is_unknown() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    for heartbeat in both("stopped") {
        let mut running = start(of_cluster(cluster, heartbeat));
        running.lag_is_known(&cluster.replica).await?;
        cluster.replica.root_sql("STOP REPLICA SQL_THREAD")?;
        let stopped = running.lag_is_unknown(&cluster.replica, Unknown::Stopped).await;
        cluster.replica.root_sql("START REPLICA")?;
        stopped?;
        running.lag_is_known(&cluster.replica).await?;
    }
    Ok(())
}

#[tokio::test]
async fn one_that_is_delayed_on_purpose_does_not_count() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let delay = |seconds: u32| {
        cluster.replica.root_sql(&format!(
            "STOP REPLICA SQL_THREAD; CHANGE REPLICATION SOURCE TO SOURCE_DELAY={seconds}; START REPLICA"
        ))
    };
    for heartbeat in both("delayed") {
        let mut running = start(of_cluster(cluster, heartbeat));
        running.lag_is_known(&cluster.replica).await?;
        delay(3600)?;
        let delayed = running.lag_is(&cluster.replica, Reading::Delayed).await;
        delay(0)?;
        delayed?;
        running.lag_is_known(&cluster.replica).await?;
    }
    Ok(())
}

#[tokio::test]
async fn one_that_has_lost_its_source_lags_by_its_heartbeat_and_is_null_without() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    for heartbeat in both("lost") {
        let with_heartbeat = heartbeat.is_some();
        let mut running = start(of_cluster(cluster, heartbeat));
        running.lag_is_known(&cluster.replica).await?;
        cluster.replica.root_sql("STOP REPLICA IO_THREAD")?;
        let told = if with_heartbeat {
            running.lag(&cluster.replica, over(0.7)).await
        } else {
            running.lag_is_unknown(&cluster.replica, Unknown::Null).await
        };
        cluster.replica.root_sql("START REPLICA")?;
        told?;
        running.lag(&cluster.replica, |told| number(told).is_some_and(|lag| lag < 0.7)).await?;
    }
    Ok(())
}

#[tokio::test]
async fn one_that_follows_nobody_is_not_a_replica() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut running = [start(of_cluster(cluster, Some(heartbeat("promoted")))), start(of_cluster(cluster, None))];
    for running in &mut running {
        running.lag_is_known(&cluster.replica).await?;
    }
    let replication = replication(cluster)?;
    cluster.replica.root_sql("STOP REPLICA; RESET REPLICA ALL; SET GLOBAL read_only=OFF")?;
    let mut told = Vec::new();
    for running in &mut running {
        told.push(running.lag_is_unknown(&cluster.replica, Unknown::NotAReplica).await);
    }
    let mut newcomer = start(of_cluster(cluster, None));
    let seen = newcomer.event("its state", |event| match event {
        Event::Server(seen) => seen.replication,
        _ => None,
    });
    let seen = seen.await;
    cluster.replica.root_sql(&replication)?;
    for told in told {
        told?;
    }
    assert_eq!(seen?, ReplicationState::NotAReplica);
    for running in &mut running {
        running.lag_is_known(&cluster.replica).await?;
    }
    Ok(())
}

/// It is not said to follow nobody because nobody may ask: that would count as certain.
#[tokio::test]
async fn one_that_may_not_be_asked_whom_it_follows_is_denied() -> Result<()> {
    // What its tables say is not enough then.
    let replica = Server::start(Options::mysql().argument("--performance-schema=OFF"))?;
    replica.root_sql(&make_user(Flavor::Mysql, &heartbeat("any")))?;
    replica.root_sql("REVOKE REPLICATION CLIENT ON *.* FROM probe@'%'")?;
    let mut running = start(settings(endpoint(&replica), vec![endpoint(&replica)], None));
    let told = running.lag(&replica, |_| true).await?;
    assert_eq!(told.reading, Reading::Unknown(Unknown::Denied));
    replica.root_sql("GRANT REPLICATION CLIENT ON *.* TO probe@'%'")?;
    let told = running.lag(&replica, |told| told != Reading::Unknown(Unknown::Denied)).await?;
    assert_eq!(told.reading, Reading::Unknown(Unknown::NotAReplica));
    Ok(())
}

#[tokio::test]
async fn one_that_hangs_times_out_and_the_others_go_on() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut running = start(of_cluster(cluster, Some(heartbeat("hangs"))));
    running.lag_is_known(&cluster.replica).await?;
    let pid = i32::try_from(cluster.replica.pid()?)?;
    let pid = rustix::process::Pid::from_raw(pid).ok_or_else(|| anyhow::anyhow!("no process"))?;
    rustix::process::kill_process(pid, rustix::process::Signal::STOP)?;
    let hung = running.lag_is_unknown(&cluster.replica, Unknown::TimedOut).await;
    let primary = endpoint(&cluster.primary);
    let other = running.value(health::BuiltIn::ThreadsRunning, &primary).await;
    rustix::process::kill_process(pid, rustix::process::Signal::CONT)?;
    hung?;
    other?;
    running.lag_is_known(&cluster.replica).await?;
    Ok(())
}
