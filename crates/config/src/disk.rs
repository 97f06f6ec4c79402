//! Reading files within a deadline.

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use files::{Content, Helper};

/// How the configuration and the files that it names are read. Clones share their helper threads.
#[derive(Debug, Clone)]
pub(crate) struct Disk {
    helper: Arc<Helper>,
    deadline: Duration,
}

impl Disk {
    /// For a process that can do nothing before it has read its files: a slow disk may be waited for.
    pub(crate) fn at_start() -> Disk {
        Disk { helper: Arc::default(), deadline: Duration::from_secs(10) }
    }

    /// For a running proxy, whose operators wait behind each read.
    pub(crate) fn while_running() -> Disk {
        Disk { helper: Arc::default(), deadline: Duration::from_secs(2) }
    }

    /// Reads a regular file of at most `limit` bytes.
    pub(crate) fn read(&self, path: &Path, limit: u64) -> io::Result<Content> {
        self.run(path, move |path| files::read(path, limit))
    }

    /// Checks that a regular file can be opened.
    pub(crate) fn check_readable(&self, path: &Path) -> io::Result<()> {
        self.run(path, |path| files::open(path).map(drop))
    }

    pub(crate) fn metadata(&self, path: &Path) -> io::Result<Metadata> {
        self.run(path, |path| std::fs::metadata(path))
    }

    fn run<T: Send + 'static>(
        &self,
        path: &Path,
        work: impl FnOnce(&Path) -> io::Result<T> + Send + 'static,
    ) -> io::Result<T> {
        let owned: PathBuf = path.to_owned();
        self.helper.run(path, self.deadline, move || work(&owned))?
    }
}
