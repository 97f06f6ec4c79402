//! Debian's and Ubuntu's packages, unpacked into the cache folder and run with their own loader and libraries.
//!
//! Nothing is installed: `apt-get` works with a private configuration and an empty package database, so that it names
//! everything down to the C library, and the programs run on machines whose own libraries are older (or newer).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::path::{Native, has_system_tables};
use super::{Kind, Programs, version_of};
use crate::progress::{Progress, megabytes};
use crate::{Flavor, cache, process};

mod apt;
mod recipe;

use apt::Apt;
use recipe::{Recipe, System};

pub(super) fn find(flavor: Flavor) -> Result<Programs> {
    for program in ["apt-get", "dpkg", "dpkg-deb"] {
        if process::output(Command::new(program).arg("--version")).is_err() {
            bail!("`{program}` is missing: {}", elsewhere(flavor));
        }
    }
    let system = System::this()?;
    let recipe = Recipe::of(flavor, &system);
    let root = cache::folder_once(&recipe.folder(), |part| fetch(flavor, &system, &recipe, part))?;
    let native = native(flavor, &root)
        .with_context(|| format!("{} is not as expected; delete it to have it fetched again", root.display()))?;
    let version = version_of(flavor, &mut native.server())?;
    let origin = format!("packages of {} {}", system.name, recipe.suites.join(", "));
    Ok(Programs { flavor, version, origin, kind: Kind::Native(native) })
}

/// What to do on another system.
fn elsewhere(flavor: Flavor) -> String {
    format!(
        "this is not Debian or Ubuntu, whose packages could be unpacked; install Docker, or the server by the system's own \
         means (`dnf install {}-server`)",
        flavor.key()
    )
}

/// Downloads the packages and unpacks them into `root`.
fn fetch(flavor: Flavor, system: &System, recipe: &Recipe, root: &Path) -> Result<()> {
    let work = tempfile::Builder::new().prefix("apt-").tempdir_in(root).context("making apt's folder")?;
    let apt = Apt::new(work.path(), system, recipe)?;

    let mut progress = Progress::start(format!("{flavor}: reading the package list of {}", recipe.suites.join(", ")));
    apt.update(&mut progress)
        .context("the archive cannot be read; try `apt-get update` to see whether it can be reached")?;
    let packages = apt.resolve(recipe)?;
    let size = packages.iter().map(|package| package.size).sum();
    progress.done(&format!("{} packages, {}, are needed", packages.len(), megabytes(size)));

    let mut progress = Progress::start(format!("{flavor}: downloading"));
    let archives = apt.download(&packages, size, &mut progress)?;
    progress.done(&megabytes(size));

    let mut progress = Progress::start(format!("{flavor}: unpacking"));
    for (count, archive) in archives.iter().enumerate() {
        progress.update(&format!("{} of {}", count + 1, archives.len()));
        process::output(Command::new("dpkg-deb").arg("--extract").arg(archive).arg(root))?;
    }
    // Not complete without these, so not to be renamed into place.
    native(flavor, root)?;
    progress.done(&format!("{} packages", archives.len()));
    Ok(())
}

/// How the unpacked programs are run.
fn native(flavor: Flavor, root: &Path) -> Result<Native> {
    let usr = root.join("usr");
    let server = usr.join("sbin").join(flavor.server_program());
    ensure!(server.is_file(), "no {}", server.display());
    let mut libraries = library_folders(root);
    let loader = libraries
        .iter()
        .chain(&[usr.join("lib"), root.join("lib")])
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten())
        .find(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            // Not a symbolic link: an absolute one would lead out of here.
            name.starts_with("ld-linux") && name.contains(".so.") && entry.file_type().is_ok_and(|kind| kind.is_file())
        })
        .map(|entry| entry.path())
        .context("no dynamic loader")?;
    libraries.push(usr.join("lib/mysql/private"));
    let library_path = libraries.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(":");

    let share = usr.join("share/mysql");
    let plugins = usr.join("lib/mysql/plugin");
    let mut server_arguments = vec![
        format!("--basedir={}", usr.display()),
        format!("--lc-messages-dir={}", share.display()),
        format!("--character-sets-dir={}", share.join("charsets").display()),
        format!("--plugin-dir={}", plugins.display()),
    ];
    let mut client_environment = Vec::new();
    if flavor == Flavor::Mariadb {
        ensure!(has_system_tables(&share), "no system tables in {}", share.display());
        if plugins.join("auth_ed25519.so").is_file() {
            server_arguments.push("--plugin-load-add=auth_ed25519".into());
        }
        if let Some(folder) =
            libraries.iter().map(|folder| folder.join("libmariadb3/plugin")).find(|folder| folder.is_dir())
        {
            client_environment.push(("MARIADB_PLUGIN_DIR".into(), folder.display().to_string()));
        }
    }
    Ok(Native {
        server,
        server_arguments,
        client_folders: vec![usr.join("bin")],
        client_environment,
        share: Some(share),
        loader: Some((loader, library_path)),
    })
}

/// `usr/lib/x86_64-linux-gnu` and the like; before the merge of `/usr`, also without `usr`.
fn library_folders(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = [root.join("usr/lib"), root.join("lib")]
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flat_map(|entries| entries.flatten())
        .map(|entry| entry.path())
        .filter(|path| path.is_dir() && path.to_string_lossy().contains("-linux-gnu"))
        .collect();
    folders.sort();
    folders
}
