//! The same on MariaDB.

use anyhow::Result;
use health::{BuiltIn, Reading, Unknown};
use probes::{Event, Flavor, Replicas, Role};
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
