//! `apt-get` with a configuration of its own: it reads the machine's proxies and mirrors, and touches nothing of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::recipe::{Recipe, System};
use crate::process;
use crate::progress::{Progress, megabytes, note};

#[derive(Debug)]
pub(super) struct Apt {
    folder: PathBuf,
    mirror: String,
    source_lines: SourceLines,
}

/// What `sources.list` is made of, but for how its signature is checked.
#[derive(Debug)]
struct SourceLines {
    architecture: String,
    keyring: &'static str,
    suites: Vec<String>,
    components: &'static str,
}

/// How the archive's signature is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    Keyring,
    SystemKeys,
    Unsigned,
}

/// A package to fetch.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) size: u64,
}

impl Apt {
    pub(super) fn new(folder: &Path, system: &System, recipe: &Recipe) -> Result<Self> {
        for name in ["state/lists/partial", "cache/archives/partial", "debs"] {
            fs::create_dir_all(folder.join(name)).with_context(|| format!("making {name}"))?;
        }
        fs::write(folder.join("state/status"), "").context("writing an empty package database")?;
        fs::write(folder.join("apt.conf"), configuration(folder, &system.architecture)).context("writing apt.conf")?;
        let source_lines = SourceLines {
            architecture: system.architecture.clone(),
            keyring: system.keyring(),
            suites: recipe.suites.clone(),
            components: recipe.components,
        };
        Ok(Self { folder: folder.to_owned(), mirror: mirror(system)?, source_lines })
    }

    /// Reads the package lists. Signed archives, unless the machine has no key that fits.
    pub(super) fn update(&self, progress: &mut Progress) -> Result<()> {
        let mut trusts = vec![Trust::SystemKeys, Trust::Unsigned];
        if Path::new(self.source_lines.keyring).is_file() {
            trusts.insert(0, Trust::Keyring);
        }
        let lists = self.folder.join("state/lists");
        let mut last = None;
        for trust in trusts {
            fs::write(self.folder.join("sources.list"), self.source_lines.text(&self.mirror, trust))
                .context("writing sources.list")?;
            let mut update = self.command("update");
            update.arg("-qq").args(["-o", "APT::Update::Error-Mode=any"]);
            match process::run(&mut update, progress, || megabytes(size_of(&lists))) {
                Ok(()) => {
                    if trust == Trust::Unsigned {
                        note("warning: this machine has no key for that archive; its signature was not checked");
                    }
                    return Ok(());
                }
                // Another key helps only against this; what cannot be reached stays out of reach.
                Err(error) if is_about_keys(&format!("{error:#}")) => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.context("no way to check the archive's signature")?)
    }

    /// Everything that the recipe's packages need. Perl is left out: only scripts that we do not run use it.
    pub(super) fn resolve(&self, recipe: &Recipe) -> Result<Vec<Package>> {
        let mut reasons = Vec::new();
        for choice in recipe.choices {
            let mut install = self.command("install");
            install.args(["--print-uris", "-qq", "-y", "--no-install-recommends"]).args(choice.packages);
            let needed = match process::output(&mut install) {
                Ok(text) => text,
                Err(error) => {
                    reasons.push(format!("{error:#}"));
                    continue;
                }
            };
            let mut packages = parse_uris(&needed)?;
            packages.retain(|package| !package.name.contains("perl"));
            for name in choice.alone {
                // Some releases have these programs in the other packages.
                let mut download = self.command("download");
                if let Ok(text) = process::output(download.args(["--print-uris", "-qq", name])) {
                    packages.extend(parse_uris(&text)?);
                }
            }
            ensure!(!packages.is_empty(), "apt-get names no package for {:?}", choice.packages);
            return Ok(packages);
        }
        bail!("the archive has none of the packages:\n{}", reasons.join("\n"));
    }

    /// Fetches them; apt-get checks each against the list's hash.
    pub(super) fn download(&self, packages: &[Package], size: u64, progress: &mut Progress) -> Result<Vec<PathBuf>> {
        let folder = self.folder.join("debs");
        let mut download = self.command("download");
        download.arg("-qq").args(packages.iter().map(|package| &package.name)).current_dir(&folder);
        process::run(&mut download, progress, || format!("{} of {}", megabytes(size_of(&folder)), megabytes(size)))?;
        let mut archives: Vec<PathBuf> =
            fs::read_dir(&folder).context("reading what was downloaded")?.flatten().map(|entry| entry.path()).collect();
        archives.retain(|path| path.extension().is_some_and(|extension| extension == "deb"));
        archives.sort();
        ensure!(archives.len() == packages.len(), "{} of {} packages arrived", archives.len(), packages.len());
        Ok(archives)
    }

    fn command(&self, action: &str) -> Command {
        let mut command = apt_get();
        command.arg("-c").arg(self.folder.join("apt.conf")).arg(action);
        command
    }
}

impl SourceLines {
    fn text(&self, mirror: &str, trust: Trust) -> String {
        let trust = match trust {
            Trust::Keyring => format!(" signed-by={}", self.keyring),
            Trust::SystemKeys => String::new(),
            Trust::Unsigned => " trusted=yes".into(),
        };
        let line =
            |suite: &String| format!("deb [arch={}{trust}] {mirror} {suite} {}\n", self.architecture, self.components);
        self.suites.iter().map(line).collect()
    }
}

/// Read after the machine's own configuration, which has its proxies.
fn configuration(folder: &Path, architecture: &str) -> String {
    let folder = folder.display();
    format!(
        r#"Dir::State "{folder}/state";
Dir::State::status "{folder}/state/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
// As root, apt-get would change to a user who may not enter the cache folder.
APT::Sandbox::User "root";
APT::Architecture "{architecture}";
#clear APT::Architectures;
APT::Architectures {{ "{architecture}"; }};
Debug::NoLocking "1";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled "false";
Acquire::IndexTargets::deb-src::Sources::DefaultEnabled "false";
// What the machine does after its own updates is none of ours.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Install-Pkgs;
#clear DPkg::Post-Invoke;
"#
    )
}

/// The archive that this machine itself uses.
fn mirror(system: &System) -> Result<String> {
    let format = "$(REPO_URI) $(CODENAME) $(RELEASE)";
    let listed = process::output(apt_get().args(["indextargets", "--format", format, "Created-By: Packages"]))?;
    let known = listed.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.map(str::to_owned).collect::<Vec<_>>()))
    });
    if let Some(mirror) = choose_mirror(known.collect(), &system.codename) {
        return Ok(mirror);
    }
    // Before the first `apt-get update` of a machine there are no targets, but it can say what it would fetch.
    let wanted = process::output(apt_get().args(["update", "--print-uris", "-o", "Debug::NoLocking=1"]))?;
    let known = wanted.lines().filter_map(|line| {
        let (mirror, rest) = line.strip_prefix('\'')?.split_once("/dists/")?;
        let suite = rest.split('/').next()?;
        Some((mirror.to_owned(), vec![suite.to_owned()]))
    });
    choose_mirror(known.collect(), &system.codename).with_context(|| {
        format!("no {} archive in /etc/apt/sources.list; add one, see `man sources.list`", system.name)
    })
}

/// The one with the release itself, rather than its security updates or somebody else's packages.
fn choose_mirror(known: Vec<(String, Vec<String>)>, codename: &str) -> Option<String> {
    let of_release = known.iter().find(|(_, suites)| suites.iter().any(|suite| suite == codename));
    let by_name = || {
        known.iter().find(|(mirror, _)| {
            let mirror = mirror.trim_end_matches('/');
            ["/debian", "/ubuntu", "/ubuntu-ports"].iter().any(|end| mirror.ends_with(end))
        })
    };
    of_release.or_else(by_name).map(|(mirror, _)| mirror.trim_end_matches('/').to_owned())
}

/// Lines of `'address' file size hash`.
fn parse_uris(text: &str) -> Result<Vec<Package>> {
    text.lines()
        .filter(|line| line.starts_with('\''))
        .map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let file = words.next().with_context(|| format!("no file name in `{line}`"))?;
            let name = file.split('_').next().unwrap_or_default().to_owned();
            let size =
                words.next().and_then(|size| size.parse().ok()).with_context(|| format!("no size in `{line}`"))?;
            Ok(Package { name, size })
        })
        .collect()
}

fn is_about_keys(error: &str) -> bool {
    ["NO_PUBKEY", "not signed", "EXPKEYSIG", "signature", "Signature"].iter().any(|word| error.contains(word))
}

fn apt_get() -> Command {
    let mut command = Command::new("apt-get");
    // Its messages are read.
    command.env("LC_ALL", "C");
    command
}

fn size_of(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size_of(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machines_own_mirror_is_used() {
        let known = |list: &[(&str, &str)]| {
            list.iter().map(|(mirror, suite)| ((*mirror).to_owned(), vec![(*suite).to_owned()])).collect::<Vec<_>>()
        };
        for (list, codename, expected) in [
            (
                known(&[("http://m/debian-security/", "bookworm-security"), ("http://m/debian/", "bookworm")]),
                "bookworm",
                "http://m/debian",
            ),
            (
                known(&[("http://m/debian-security/", "x"), ("http://m/debian", "stable")]),
                "bookworm",
                "http://m/debian",
            ),
            (known(&[("http://m/node", "nodistro"), ("http://m/ubuntu/", "noble")]), "noble", "http://m/ubuntu"),
        ] {
            assert_eq!(choose_mirror(list, codename).as_deref(), Some(expected));
        }
        assert_eq!(choose_mirror(known(&[("http://m/node", "nodistro")]), "noble"), None);
    }

    #[test]
    fn names_and_sizes_are_read() {
        let text = "'http://m/pool/libc6.deb' libc6_2.36-9+deb12u14_amd64.deb 2759320 SHA256:00\nReading lists\n";
        assert_eq!(parse_uris(text).unwrap(), [Package { name: "libc6".into(), size: 2_759_320 }]);
        assert!(parse_uris("'http://m/x.deb' x.deb").is_err());
    }

    #[test]
    fn an_archive_is_trusted_only_where_nothing_else_helps() {
        let lines = SourceLines {
            architecture: "amd64".into(),
            keyring: "/k.gpg",
            suites: vec!["a".into(), "b".into()],
            components: "main",
        };
        let expected = "deb [arch=amd64 signed-by=/k.gpg] http://m/debian a main\n\
                        deb [arch=amd64 signed-by=/k.gpg] http://m/debian b main\n";
        assert_eq!(lines.text("http://m/debian", Trust::Keyring), expected);
        assert!(!lines.text("http://m/debian", Trust::SystemKeys).contains("trusted"));
        assert!(is_about_keys("W: GPG error: http://m sid InRelease: NO_PUBKEY 0E98404D386FA1D9"));
        assert!(!is_about_keys("E: Could not connect to m:80"));
    }
}
