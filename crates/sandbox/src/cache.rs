//! The folder that is kept between runs: unpacked packages and initialised data folders.
//!
//! Whatever is made in it is made beside its place under a temporary name and renamed when whole, under a lock, so that
//! what is there is complete and two processes do not fetch at once. Deleting the folder is always allowed.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};

use crate::progress::Progress;

/// `TOLLGATE_SANDBOX_CACHE`, else `tollgate` in the user's cache folder, else one in the temporary folder.
pub fn folder() -> Result<PathBuf> {
    let named = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = named("TOLLGATE_SANDBOX_CACHE")
        .or_else(|| named("XDG_CACHE_HOME").map(|cache| cache.join("tollgate")))
        .or_else(|| named("HOME").map(|home| home.join(".cache/tollgate")));
    if let Some(folder) = folder
        && fs::create_dir_all(&folder).is_ok()
        && tempfile::tempfile_in(&folder).is_ok()
    {
        return absolute(&folder);
    }
    // A service account's home is often not there or not its own.
    let folder = env::temp_dir().join(format!("tollgate-cache-{}", rustix::process::getuid().as_raw()));
    fs::create_dir_all(&folder).with_context(|| {
        format!(
            "no cache folder can be written; set TOLLGATE_SANDBOX_CACHE to one that can (tried {})",
            folder.display()
        )
    })?;
    absolute(&folder)
}

fn absolute(folder: &Path) -> Result<PathBuf> {
    folder.canonicalize().with_context(|| format!("resolving {}", folder.display()))
}

/// Gives `folder()/name`, made by `make` into an empty temporary folder if it is not there yet.
pub(crate) fn folder_once(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let cache = folder()?;
    let place = cache.join(name);
    if place.is_dir() {
        return Ok(place);
    }
    let _lock = lock(&cache.join(format!("{name}.lock")), name)?;
    if place.is_dir() {
        return Ok(place);
    }
    let prefix = format!("{name}.part-");
    remove_leftovers(&cache, &prefix);
    let part = tempfile::Builder::new().prefix(&prefix).tempdir_in(&cache).context("making a folder in the cache")?;
    make(part.path())?;
    fs::rename(part.path(), &place).with_context(|| format!("moving into {}", place.display()))?;
    // Renamed away: there is nothing to delete any more.
    let _ = part.keep();
    Ok(place)
}

/// Waits until no other process holds the lock; the kernel gives it back when its holder ends, however that happens.
fn lock(path: &Path, what: &str) -> Result<File> {
    let file = File::options()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("opening the lock {}", path.display()))?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        let progress = Progress::start(format!("another process is preparing {what}; waiting for it"));
        flock(&file, FlockOperation::LockExclusive).with_context(|| format!("locking {}", path.display()))?;
        progress.done("it has finished");
    }
    Ok(file)
}

/// What an interrupted run left. The lock is held, so nobody is working in them.
fn remove_leftovers(cache: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(cache) else { return };
    for entry in entries.flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
