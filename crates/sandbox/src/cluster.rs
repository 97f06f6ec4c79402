//! A primary and its replica, and the servers that all tests of a process share.

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};

use crate::users::REPLICATION;
use crate::{Options, Server};

/// A MySQL primary with a replica that follows it by GTID.
#[derive(Debug)]
pub struct Cluster {
    pub primary: Server,
    pub replica: Server,
}

impl Cluster {
    pub fn start() -> Result<Self> {
        Self::with_options(Options::mysql(), Options::mysql())
    }

    /// The replica's server id is made to differ.
    pub fn with_options(primary: Options, mut replica: Options) -> Result<Self> {
        if replica.server_id == primary.server_id {
            replica.server_id = primary.server_id + 1;
        }
        // Read-only to those without CONNECTION_ADMIN, as replicas are.
        replica.arguments.insert(0, "--read-only=ON".into());
        // Fetched and initialised once, before the two start at the same time.
        crate::server::prepare(primary.flavor)?;
        let (primary, replica) = std::thread::scope(|scope| {
            let other = scope.spawn(|| Server::start(replica));
            let primary = Server::start(primary);
            (primary, other.join())
        });
        let replica = replica.map_err(|_| anyhow!("the replica's start panicked"))?;
        let this = Self { primary: primary?, replica: replica? };
        this.replicate().context("starting the replication")?;
        Ok(this)
    }

    /// Waits until the replica has everything that the primary had when this was called.
    pub fn wait_for_replica(&self, deadline: Duration) -> Result<()> {
        let executed = self.primary.root_sql("SELECT @@global.gtid_executed")?.replace("\\n", "").replace('\n', "");
        let seconds = deadline.as_secs_f64();
        let answer = self.replica.root_sql(&format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', {seconds})"))?;
        ensure!(answer.trim() == "0", "the replica did not catch up within {deadline:?}");
        Ok(())
    }

    fn replicate(&self) -> Result<()> {
        let host = self.primary.host_for_peers()?;
        let port = self.primary.port();
        self.replica.root_sql(&format!(
            "CHANGE REPLICATION SOURCE TO SOURCE_HOST='{host}', SOURCE_PORT={port}, SOURCE_USER='{}', SOURCE_PASSWORD='{}',
             SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1, SOURCE_CONNECT_RETRY=1, SOURCE_RETRY_COUNT=86400;
             START REPLICA;",
            REPLICATION.user, REPLICATION.password
        ))?;
        Ok(())
    }
}

/// The way to the shared cluster, for those who like it under the type's name.
#[derive(Debug)]
pub enum Mysql {}

impl Mysql {
    /// See [`mysql_shared`].
    pub fn shared() -> Result<&'static Cluster> {
        mysql_shared()
    }
}

/// One primary and replica a process, started at the first use and shared by all its tests: use your own database or
/// tables in it, and leave global settings as they were. A test that kills a server starts its own.
pub fn mysql_shared() -> Result<&'static Cluster> {
    static CLUSTER: OnceLock<Result<Cluster, String>> = OnceLock::new();
    shared(&CLUSTER, Cluster::start)
}

/// One MariaDB a process, shared in the same way.
pub fn mariadb_shared() -> Result<&'static Server> {
    static SERVER: OnceLock<Result<Server, String>> = OnceLock::new();
    shared(&SERVER, || Server::start(Options::mariadb()))
}

/// A failed start is not tried again: every test would wait for it anew.
fn shared<T>(cell: &'static OnceLock<Result<T, String>>, start: impl FnOnce() -> Result<T>) -> Result<&'static T> {
    let started = cell.get_or_init(|| start().map_err(|error| format!("{error:#}")));
    started.as_ref().map_err(|error| anyhow!("{error}"))
}
