//! Where the programs come from: Docker, the PATH, or Debian's and Ubuntu's packages; the first that works.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `TOLLGATE_SANDBOX_SOURCE` | `docker`, `path` or `packages`: only this one |
//! | `TOLLGATE_MYSQLD`, `TOLLGATE_MARIADBD` | the server's program, in place of the one on the PATH |
//! | `TOLLGATE_MYSQL_IMAGE`, `TOLLGATE_MARIADB_IMAGE` | the Docker image |
//! | `TOLLGATE_DOCKER_NETWORK` | the containers' network; `host` for none of their own |
//! | `TOLLGATE_SANDBOX_UNSIGNED` | `1`: packages also from an archive whose signature this machine has no key for |
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

/// Version and origin of the server that would be started, for people. Fetches the package if need be.
pub fn describe(flavor: Flavor) -> Result<String> {
    let programs = find(flavor)?;
    Ok(format!("{flavor} {} ({})", programs.version, programs.origin))
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
            Kind::Docker(docker) => Ok(docker.client(&path::own_name(self.flavor, name))),
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

/// In the order in which they are tried.
const SOURCES: [(&str, Finder); 3] = [("docker", docker::find), ("path", path::find), ("packages", packages::find)];

fn search(flavor: Flavor) -> Result<Programs> {
    first_of(&SOURCES, flavor, env::var("TOLLGATE_SANDBOX_SOURCE").ok().as_deref())
}

fn first_of(sources: &[(&str, Finder)], flavor: Flavor, forced: Option<&str>) -> Result<Programs> {
    if let Some(forced) = forced.filter(|forced| !forced.is_empty()) {
        let Some((name, find)) = sources.iter().find(|(name, _)| *name == forced) else {
            bail!("TOLLGATE_SANDBOX_SOURCE is `{forced}`; it can be docker, path or packages");
        };
        return find(flavor)
            .with_context(|| format!("no {flavor} from `{name}`, which TOLLGATE_SANDBOX_SOURCE asks for"));
    }
    let mut reasons = Vec::new();
    for (name, find) in sources {
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

    fn programs(origin: &str) -> Result<Programs> {
        let native = Native {
            server: "mysqld".into(),
            server_arguments: Vec::new(),
            client_folders: Vec::new(),
            client_environment: Vec::new(),
            share: None,
            loader: None,
        };
        let kind = Kind::Native(native);
        Ok(Programs { flavor: Flavor::Mysql, version: "9.7.4".into(), origin: origin.into(), kind })
    }

    const NO_A: (&str, Finder) = ("a", |_| Err(anyhow!("no engine").context("start one")));
    const NO_B: (&str, Finder) = ("b", |flavor| bail!("no {flavor} on the PATH"));
    const B: (&str, Finder) = ("b", |_| programs("from b"));
    const C: (&str, Finder) = ("c", |_| programs("from c"));

    #[test]
    fn the_first_that_works_is_taken() {
        for (sources, forced, expected) in [
            (&[B, C][..], None, "from b"),
            (&[NO_A, B, C], None, "from b"),
            (&[NO_A, NO_B, C], None, "from c"),
            (&[B, C], Some("c"), "from c"),
            (&[B, C], Some(""), "from b"),
        ] {
            assert_eq!(first_of(sources, Flavor::Mysql, forced).unwrap().origin, expected, "{forced:?}");
        }
        assert_eq!(SOURCES.map(|(name, _)| name), ["docker", "path", "packages"]);
    }

    #[test]
    fn an_error_has_every_reason() {
        let error = |sources, forced| format!("{:#}", first_of(sources, Flavor::Mariadb, forced).unwrap_err());
        assert_eq!(
            error(&[NO_A, NO_B], None),
            "no MariaDB can be had here. One of these is enough:\n- a: start one: no engine\n- b: no MariaDB on the PATH"
        );
        let forced = "no MariaDB from `b`, which TOLLGATE_SANDBOX_SOURCE asks for: no MariaDB on the PATH";
        assert_eq!(error(&[NO_A, NO_B], Some("b")), forced);
        let unknown = "TOLLGATE_SANDBOX_SOURCE is `brew`; it can be docker, path or packages";
        assert_eq!(error(&[B], Some("brew")), unknown);
    }
}
