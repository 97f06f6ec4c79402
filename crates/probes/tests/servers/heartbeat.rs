//! The heartbeat's own troubles.

use anyhow::{Context, Result, ensure};
use health::{BuiltIn, Reading, Unknown};
use probes::{Event, Flavor, Heartbeat, MissingTable};
use sandbox::Server;

use crate::harness::{cluster, endpoint, heartbeat, make_user, number, of_cluster, run, session, start};

#[tokio::test]
async fn a_primary_that_takes_no_writes_leaves_the_lag_unknown() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut running = start(of_cluster(cluster, Some(heartbeat("locked"))));
    running.lag_is_known(&cluster.replica).await?;
    let mut holder = session(&cluster.primary).await?;
    run(&mut holder, "FLUSH TABLES WITH READ LOCK").await?;
    let unknown = running.lag_is_unknown(&cluster.replica, Unknown::TimedOut).await;
    let other = running.value(BuiltIn::ThreadsRunning, &endpoint(&cluster.primary)).await;
    run(&mut holder, "UNLOCK TABLES").await?;
    unknown?;
    other.context("it is asked all the same")?;
    let known = running.lag_is_known(&cluster.replica).await?;
    ensure!(matches!(known.reading, Reading::Value(lag) if lag < 1.0), "a write that hung is not lag: {known:?}");
    Ok(())
}

#[tokio::test]
async fn a_heartbeat_that_may_not_be_written_is_denied() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut running = start(of_cluster(cluster, Some(heartbeat("revoked"))));
    running.lag_is_known(&cluster.replica).await?;
    cluster.primary.root_sql("REVOKE INSERT, UPDATE ON toll_gate.heartbeat FROM probe@'%'")?;
    let denied = running.lag_is_unknown(&cluster.replica, Unknown::Denied).await;
    let other = running.value(BuiltIn::ThreadsRunning, &endpoint(&cluster.primary)).await;
    cluster.primary.root_sql("GRANT INSERT, UPDATE ON toll_gate.heartbeat TO probe@'%'")?;
    denied?;
    other.context("it is asked all the same")?;
    let known = running.lag_is_known(&cluster.replica).await?;
    ensure!(matches!(known.reading, Reading::Value(lag) if lag < 1.0), "what was not written is not lag: {known:?}");
    Ok(())
}

#[tokio::test]
async fn a_missing_table_is_made_only_on_request() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut wanted = heartbeat("asks");
    wanted.table = "on_request".into();
    cluster.primary.root_sql(&make_user(Flavor::Mysql, &wanted))?;
    wanted.missing = MissingTable::SayHow;
    let mut running = start(of_cluster(cluster, Some(wanted.clone())));
    running.lag_is_unknown(&cluster.replica, Unknown::Failed).await?;
    let there = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'on_request'";
    assert_eq!(cluster.primary.root_sql(there)?.trim(), "0");
    // As an operator would after reading the log.
    cluster.primary.root_sql(&probes::heartbeat_statements(&wanted).join(";"))?;
    running.lag_is_known(&cluster.replica).await?;

    cluster.primary.root_sql("DROP TABLE toll_gate.on_request")?;
    running.lag_is_unknown(&cluster.replica, Unknown::Failed).await.context("it disappears again")?;
    wanted.missing = MissingTable::Create;
    let mut running = start(of_cluster(cluster, Some(wanted)));
    running.lag_is_known(&cluster.replica).await?;
    assert_eq!(cluster.primary.root_sql(there)?.trim(), "1");
    Ok(())
}

/// What is granted is not enough for that, on purpose: who wants it grants more.
#[tokio::test]
async fn a_missing_schema_is_made_by_one_who_may() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let wanted = Heartbeat { schema: "toll_gate_too".into(), ..heartbeat("makes the schema") };
    cluster.primary.root_sql(&make_user(Flavor::Mysql, &wanted))?;
    cluster.primary.root_sql("DROP DATABASE toll_gate_too")?;
    let mut running = start(of_cluster(cluster, Some(wanted)));
    running.lag_is_unknown(&cluster.replica, Unknown::Denied).await?;
    cluster.primary.root_sql("GRANT CREATE ON toll_gate_too.* TO probe@'%'")?;
    running.lag_is_known(&cluster.replica).await?;
    drop(running);
    cluster.primary.root_sql("REVOKE CREATE ON toll_gate_too.* FROM probe@'%'; DROP DATABASE toll_gate_too")?;
    Ok(())
}

#[tokio::test]
async fn two_proxies_of_one_name_are_found_out_and_the_next_life_is_not() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut first = start(of_cluster(cluster, Some(heartbeat("twin"))));
    first.lag_is_known(&cluster.replica).await?;
    let mut second = start(of_cluster(cluster, Some(heartbeat("twin"))));
    first.lag_is_unknown(&cluster.replica, Unknown::Foreign).await?;
    second.lag_is_unknown(&cluster.replica, Unknown::Foreign).await?;
    drop(first);
    second.lag_is_known(&cluster.replica).await?;
    drop(second);
    let mut third = start(of_cluster(cluster, Some(heartbeat("twin"))));
    third.lag_is_known(&cluster.replica).await?;
    Ok(())
}

#[tokio::test]
async fn rows_of_proxies_that_are_no_more_are_removed() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut running = start(of_cluster(cluster, Some(heartbeat("makes the table"))));
    running.lag_is_known(&cluster.replica).await?;
    cluster.primary.root_sql(
        "INSERT INTO toll_gate.heartbeat VALUES ('gone', 1, 1, NOW(6) - INTERVAL 2 DAY), ('quiet', 1, 1, NOW(6) - INTERVAL 2 HOUR)",
    )?;
    let mut running = start(of_cluster(cluster, Some(heartbeat("tidies"))));
    running.lag_is_known(&cluster.replica).await?;
    // It tidies behind its first beat; the next lag is behind that.
    for _ in 0..3 {
        running.lag_is_known(&cluster.replica).await?;
    }
    let left = cluster.primary.root_sql("SELECT proxy FROM toll_gate.heartbeat WHERE proxy IN ('gone', 'quiet')")?;
    assert_eq!(left.trim(), "quiet");
    Ok(())
}

/// While the table is locked, nothing can be written into it anew; then it is.
#[tokio::test]
async fn a_table_that_is_emptied_is_no_lag_and_nobody_else() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut running = start(of_cluster(cluster, Some(heartbeat("emptied"))));
    // Long enough that an age since the first beat cannot be taken for a lag.
    for _ in 0..50 {
        running.lag_is_known(&cluster.replica).await?;
    }
    for empty in ["TRUNCATE TABLE toll_gate.heartbeat", "DELETE FROM toll_gate.heartbeat"] {
        running.forget();
        let mut holder = session(&cluster.primary).await?;
        run(&mut holder, "LOCK TABLES toll_gate.heartbeat WRITE").await?;
        run(&mut holder, empty).await?;
        let mut told = Vec::new();
        let gone = running
            .event("a row that is gone", |event| match event {
                Event::Report(report) if &*report.metric == BuiltIn::ReplicationLag.as_str() => {
                    told.push(report.reading);
                    // The latter where the machine is so slow that the beat is overdue before the replica has followed.
                    matches!(report.reading, Reading::Unknown(Unknown::NoRow | Unknown::TimedOut)).then_some(())
                }
                _ => None,
            })
            .await;
        run(&mut holder, "UNLOCK TABLES").await?;
        gone.with_context(|| empty.to_owned())?;
        let known = running.lag(&cluster.replica, |reading| {
            assert_ne!(reading, Reading::Unknown(Unknown::Foreign), "{empty}");
            number(reading).is_some()
        });
        told.push(known.await?.reading);
        for _ in 0..5 {
            told.push(running.lag_is_known(&cluster.replica).await?.reading);
        }
        let high = told.iter().filter_map(|reading| number(*reading)).fold(0.0, f64::max);
        ensure!(high < 3.0 && !told.contains(&Reading::Unknown(Unknown::Foreign)), "{empty}: {told:?}");
    }
    Ok(())
}

/// How often the primary has run these, by its prepared statements.
fn counted(primary: &Server, sql: &str) -> Result<u64> {
    let counts = "SELECT COALESCE(SUM(COUNT_EXECUTE), 0) FROM performance_schema.prepared_statements_instances";
    let told = primary.root_sql(&format!("{counts} WHERE SQL_TEXT LIKE '{sql}'"))?;
    told.trim().parse().context(told)
}

#[tokio::test]
async fn the_usual_beat_is_one_statement() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let mut running = start(of_cluster(cluster, Some(heartbeat("once"))));
    running.lag_is_known(&cluster.replica).await?;
    let looks = || counted(&cluster.primary, "SELECT @@global.read_only%run%");
    let beats = || counted(&cluster.primary, "UPDATE `toll\\_gate`%");
    let (looked, beaten) = (looks()?, beats()?);
    while beats()? < beaten + 5 {
        running.lag_is_known(&cluster.replica).await?;
    }
    ensure!(looks()? == looked, "{} looks beside {} beats", looks()? - looked, beats()? - beaten);
    Ok(())
}

/// A replica then runs our statement itself, and is read-only.
#[tokio::test]
async fn beats_arrive_where_statements_are_logged() -> Result<()> {
    let (cluster, _turn) = cluster().await?;
    let before = cluster.primary.root_sql("SELECT @@global.binlog_format")?;
    cluster.replica.root_sql("SET GLOBAL read_only = ON")?;
    let mut ended = Ok(());
    for format in ["STATEMENT", "MIXED", "ROW"] {
        cluster.primary.root_sql(&format!("SET GLOBAL binlog_format = '{format}'"))?;
        let shown = || cluster.replica.root_sql("SELECT MAX(beat) FROM toll_gate.heartbeat WHERE proxy = 'logged'");
        let arrives = async {
            let mut running = start(of_cluster(cluster, Some(heartbeat("logged"))));
            running.lag_is_known(&cluster.replica).await?;
            // The first beats of a connection are written otherwise than those that follow.
            let first: u64 = shown()?.trim().parse()?;
            running
                .lag(&cluster.replica, |_| {
                    shown().is_ok_and(|beat| beat.trim().parse::<u64>().is_ok_and(|beat| beat > first + 5))
                })
                .await
        };
        ended = ended.and(arrives.await.map(drop).with_context(|| format!("{format} is logged")));
    }
    cluster.replica.root_sql("SET GLOBAL read_only = OFF")?;
    cluster.primary.root_sql(&format!("SET GLOBAL binlog_format = '{}'", before.trim()))?;
    ended
}
