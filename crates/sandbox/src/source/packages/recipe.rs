//! Which packages of which suite hold the servers.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::{Flavor, process};

/// What we have to know of the distribution.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct System {
    pub(super) kind: Kind,
    /// `Debian`, `Ubuntu`.
    pub(super) name: &'static str,
    /// `bookworm`, `noble`; empty where the system does not say (Debian testing of old).
    pub(super) codename: String,
    /// `amd64`, `arm64`.
    pub(super) architecture: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Debian,
    Ubuntu,
}

impl System {
    pub(super) fn this() -> Result<Self> {
        let release = fs::read_to_string("/etc/os-release").context("reading /etc/os-release")?;
        let architecture = process::output(std::process::Command::new("dpkg").arg("--print-architecture"))?;
        Self::parse(&release, architecture.trim())
    }

    fn parse(release: &str, architecture: &str) -> Result<Self> {
        let field = |name: &str| {
            release
                .lines()
                .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
                .map(|value| value.trim_matches(['"', '\'']).to_owned())
        };
        let families = format!("{} {}", field("ID").unwrap_or_default(), field("ID_LIKE").unwrap_or_default());
        let is = |family: &str| families.split_whitespace().any(|word| word == family);
        // Ubuntu is like Debian too, so it is asked for first.
        let (kind, name) = match () {
            () if is("ubuntu") => (Kind::Ubuntu, "Ubuntu"),
            () if is("debian") => (Kind::Debian, "Debian"),
            () => bail!("/etc/os-release names neither Debian nor Ubuntu; use Docker or a server on the PATH instead"),
        };
        // A derivative gives its own name in VERSION_CODENAME, and the one of what it is made from beside it.
        let codename =
            field("UBUNTU_CODENAME").or_else(|| field("DEBIAN_CODENAME")).or_else(|| field("VERSION_CODENAME"));
        Ok(Self { kind, name, codename: codename.unwrap_or_default(), architecture: architecture.to_owned() })
    }

    /// The keyring that the distribution's archives are signed with.
    pub(super) fn keyring(&self) -> &'static str {
        match self.kind {
            Kind::Debian => "/usr/share/keyrings/debian-archive-keyring.gpg",
            Kind::Ubuntu => "/usr/share/keyrings/ubuntu-archive-keyring.gpg",
        }
    }
}

/// What to take from where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    key: &'static str,
    pub(super) suites: Vec<String>,
    pub(super) components: &'static str,
    /// Tried in order: the names differ between releases.
    pub(super) choices: &'static [Choice],
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) packages: &'static [&'static str],
    /// Fetched without what they depend on: only a few files of theirs are used.
    pub(super) alone: &'static [&'static str],
}

/// Plain names, in Debian and newer Ubuntu, then Ubuntu's with a version.
const MYSQL: &[Choice] = &[
    Choice { packages: &["mysql-server-core", "mysql-client-core"], alone: &[] },
    Choice { packages: &["mysql-server-core-8.4", "mysql-client-core-8.4"], alone: &["mysql-client-8.4"] },
    Choice { packages: &["mysql-server-core-8.0", "mysql-client-core-8.0"], alone: &["mysql-client-8.0"] },
];
const MARIADB: &[Choice] = &[
    Choice { packages: &["mariadb-server-core", "mariadb-client-core"], alone: &["mariadb-server", "mariadb-client"] },
    Choice {
        packages: &["mariadb-server-core-10.6", "mariadb-client-core-10.6"],
        alone: &["mariadb-server-10.6", "mariadb-client-10.6"],
    },
];

impl Recipe {
    pub(super) fn of(flavor: Flavor, system: &System) -> Self {
        let suites = match (system.kind, flavor) {
            // Debian's releases have no MySQL, its unstable suite does. The programs bring their own libraries.
            (Kind::Debian, Flavor::Mysql) => vec!["sid".to_owned()],
            // The release with MariaDB 10.11, on whichever release we are.
            (Kind::Debian, Flavor::Mariadb) => vec!["bookworm".to_owned()],
            (Kind::Ubuntu, _) => vec![system.codename.clone(), format!("{}-updates", system.codename)],
        };
        let choices = match flavor {
            Flavor::Mysql => MYSQL,
            Flavor::Mariadb => MARIADB,
        };
        let components = match system.kind {
            Kind::Debian => "main",
            Kind::Ubuntu => "main universe",
        };
        Self { key: flavor.key(), suites, components, choices }
    }

    /// Its folder in the cache.
    pub(super) fn folder(&self) -> String {
        format!("packages-{}-{}", self.key, self.suites.first().map_or("", String::as_str))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debian_takes_mysql_from_sid_and_mariadb_from_bookworm() {
        let system = System::parse("ID=debian\nVERSION_CODENAME=trixie\n", "amd64").unwrap();
        assert_eq!((system.kind, system.codename.as_str()), (Kind::Debian, "trixie"));
        assert_eq!(Recipe::of(Flavor::Mysql, &system).suites, ["sid"]);
        assert_eq!(Recipe::of(Flavor::Mariadb, &system).folder(), "packages-mariadb-bookworm");
    }

    #[test]
    fn ubuntu_and_what_is_made_from_it_take_their_own_suite() {
        for release in [
            "ID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n",
            "ID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\n",
        ] {
            let system = System::parse(release, "arm64").unwrap();
            assert_eq!(system.kind, Kind::Ubuntu);
            assert_eq!(Recipe::of(Flavor::Mysql, &system).suites, ["noble", "noble-updates"]);
        }
        assert!(System::parse("ID=fedora\n", "amd64").is_err());
    }
}
