//! Where the programs come from: Docker, the PATH, or Debian's and Ubuntu's packages; the first that works.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `TOLLGATE_SANDBOX_SOURCE` | `docker`, `path` or `packages`: only this one |
//! | `TOLLGATE_MYSQLD`, `TOLLGATE_MARIADBD` | the server's program, in place of the one on the PATH |
//! | `TOLLGATE_MYSQL_IMAGE`, `TOLLGATE_MARIADB_IMAGE` | the Docker image |
//! | `TOLLGATE_DOCKER_NETWORK` | the containers' network; `host` for none of their own |
//! | `TOLLGATE_SANDBOX_CACHE` | where unpacked packages and initialised data folders are kept |

use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, anyhow, bail};

use crate::{Flavor, process};

mod docker;
mod packages;
mod path;

use docker::Docker;
use path::Native;

/// A command for a client program of the same package as the server: `mysql`, `mysqldump`, `mysqlbinlog`, `mysqlslap`,
/// `mysqladmin`; for MariaDB also by their own names (`mariadb`, `mariadb-dump`, …). Fetches the package if need be.
pub fn client_program(flavor: Flavor, name: &str) -> Result<Command> {
    find(flavor)?.client(name)
}

/// One flavor's server and client programs, and how they are run.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) flavor: Flavor,
    /// As the program says it: `9.7.4`, `10.11.18-MariaDB-0+deb12u1`.
    pub(crate) version: String,
    /// For people.
    pub(crate) origin: String,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Native(Native),
    Docker(Docker),
}

impl Programs {
    /// The server's command with what it needs to run in `folder` at all; the caller adds the rest.
    /// `port`: published, and listened on where only this machine reaches it.
    pub(crate) fn server(&self, folder: &Path, port: Option<u16>) -> Command {
        let mut command = match &self.kind {
            Kind::Native(native) => native.server(),
            Kind::Docker(docker) => docker.run(self.flavor.server_program(), folder, port),
        };
        match &self.kind {
            Kind::Native(native) => command.arg("--no-defaults").args(&native.server_arguments),
            Kind::Docker(docker) => command.arg("--no-defaults").args(docker.server_arguments(self.flavor)),
        };
        if rustix::process::getuid().is_root() {
            // Else the server refuses to run as root.
            command.arg("--user=root");
        }
        if port.is_some() {
            let address = match &self.kind {
                Kind::Native(_) => "127.0.0.1",
                Kind::Docker(docker) => docker.bind_address(),
            };
            command.arg(format!("--bind-address={address}"));
        }
        command
    }

    /// Written into a server's folder before its first start, for the watcher: `(file name, script)`.
    pub(crate) fn scripts(&self, folder: &Path) -> Vec<(&'static str, String)> {
        match &self.kind {
            Kind::Native(_) => Vec::new(),
            Kind::Docker(docker) => docker.scripts(folder),
        }
    }

    /// The server's process, where the watcher's child is only its attendant.
    pub(crate) fn server_pid(&self, folder: &Path, child: u32) -> Result<u32> {
        match &self.kind {
            Kind::Native(_) => Ok(child),
            Kind::Docker(docker) => docker.pid(folder),
        }
    }

    /// The host by which another server of the same source reaches the one in `folder`.
    pub(crate) fn host_for_peers(&self, folder: &Path) -> Result<String> {
        match &self.kind {
            Kind::Native(_) => Ok("127.0.0.1".into()),
            Kind::Docker(docker) => docker.host_for_peers(folder),
        }
    }

    pub(crate) fn client(&self, name: &str) -> Result<Command> {
        match &self.kind {
            Kind::Native(native) => native.client(self.flavor, name),
            Kind::Docker(docker) => Ok(docker.client(name)),
        }
    }

    /// The interactive client, where the server's socket can be reached.
    pub(crate) fn client_beside(&self, folder: &Path) -> Result<Command> {
        let name = self.flavor.client_program();
        match &self.kind {
            Kind::Native(native) => native.client(self.flavor, name),
            Kind::Docker(docker) => Ok(docker.exec(folder, name)),
        }
    }

    /// The folder with MariaDB's `mysql_system_tables.sql`, if it is at hand.
    pub(crate) fn share(&self) -> Option<&Path> {
        match &self.kind {
            Kind::Native(native) => native.share.as_deref(),
            Kind::Docker(_) => None,
        }
    }

    /// `mariadb-install-db`, where [`Self::share`] is not at hand.
    pub(crate) fn installer(&self, folder: &Path) -> Result<Command> {
        match &self.kind {
            Kind::Native(native) => native.client(self.flavor, "mariadb-install-db"),
            Kind::Docker(docker) => Ok(docker.run("mariadb-install-db", folder, None)),
        }
    }
}

/// The programs of this flavor, found or fetched once a process. A failure is kept too: every test would repeat it.
pub(crate) fn find(flavor: Flavor) -> Result<Arc<Programs>> {
    static MYSQL: OnceLock<Result<Arc<Programs>, String>> = OnceLock::new();
    static MARIADB: OnceLock<Result<Arc<Programs>, String>> = OnceLock::new();
    let found = match flavor {
        Flavor::Mysql => &MYSQL,
        Flavor::Mariadb => &MARIADB,
    };
    found
        .get_or_init(|| search(flavor).map(Arc::new).map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(|error| anyhow!(error))
}

type Finder = fn(Flavor) -> Result<Programs>;

fn search(flavor: Flavor) -> Result<Programs> {
    let all: [(&str, Finder); 3] = [("docker", docker::find), ("path", path::find), ("packages", packages::find)];
    if let Ok(forced) = env::var("TOLLGATE_SANDBOX_SOURCE")
        && !forced.is_empty()
    {
        let Some((name, find)) = all.into_iter().find(|(name, _)| *name == forced) else {
            bail!("TOLLGATE_SANDBOX_SOURCE is `{forced}`; it can be docker, path or packages");
        };
        return find(flavor)
            .with_context(|| format!("no {flavor} from `{name}`, which TOLLGATE_SANDBOX_SOURCE asks for"));
    }
    let mut reasons = Vec::new();
    for (name, find) in all {
        match find(flavor) {
            Ok(programs) => return Ok(programs),
            Err(error) => reasons.push(format!("- {name}: {error:#}")),
        }
    }
    bail!("no {flavor} can be had here. One of these is enough:\n{}", reasons.join("\n"));
}

/// The version that a server program prints, if it is of this flavor.
fn version_of(flavor: Flavor, command: &mut Command) -> Result<String> {
    let text = process::output(command.args(["--no-defaults", "--version"]))?;
    parse_version(flavor, &text)
}

fn parse_version(flavor: Flavor, text: &str) -> Result<String> {
    let is_mariadb = text.contains("MariaDB");
    if is_mariadb != (flavor == Flavor::Mariadb) {
        bail!("it is not {flavor}, it says `{}`", text.trim());
    }
    let mut words = text.split_whitespace().skip_while(|word| *word != "Ver").skip(1);
    words.next().map(str::to_owned).with_context(|| format!("no version in `{}`", text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_flavors_told_apart() {
        let mysql = "/usr/sbin/mysqld  Ver 8.0.42-0ubuntu0.24.04.1 for Linux on x86_64 ((Ubuntu))\n";
        let mariadb = "mariadbd  Ver 10.11.18-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)\n";
        assert_eq!(parse_version(Flavor::Mysql, mysql).unwrap(), "8.0.42-0ubuntu0.24.04.1");
        assert_eq!(parse_version(Flavor::Mariadb, mariadb).unwrap(), "10.11.18-MariaDB-0+deb12u1");
        assert!(parse_version(Flavor::Mysql, mariadb).is_err());
        assert!(parse_version(Flavor::Mariadb, mysql).is_err());
        assert!(parse_version(Flavor::Mysql, "").is_err());
    }
}
