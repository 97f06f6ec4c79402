//! Where a server comes from: Docker before `TOLLGATE_MYSQLD` and the PATH, these before packages; and what is said where there
//! is none. The programs are scripts that only say their version.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

/// A folder that is the whole PATH.
struct Programs(TempDir);

impl Programs {
    fn new() -> Result<Programs> {
        Ok(Programs(tempfile::tempdir()?))
    }

    fn add(&self, name: &str, script: &str) -> Result<PathBuf> {
        let program = self.0.path().join(name);
        fs::write(&program, format!("#!/bin/sh\n{script}\n"))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        Ok(program.canonicalize()?)
    }

    /// What `sandbox which` says: on standard output if it found one, else on standard error.
    fn which(&self, arguments: &[&str], environment: &[(&str, &Path)]) -> Result<(bool, String)> {
        let output = Command::new(env!("CARGO_BIN_EXE_sandbox"))
            .arg("which")
            .args(arguments)
            .env("PATH", self.0.path())
            .env("TOLLGATE_SANDBOX_CACHE", self.0.path().join("cache"))
            .env_remove("TOLLGATE_SANDBOX_SOURCE")
            .env_remove("TOLLGATE_MYSQLD")
            .env_remove("TOLLGATE_MARIADBD")
            .env_remove("TOLLGATE_MYSQL_IMAGE")
            .env_remove("DOCKER_HOST")
            .envs(environment.iter().copied())
            .output()
            .context("running the sandbox program")?;
        let text = if output.status.success() { output.stdout } else { output.stderr };
        Ok((output.status.success(), String::from_utf8_lossy(&text).trim().to_owned()))
    }
}

fn says_version(version: &str) -> String {
    format!("echo 'mysqld  Ver {version} for Linux on x86_64'")
}

/// An engine with an image at hand.
const ENGINE: &str = "case $1 in
  version) echo 20.10 ;;
  run) echo 'mysqld  Ver 9.9.1 for Linux on x86_64' ;;
esac";

const NO_ENGINE: &str = "echo 'Cannot connect to the Docker daemon' >&2; exit 1";

#[test]
fn the_first_of_docker_the_named_program_and_the_path() -> Result<()> {
    let programs = Programs::new()?;
    programs.add("docker", ENGINE)?;
    let on_path = programs.add("mysqld", &says_version("9.9.2"))?;
    let named = programs.add("another", &says_version("9.9.3"))?;

    let found = programs.which(&[], &[("TOLLGATE_MYSQLD", &named)])?;
    assert_eq!(found, (true, "MySQL 9.9.1 (Docker image mysql:9.7)".to_owned()));
    programs.add("docker", NO_ENGINE)?;
    let found = programs.which(&[], &[("TOLLGATE_MYSQLD", &named)])?;
    assert_eq!(found, (true, format!("MySQL 9.9.3 ({})", named.display())));
    let found = programs.which(&[], &[])?;
    assert_eq!(found, (true, format!("MySQL 9.9.2 ({})", on_path.display())));

    let forced = programs.which(&[], &[("TOLLGATE_SANDBOX_SOURCE", Path::new("docker"))])?;
    assert!(!forced.0 && forced.1.contains("Cannot connect to the Docker daemon"), "{}", forced.1);
    Ok(())
}

/// MariaDB's server is not taken for MySQL's, under whatever name.
#[test]
fn a_program_of_the_other_kind_is_not_taken() -> Result<()> {
    let programs = Programs::new()?;
    programs.add("docker", NO_ENGINE)?;
    let mariadb = programs.add("mariadbd", "echo 'mariadbd  Ver 10.11.6-MariaDB for Linux'")?;
    let found = programs.which(&["--mariadb"], &[])?;
    assert_eq!(found, (true, format!("MariaDB 10.11.6-MariaDB ({})", mariadb.display())));
    let (ok, said) = programs.which(&[], &[("TOLLGATE_MYSQLD", &mariadb)])?;
    assert!(
        !ok && said.contains("warning: TOLLGATE_MYSQLD is not taken") && said.contains("it is not MySQL"),
        "{said}"
    );
    Ok(())
}

/// On a system without Docker, servers and apt: what is missing, and the command that gets it, for each source.
#[test]
fn an_error_says_what_to_install() -> Result<()> {
    let elsewhere = ["/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/mysql/bin"];
    if elsewhere.iter().any(|folder| ["mysqld", "mariadbd"].iter().any(|name| Path::new(folder).join(name).exists())) {
        eprintln!("skipped: this machine has a server of its own");
        return Ok(());
    }
    let programs = Programs::new()?;
    for (arguments, flavor, package, variable) in [
        (&[][..], "MySQL", "mysql-server", "TOLLGATE_MYSQLD"),
        (&["--mariadb"], "MariaDB", "mariadb-server", "TOLLGATE_MARIADBD"),
    ] {
        let (ok, said) = programs.which(arguments, &[])?;
        assert!(!ok, "{said}");
        let mut lines = said.lines();
        let mut next = || lines.next().context("another line");
        assert_eq!(next()?, format!("sandbox: no {flavor} can be had here. One of these is enough:"));
        for (source, words) in [
            ("docker", vec!["`apt-get install docker.io`", "`systemctl start docker`", "`docker info`"]),
            (
                "path",
                vec![&format!("`apt-get install {package}`") as &str, &format!("`dnf install {package}`"), variable],
            ),
            ("packages", vec!["`apt-get` is missing", &format!("`dnf install {package}`"), "install Docker"]),
        ] {
            let line = next()?;
            ensure!(line.starts_with(&format!("- {source}: ")), "{line}");
            for word in words {
                ensure!(line.contains(word), "no {word:?} in {line}");
            }
        }
    }
    Ok(())
}
