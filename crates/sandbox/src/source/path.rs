//! Programs that run on this machine as they are: those on the PATH, and (with their own loader) the unpacked packages.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Kind, Programs, version_of};
use crate::Flavor;
use crate::progress::note;

/// Where distributions put servers; a normal user's PATH often lacks them.
const SERVER_FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin"];

/// The programs and what they are run with.
#[derive(Debug)]
pub(super) struct Native {
    pub(super) server: PathBuf,
    pub(super) server_arguments: Vec<String>,
    /// Searched in order.
    pub(super) client_folders: Vec<PathBuf>,
    pub(super) client_environment: Vec<(String, String)>,
    pub(super) share: Option<PathBuf>,
    /// The dynamic loader and its library path, for programs of another distribution than this machine's.
    pub(super) loader: Option<(PathBuf, String)>,
}

impl Native {
    pub(super) fn server(&self) -> Command {
        self.command(&self.server)
    }

    pub(super) fn client(&self, flavor: Flavor, name: &str) -> Result<Command> {
        let found = spellings(flavor, name)
            .into_iter()
            .flat_map(|name| self.client_folders.iter().map(move |folder| folder.join(&name)))
            .find(|program| program.is_file());
        let Some(program) = found else {
            bail!(
                "{flavor}'s program `{name}` is missing; on Debian: apt-get install {}-client, or set \
                 TOLLGATE_SANDBOX_SOURCE=packages",
                if flavor == Flavor::Mysql { "default-mysql" } else { "mariadb" }
            );
        };
        let mut command = self.command(&program);
        command.envs(self.client_environment.iter().map(|(name, value)| (name, value)));
        Ok(command)
    }

    fn command(&self, program: &Path) -> Command {
        match &self.loader {
            Some((loader, libraries)) if !is_script(program) => {
                let mut command = Command::new(loader);
                command.args(["--library-path", libraries]).arg(program);
                command
            }
            _ => Command::new(program),
        }
    }
}

/// `TOLLGATE_MYSQLD`, else the program on the PATH.
pub(super) fn find(flavor: Flavor) -> Result<Programs> {
    let variable = format!("TOLLGATE_{}", flavor.server_program().to_uppercase());
    let named = env::var_os(&variable).filter(|value| !value.is_empty());
    let is_named = named.is_some();
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).chain(SERVER_FOLDERS.map(PathBuf::from)).collect();
    let server = match named {
        Some(server) => PathBuf::from(server),
        None => folders
            .iter()
            .map(|folder| folder.join(flavor.server_program()))
            .find(|program| program.is_file())
            .with_context(|| missing(flavor, &variable))?,
    };
    let (server, version) = place_and_version(flavor, &server).inspect_err(|error| {
        // It was asked for: not to be passed over in silence where another source has a server.
        if is_named {
            note(&format!("warning: {variable} is not taken: {error:#}"));
        }
    })?;
    let base = server.parent().and_then(Path::parent).unwrap_or(Path::new("/usr")).to_owned();
    let client_folders =
        ["bin", "sbin", "scripts"].map(|name| base.join(name)).into_iter().chain(env::split_paths(&path)).collect();
    let share = ["share/mysql", "share/mariadb", "share"]
        .map(|name| base.join(name))
        .into_iter()
        .find(|share| flavor == Flavor::Mariadb && has_system_tables(share));
    let origin = server.display().to_string();
    let native = Native {
        server,
        server_arguments: Vec::new(),
        client_folders,
        client_environment: Vec::new(),
        share,
        loader: None,
    };
    Ok(Programs { flavor, version, origin, kind: Kind::Native(native) })
}

fn place_and_version(flavor: Flavor, server: &Path) -> Result<(PathBuf, String)> {
    let server = server.canonicalize().with_context(|| server.display().to_string())?;
    let version = version_of(flavor, &mut Command::new(&server)).with_context(|| server.display().to_string())?;
    Ok((server, version))
}

fn missing(flavor: Flavor, variable: &str) -> String {
    let (program, package) = match flavor {
        Flavor::Mysql => ("mysqld", "mysql-server"),
        Flavor::Mariadb => ("mariadbd", "mariadb-server"),
    };
    format!(
        "no `{program}` on the PATH; install it (`apt-get install {package}`, `dnf install {package}`) or set {variable} to it"
    )
}

pub(super) fn has_system_tables(share: &Path) -> bool {
    ["mysql", "mariadb"].iter().any(|prefix| share.join(format!("{prefix}_system_tables.sql")).is_file())
}

/// The name under which the flavor's newer packages have the client.
pub(super) fn own_name(flavor: Flavor, name: &str) -> String {
    spellings(flavor, name).swap_remove(0)
}

/// The names under which a MariaDB package may have a client that was asked for by either name.
fn spellings(flavor: Flavor, name: &str) -> Vec<String> {
    let mut names = vec![name.to_owned()];
    if flavor == Flavor::Mariadb {
        match (name.strip_prefix("mariadb-"), name.strip_prefix("mysql")) {
            (Some(tail), _) => names.push(format!("mysql{tail}")),
            (None, Some("")) => names.push("mariadb".into()),
            (None, Some(tail)) => names.push(format!("mariadb-{tail}")),
            (None, None) if name == "mariadb" => names.push("mysql".into()),
            (None, None) => {}
        }
        // Its own name first: on the PATH, `mysqldump` may be MySQL's.
        names.sort_by_key(|name| !name.starts_with("mariadb"));
    }
    names
}

/// A script has its own interpreter, which the loader is not.
fn is_script(program: &Path) -> bool {
    std::fs::File::open(program).is_ok_and(|mut file| {
        let mut start = [0; 2];
        std::io::Read::read_exact(&mut file, &mut start).is_ok() && &start == b"#!"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_name_of_a_mariadb_client() {
        for (flavor, asked, expected) in [
            (Flavor::Mysql, "mysqldump", vec!["mysqldump"]),
            (Flavor::Mariadb, "mysqldump", vec!["mariadb-dump", "mysqldump"]),
            (Flavor::Mariadb, "mariadb-dump", vec!["mariadb-dump", "mysqldump"]),
            (Flavor::Mariadb, "mysql", vec!["mariadb", "mysql"]),
            (Flavor::Mariadb, "mariadb", vec!["mariadb", "mysql"]),
            (Flavor::Mariadb, "perror", vec!["perror"]),
        ] {
            assert_eq!(spellings(flavor, asked), expected, "{asked}");
        }
    }
}
