//! A group of two: the member that is not the primary is found and measured.

use std::net::TcpListener;

use anyhow::{Context, Result};
use health::{BuiltIn, Unknown};
use probes::{Flavor, Replicas};
use sandbox::{Options, Server};

use crate::harness::{endpoint, heartbeat, make_user, number, settings, start};

const NAME: &str = "6f1a1e5e-6a3c-4b55-9a77-0c9a3c1f2b10";

fn member(id: u32) -> Result<(Server, u16)> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let server = Server::start(Options::mysql().server_id(id).argument("--plugin-load-add=group_replication.so"))?;
    Ok((server, port))
}

fn join(server: &Server, own: u16, seeds: &[u16], first: &str) -> Result<()> {
    let seeds: Vec<String> = seeds.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    server.root_sql(&format!(
        "SET GLOBAL group_replication_group_name='{NAME}', GLOBAL group_replication_local_address='127.0.0.1:{own}',
             GLOBAL group_replication_group_seeds='{}', GLOBAL group_replication_recovery_get_public_key=ON,
             GLOBAL group_replication_bootstrap_group={first};
         CHANGE REPLICATION SOURCE TO SOURCE_USER='repl', SOURCE_PASSWORD='repl-pw' FOR CHANNEL 'group_replication_recovery';
         START GROUP_REPLICATION;
         SET GLOBAL group_replication_bootstrap_group=OFF;",
        seeds.join(",")
    ))?;
    Ok(())
}

#[tokio::test]
async fn the_members_of_a_group_are_discovered_and_measured() -> Result<()> {
    let ((primary, one), (other, two)) = (member(1)?, member(2)?);
    join(&primary, one, &[one, two], "ON").context("the first member")?;
    primary.root_sql("GRANT BACKUP_ADMIN, GROUP_REPLICATION_STREAM, CONNECTION_ADMIN ON *.* TO repl@'%'")?;
    primary.root_sql(&make_user(Flavor::Mysql, &heartbeat("any")))?;
    join(&other, two, &[one, two], "OFF").context("the second member")?;

    let mut wanted = settings(endpoint(&primary), vec![], Some(heartbeat("group")));
    wanted.replicas = Replicas::Discover;
    let mut running = start(wanted);
    running.value(BuiltIn::ThreadsRunning, &endpoint(&primary)).await?;
    running.lag(&other, |told| number(told).is_some_and(|lag| lag < 5.0)).await?;
    other.root_sql("STOP GROUP_REPLICATION")?;
    running.lag_is_unknown(&other, Unknown::Stopped).await?;
    Ok(())
}
