//! A data folder initialised once a version and kept in the cache, and its copies, one a server.
//!
//! Initialising takes seconds, copying some tenths: the log files are kept as small as the servers allow.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::progress::Progress;
use crate::source::Programs;
use crate::{Flavor, cache, certificates, process, users};

/// Raise it when what is below or in `users` changes, so that older templates are not used.
const FORMAT: u32 = 1;

/// Makes `place` a data folder with the sandbox's users in it.
pub(crate) fn copy_to(programs: &Programs, place: &Path) -> Result<()> {
    copy_tree(&prepare(programs)?.join("data"), place).context("copying the data folder")
}

/// The template, made if it is not there yet.
pub(crate) fn prepare(programs: &Programs) -> Result<PathBuf> {
    let name = format!("data-{}-{}-{FORMAT}", programs.flavor.key(), programs.version);
    cache::folder_once(&name, |part| initialise(programs, part))
}

fn initialise(programs: &Programs, part: &Path) -> Result<()> {
    let (flavor, version) = (programs.flavor, &programs.version);
    let mut progress = Progress::start(format!("{flavor} {version}: initialising a data folder"));
    let data = part.join("data");
    fs::create_dir_all(part.join("tmp"))?;
    match flavor {
        Flavor::Mysql => initialise_mysql(programs, part, &data, &mut progress)?,
        Flavor::Mariadb => initialise_mariadb(programs, part, &data, &mut progress)?,
    }
    progress.done("ready");
    Ok(())
}

fn initialise_mysql(programs: &Programs, part: &Path, data: &Path, progress: &mut Progress) -> Result<()> {
    let statements = part.join("users.sql");
    fs::write(&statements, users::bootstrap_sql(Flavor::Mysql))?;
    let mut server = programs.server(part, None);
    server
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--init-file={}", statements.display()))
        .args(["--initialize-insecure", "--innodb-redo-log-capacity=8M", "--innodb-doublewrite=OFF"])
        .stdin(Stdio::null());
    process::run(&mut server, progress, || "mysqld --initialize".into())?;
    // The server's identity, which each copy makes for itself.
    let identity = data.join("auto.cnf");
    if identity.exists() {
        fs::remove_file(identity)?;
    }
    Ok(())
}

/// What `mariadb-install-db` does, without its search for programs that are not where it expects them.
fn initialise_mariadb(programs: &Programs, part: &Path, data: &Path, progress: &mut Progress) -> Result<()> {
    fs::create_dir_all(data.join("mysql"))?;
    fs::create_dir_all(data.join("test"))?;
    if let Some(share) = programs.share() {
        bootstrap(programs, part, data, &system_tables(share)?, progress)?;
    } else {
        let mut installer = programs.installer(part)?;
        installer
            .args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"])
            .arg(format!("--datadir={}", data.display()))
            .stdin(Stdio::null());
        if rustix::process::getuid().is_root() {
            installer.arg("--user=root");
        }
        process::run(&mut installer, progress, || "mariadb-install-db".into())?;
    }
    bootstrap(programs, part, data, &users::bootstrap_sql(Flavor::Mariadb), progress)?;
    certificates::write(data)
}

fn system_tables(share: &Path) -> Result<String> {
    // From 11 on the files' names begin with mariadb.
    let read = |name: &str| {
        ["mysql", "mariadb"]
            .iter()
            .map(|prefix| share.join(format!("{prefix}_{name}.sql")))
            .find(|file| file.is_file())
            .with_context(|| format!("no *_{name}.sql in {}", share.display()))
            .and_then(|file| Ok(fs::read_to_string(file)?))
    };
    let mut sql = "use mysql;\nSET @auth_root_socket=NULL;\nSET @skip_auth_anonymous=1;\n".to_owned();
    for name in ["system_tables", "performance_tables", "system_tables_data"] {
        sql.push_str(&read(name)?);
        sql.push('\n');
    }
    sql.push_str("use mysql;\n");
    sql.push_str(&read("sys_schema").unwrap_or_default());
    Ok(sql)
}

/// Feeds statements to a server that reads them from its standard input and ends.
fn bootstrap(programs: &Programs, part: &Path, data: &Path, sql: &str, progress: &mut Progress) -> Result<()> {
    let statements = part.join("bootstrap.sql");
    fs::write(&statements, sql)?;
    let mut server: Command = programs.server(part, None);
    server
        .arg(format!("--datadir={}", data.display()))
        .arg(format!("--tmpdir={}", part.join("tmp").display()))
        .args(["--bootstrap", "--innodb-log-file-size=10M", "--innodb-doublewrite=0", "--enforce-storage-engine="])
        .args(["--max-allowed-packet=8M", "--net-buffer-length=16K"])
        .stdin(fs::File::open(&statements)?);
    process::run(&mut server, progress, || "mariadbd --bootstrap".into())
}

fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target: PathBuf = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_tree(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
