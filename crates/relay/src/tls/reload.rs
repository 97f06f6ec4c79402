//! A configuration made from files, and made again when the files change.

use super::TlsError;
use arc_swap::ArcSwap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The outcome of looking at the files again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    Unchanged,
    Reloaded,
}

pub(super) struct Reloadable<C> {
    files: Vec<PathBuf>,
    current: ArcSwap<Loaded<C>>,
}

struct Loaded<C> {
    stamps: Vec<Option<Stamp>>,
    config: Arc<C>,
}

impl<C> Reloadable<C> {
    pub(super) fn load(
        files: Vec<PathBuf>,
        build: impl FnOnce() -> Result<C, TlsError>,
    ) -> Result<Reloadable<C>, TlsError> {
        // The stamps are taken before the files are read: a change in between is then seen the next time.
        let stamps = stamps(&files);
        let config = Arc::new(build()?);
        Ok(Reloadable { files, current: ArcSwap::from_pointee(Loaded { stamps, config }) })
    }

    pub(super) fn files(&self) -> &[PathBuf] {
        &self.files
    }

    pub(super) fn current(&self) -> Arc<C> {
        Arc::clone(&self.current.load().config)
    }

    /// On an error the old configuration stays, and the files are tried again the next time even if they stay the same:
    /// the two files of a pair are seldom replaced at one instant, and permissions are no part of a stamp.
    pub(super) fn reload_if_changed(&self, build: impl FnOnce() -> Result<C, TlsError>) -> Result<Reload, TlsError> {
        let stamps = stamps(&self.files);
        if stamps == self.current.load().stamps {
            return Ok(Reload::Unchanged);
        }
        let config = Arc::new(build()?);
        self.current.store(Arc::new(Loaded { stamps, config }));
        Ok(Reload::Reloaded)
    }
}

/// What tells one content of a file from another without reading it. Symlinks are followed: Kubernetes replaces mounted
/// secrets by turning a symlink of a parent directory, which changes the inode and nothing about the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

fn stamps(files: &[PathBuf]) -> Vec<Option<Stamp>> {
    files.iter().map(|file| stamp(file)).collect()
}

/// `None` for a file that is not there or not reachable; reading it says why.
fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some(Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        length: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
    })
}
