//! The MySQL that everything is measured against, and the tables in it.

use crate::client::{Account, Client};
use crate::options::Options;
use crate::sysbench::Sysbench;
use anyhow::{Context, Result};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// About 50 MB as sent: this many rows of 1,000 bytes.
const BIG_ROWS: u32 = 50_000;
pub const BIG_QUERY: &str = "SELECT id, filler FROM big";
/// 1,000 idle connections, a contestant at a time, and some air.
const CONNECTIONS: u32 = 1_200;

#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    pub account: Account,
    pub version: String,
    /// Of mysqld, where it can be known: to set the proxy's CPU time against the server's.
    pub pid: Option<u32>,
    /// Where it is from, for people.
    pub origin: String,
    home: Home,
}

/// What is to be cleaned up.
#[derive(Debug)]
enum Home {
    /// A server of our own goes with everything in it.
    Sandbox(#[expect(dead_code, reason = "held so that it is ended with us")] Box<sandbox::Server>),
    /// In somebody else's server, only the schema is ours.
    Guest,
}

impl Server {
    /// Starts a MySQL, or takes the one that was named, and makes a schema of its own there with sysbench's tables
    /// and a table of 50 MB.
    pub fn prepare(options: &Options, sysbench_for: impl Fn(Account) -> Sysbench) -> Result<Self> {
        let (address, pid, origin, home) = match options.mysql {
            Some(address) => (address, None, "already running".to_owned(), Home::Guest),
            None => start()?,
        };
        let outside = Account {
            user: options.user.clone(),
            password: options.password.clone(),
            schema: "information_schema".to_owned(),
        };
        sysbench_for(outside.clone()).fill_password_cache(address)?;
        let mut client = Client::connect(address, &outside, 16 << 10)
            .with_context(|| format!("cannot log in as {} on {address}", outside.user))?;
        let version = client.value("SELECT VERSION()")?;
        let pid = pid.or_else(|| pid_of(&mut client));
        let schema = format!("tollgate_bench_{}", std::process::id());
        client.query(&format!("CREATE DATABASE {schema}"))?;
        let server = Self { address, account: Account { schema, ..outside }, version, pid, origin, home };
        allow_connections(&mut client)?;
        sysbench_for(server.account.clone()).prepare(address)?;
        server.fill_big_table()?;
        Ok(server)
    }

    pub fn client(&self) -> Result<Client> {
        Client::connect(self.address, &self.account, 16 << 10)
    }

    /// Doubles its way up: quick, and no statement is long.
    fn fill_big_table(&self) -> Result<()> {
        let mut client = self.client()?;
        client.query(
            "CREATE TABLE big (id INT AUTO_INCREMENT PRIMARY KEY, filler VARCHAR(1000) CHARACTER SET latin1 NOT NULL)",
        )?;
        client.query("INSERT INTO big (filler) VALUES (REPEAT('x', 1000))")?;
        let mut rows = 1;
        while rows < BIG_ROWS {
            let more = rows.min(BIG_ROWS - rows);
            client.query(&format!("INSERT INTO big (filler) SELECT filler FROM big LIMIT {more}"))?;
            rows += more;
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        match &self.home {
            Home::Sandbox(_) => {}
            Home::Guest => {
                let schema = &self.account.schema;
                let dropped = self.client().and_then(|mut client| client.query(&format!("DROP DATABASE {schema}")));
                if let Err(error) = dropped {
                    eprintln!("bench: the schema {schema} stays on {}: {error:#}", self.address);
                }
            }
        }
    }
}

/// A primary alone: a replica would compete for the machine.
fn start() -> Result<(SocketAddr, Option<u32>, String, Home)> {
    eprintln!("bench: starting MySQL");
    let server = sandbox::Server::start(sandbox::Options::mysql())?;
    let origin = server.origin().to_owned();
    Ok((server.address(), server.pid().ok(), origin, Home::Sandbox(Box::new(server))))
}

/// mysqld says where it has written its id; only a server on this machine has written it here.
fn pid_of(client: &mut Client) -> Option<u32> {
    let file = PathBuf::from(client.value("SELECT @@pid_file").ok()?);
    let pid = std::fs::read_to_string(file).ok()?.trim().parse().ok()?;
    Path::new("/proc").join(u32::to_string(&pid)).is_dir().then_some(pid)
}

fn allow_connections(client: &mut Client) -> Result<()> {
    let allowed: u32 = client.value("SELECT @@max_connections")?.parse()?;
    if allowed < CONNECTIONS {
        eprintln!("bench: raising max_connections of the server from {allowed} to {CONNECTIONS}");
        client.query(&format!("SET GLOBAL max_connections = {CONNECTIONS}"))?;
    }
    Ok(())
}
