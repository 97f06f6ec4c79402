//! Programs inside a Docker image, run in containers that see the server's folder under the same path as we do.
//!
//! The image's entry point is not used: the sandbox initialises the data folder itself, as it does for the other sources,
//! so any image with the server's program on its PATH will do. The containers run as our user, so that their files are
//! ours to read and remove. The engine must be on this machine (the folder is mounted).

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::{Kind, Programs, parse_version};
use crate::progress::{self, Progress};
use crate::{Flavor, process, shell};

/// Every container of ours has it: `docker ps --filter label=tollgate-sandbox`.
const LABEL: &str = "tollgate-sandbox";

/// An engine that has not said its version by then is not one to start servers with.
const ENGINE_DEADLINE: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Docker {
    image: String,
    network: Network,
}

#[derive(Debug, PartialEq, Eq)]
enum Network {
    /// The machine's own, with no ports to publish.
    Host,
    /// The engine's default, or a named one; ports are published on the loopback address.
    Own(Option<String>),
}

impl Docker {
    /// `docker run` of a program of the image.
    pub(super) fn run(&self, program: &str, folder: &Path, port: Option<u16>) -> Command {
        let mut command = self.run_options(program);
        command.args(["--name", &container(folder)]).arg("--volume").arg(same_path(folder));
        match (&self.network, port) {
            (Network::Host, _) => {
                command.args(["--network", "host"]);
            }
            (Network::Own(name), port) => {
                if let Some(name) = name {
                    command.args(["--network", name]);
                }
                if let Some(port) = port {
                    command.arg(format!("--publish=127.0.0.1:{port}:{port}"));
                }
            }
        }
        command.arg(&self.image);
        command
    }

    pub(super) fn bind_address(&self) -> &'static str {
        match self.network {
            Network::Host => "127.0.0.1",
            Network::Own(_) => "0.0.0.0",
        }
    }

    /// What the image's own configuration files would have said and `--no-defaults` leaves out.
    pub(super) fn server_arguments(&self, flavor: Flavor) -> &'static [&'static str] {
        match flavor {
            Flavor::Mysql => &[],
            Flavor::Mariadb => &["--plugin-load-add=auth_ed25519"],
        }
    }

    /// A client anywhere: on the machine's network, in our working folder, seeing the temporary folder and that one.
    pub(super) fn client(&self, name: &str) -> Command {
        let mut command = self.run_options(name);
        command.args(["--network", "host"]);
        // Handed on by name, so that the value is in no process list.
        command.args(["--env", "MYSQL_PWD"]);
        let temporary = env::temp_dir();
        command.arg("--volume").arg(same_path(&temporary));
        if let Ok(here) = env::current_dir() {
            if !here.starts_with(&temporary) {
                command.arg("--volume").arg(same_path(&here));
            }
            command.arg("--workdir").arg(here);
        }
        command.arg(&self.image);
        command
    }

    /// A client inside the server's container.
    pub(super) fn exec(&self, folder: &Path, name: &str) -> Command {
        let mut command = Command::new("docker");
        command.args(["exec", "--interactive", &container(folder), name]);
        command
    }

    /// `docker run` would outlive its container's wish to stop: the engine has to be asked.
    pub(super) fn scripts(&self, folder: &Path) -> Vec<(&'static str, String)> {
        let docker = |words: &[&str]| {
            let mut command = Command::new("docker");
            command.args(words).arg(container(folder));
            shell::exec_line(&command)
        };
        vec![("term", docker(&["kill", "--signal=TERM"])), ("kill", docker(&["rm", "--force", "--volumes"]))]
    }

    pub(super) fn pid(&self, folder: &Path) -> Result<u32> {
        let pid = inspect(folder, "{{.State.Pid}}")?;
        pid.parse().with_context(|| format!("docker inspect said `{pid}` for the process id"))
    }

    pub(super) fn host_for_peers(&self, folder: &Path) -> Result<String> {
        if self.network == Network::Host {
            return Ok("127.0.0.1".into());
        }
        let address = inspect(folder, "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}")?;
        address
            .split_whitespace()
            .next()
            .map(str::to_owned)
            .context("the container has no address; TOLLGATE_DOCKER_NETWORK=host uses the machine's own network")
    }

    fn run_options(&self, program: &str) -> Command {
        let mut command = Command::new("docker");
        let (user, group) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        command.args(["run", "--rm", "--interactive", "--pull=never"]);
        command.args(["--label", LABEL, "--user", &format!("{user}:{group}"), "--entrypoint", program]);
        // SELinux would hide the mounted folder.
        command.arg("--security-opt=label=disable");
        command
    }
}

/// An engine that answers, with an image that is there or can be pulled.
pub(super) fn find(flavor: Flavor) -> Result<Programs> {
    if let Err(error) = engine() {
        bail!(
            "no Docker engine answers; install one (`apt-get install docker.io`, `dnf install moby-engine`) or start it \
             (`systemctl start docker`), and see `docker info` ({error})"
        );
    }
    if let Ok(host) = env::var("DOCKER_HOST") {
        ensure!(
            host.is_empty() || host.starts_with("unix:"),
            "the engine of DOCKER_HOST is elsewhere and would not see this machine's folders; unset it"
        );
    }
    let image = image(flavor)?;
    let docker = Docker { image, network: network() };
    let mut version = docker.run_options(flavor.server_program());
    version.args(["--network=none", &docker.image, "--no-defaults", "--version"]);
    let version = process::output(&mut version)
        .and_then(|text| parse_version(flavor, &text))
        .with_context(|| format!("image {}", docker.image))?;
    let origin = format!("Docker image {}", docker.image);
    Ok(Programs { flavor, version, origin, kind: Kind::Docker(docker) })
}

/// Asked once a process, for all flavors. One that hangs must not keep us from the next source.
fn engine() -> &'static Result<(), String> {
    static ENGINE: OnceLock<Result<(), String>> = OnceLock::new();
    ENGINE.get_or_init(|| {
        let mut ask = Command::new("docker");
        ask.args(["version", "--format", "{{.Server.Version}}"]);
        let begin = Instant::now();
        let answer = process::output_within(&mut ask, ENGINE_DEADLINE);
        if answer.is_err() && begin.elapsed() >= ENGINE_DEADLINE {
            progress::note(&format!("the Docker engine gave no answer within {ENGINE_DEADLINE:?}"));
        }
        answer.map(drop).map_err(|error| format!("{error:#}"))
    })
}

fn image(flavor: Flavor) -> Result<String> {
    let variable = format!("TOLLGATE_{}_IMAGE", flavor.key().to_uppercase());
    let candidates: Vec<String> = match (env::var(&variable), flavor) {
        (Ok(image), _) if !image.is_empty() => vec![image],
        (_, Flavor::Mysql) => vec!["mysql:9.7".into(), "mysql:8.4".into()],
        (_, Flavor::Mariadb) => vec!["mariadb:10.11".into()],
    };
    let at_hand = |image: &&String| process::output(Command::new("docker").args(["image", "inspect", image])).is_ok();
    if let Some(image) = candidates.iter().find(at_hand) {
        return Ok(image.clone());
    }
    let mut reasons = Vec::new();
    for image in candidates {
        let mut progress = Progress::start(format!("{flavor}: docker pull {image}"));
        let mut pull = Command::new("docker");
        pull.args(["pull", "--quiet", &image]).stdin(Stdio::null());
        match process::run(&mut pull, &mut progress, || "pulling".into()) {
            Ok(()) => {
                progress.done("pulled");
                return Ok(image);
            }
            Err(error) => {
                progress.done("not to be had");
                let reason = format!("{error:#}");
                let unknown = is_unknown_image(&reason);
                reasons.push(format!("`docker pull {image}`: {reason}"));
                if !unknown {
                    // No way to the registry: the next image would only take the same time to fail.
                    break;
                }
            }
        }
    }
    bail!("no image: pull one, or set {variable} to one that `docker images` lists; {}", reasons.join("; "));
}

/// Whether the registry answered that it has no such image.
fn is_unknown_image(error: &str) -> bool {
    ["manifest unknown", "not found", "does not exist"].iter().any(|words| error.contains(words))
}

/// `TOLLGATE_DOCKER_NETWORK`, else the default one; the machine's own where the engine has no default one.
fn network() -> Network {
    match env::var("TOLLGATE_DOCKER_NETWORK") {
        Ok(name) if name == "host" => Network::Host,
        Ok(name) if !name.is_empty() => Network::Own(Some(name)),
        _ if process::output(Command::new("docker").args(["network", "inspect", "bridge"])).is_ok() => {
            Network::Own(None)
        }
        _ => Network::Host,
    }
}

/// A folder's container: the folder's name is unique already, but may hold what a container's name may not.
fn container(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '-' };
    format!("tollgate-{}", name.trim_start_matches("tollgate-").chars().map(allowed).collect::<String>())
}

fn same_path(folder: &Path) -> String {
    format!("{0}:{0}", folder.display())
}

fn inspect(folder: &Path, format: &str) -> Result<String> {
    let text = process::output(Command::new("docker").args(["inspect", "--format", format, &container(folder)]))?;
    Ok(text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &Command) -> String {
        command.get_args().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn ports_are_published_on_the_loopback_address_only() {
        let docker = Docker { image: "mysql:9.7".into(), network: Network::Own(None) };
        let command = words(&docker.run("mysqld", Path::new("/tmp/tollgate-abc"), Some(4242)));
        assert!(command.contains("--name tollgate-abc --volume /tmp/tollgate-abc:/tmp/tollgate-abc"), "{command}");
        assert!(command.ends_with("--publish=127.0.0.1:4242:4242 mysql:9.7"), "{command}");
    }

    #[test]
    fn the_hosts_network_publishes_nothing() {
        let docker = Docker { image: "mysql:9.7".into(), network: Network::Host };
        let command = words(&docker.run("mysqld", Path::new("/tmp/tollgate-abc"), Some(4242)));
        assert!(command.ends_with("--network host mysql:9.7"), "{command}");
        assert_eq!(docker.bind_address(), "127.0.0.1");
    }

    #[test]
    fn another_image_is_tried_only_where_the_registry_answers() {
        for (error, unknown) in [
            ("manifest for mysql:9.7 not found: manifest unknown: manifest unknown", true),
            ("failed to resolve reference \"docker.io/library/mysql:9.7\": not found", true),
            ("pull access denied for mysqll, repository does not exist or may require 'docker login'", true),
            ("Get \"https://registry/v2/\": context deadline exceeded", false),
            ("Get \"https://registry/v2/\": dial tcp: lookup registry on 10.0.0.1:53: no such host", false),
            ("toomanyrequests: You have reached your pull rate limit.", false),
        ] {
            assert_eq!(is_unknown_image(error), unknown, "{error}");
        }
    }

    #[test]
    fn names_are_such_as_docker_allows() {
        let name = container(Path::new("/c/data-mariadb-10.11.18-MariaDB-0+deb12u1~1.part-Ab"));
        assert_eq!(name, "tollgate-data-mariadb-10.11.18-MariaDB-0-deb12u1-1.part-Ab");
    }

    /// The pipe to the watcher closes when its owner ends, by whatever signal; here it is dropped. An engine that only notes
    /// what it is asked stands for the real one.
    #[test]
    fn a_container_is_removed_when_its_owner_ends() {
        let outside = tempfile::tempdir().unwrap();
        let (engine, notes) = (outside.path().join("docker"), outside.path().join("notes"));
        let folder = outside.path().join("tollgate-abc");
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(&engine, format!("#!/bin/sh\necho \"$@\" >>'{}'\n", notes.display())).unwrap();
        std::fs::set_permissions(&engine, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let docker = Docker { image: "mysql:9.7".into(), network: Network::Host };
        for (name, script) in docker.scripts(&folder) {
            let script = script.replace("'docker'", &format!("'{}'", engine.display()));
            std::fs::write(folder.join(name), script).unwrap();
        }
        let mut watcher = crate::watcher::Watcher::spawn(&folder).unwrap();
        let attendant = watcher.start(&folder, Command::new("sleep").arg("600")).unwrap();
        drop(watcher);
        assert_eq!(std::fs::read_to_string(&notes).unwrap(), "rm --force --volumes tollgate-abc\n");
        assert!(!process::is_alive(attendant) && !folder.exists());
    }

    #[test]
    fn the_watcher_removes_the_container() {
        let docker = Docker { image: "mysql:9.7".into(), network: Network::Host };
        let scripts = docker.scripts(Path::new("/tmp/tollgate-abc"));
        assert!(scripts.contains(&("kill", "exec 'docker' 'rm' '--force' '--volumes' 'tollgate-abc'\n".to_owned())));
    }
}
