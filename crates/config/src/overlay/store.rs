//! The file of the overlay: whole at every moment, and never lost without a word.

use std::fs::{self, File, Metadata};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};

use super::format::{self, Parsed};
use super::{Note, OverlayError, State};

/// Far more than the rules that it may hold.
const MAX_FILE: u64 = 256 * 1024 * 1024;

/// A change takes milliseconds; who holds the lock longer hangs.
const LOCK_TIME: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    /// As it was when it was last read or written.
    seen: Option<Seen>,
    /// As it was when a copy was set aside.
    copied: Option<Seen>,
    #[cfg(test)]
    pub(super) fail_at: Option<Step>,
}

/// The steps of a write, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Create,
    Write,
    Sync,
    Rename,
    SyncFolder,
}

type Seen = (u64, u64, i64, i64, u64);

pub(super) enum Read {
    Missing,
    Good { state: State, lost: Vec<String> },
    Broken(String),
    Newer(u64),
    Unreadable(io::Error),
}

/// Held while the file is changed; the system gives it back when the process ends, however it ends.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Store {
    pub(super) fn new(folder: &Path) -> Store {
        Store {
            folder: folder.to_owned(),
            seen: None,
            copied: None,
            #[cfg(test)]
            fail_at: None,
        }
    }

    /// Makes the folder if it is not there.
    pub(super) fn make_folder(&self) -> Option<Note> {
        let error = fs::create_dir_all(&self.folder).err()?;
        Some(Note::NoFolder { folder: self.folder.clone(), error: error.to_string() })
    }

    pub(super) fn file(&self) -> PathBuf {
        self.folder.join("rules.json")
    }

    pub(super) fn unwritable(&self, error: io::Error) -> OverlayError {
        OverlayError::NotKept { file: self.file(), error }
    }

    /// Waits a little for another process.
    pub(super) fn lock(&self) -> Result<Lock, OverlayError> {
        let path = self.folder.join("rules.lock");
        // The folder may have been taken away since the start.
        let opened = fs::create_dir_all(&self.folder).and_then(|()| files::open_or_create(&path));
        let file = opened.map_err(|error| self.unwritable(error))?;
        let end = Instant::now() + LOCK_TIME;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Lock { _file: file }),
                Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) if Instant::now() < end => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(OverlayError::Locked { file: self.file() }),
                Err(error) => return Err(self.unwritable(error.into())),
            }
        }
    }

    pub(super) fn read(&mut self) -> Read {
        let (bytes, seen) = match self.bytes() {
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.seen = None;
                return Read::Missing;
            }
            Err(error) => return Read::Unreadable(error),
        };
        self.seen = Some(seen);
        match format::read(&bytes) {
            Parsed::Good(state, lost) => Read::Good { state, lost },
            Parsed::Broken(why) => Read::Broken(why),
            Parsed::Newer(format) => Read::Newer(format),
        }
    }

    fn bytes(&self) -> io::Result<(Vec<u8>, Seen)> {
        let content = files::read(&self.file(), MAX_FILE)?;
        Ok((content.bytes, seen(&content.metadata)))
    }

    /// Whether it is another file than the one that was last read or written.
    pub(super) fn has_changed(&self) -> bool {
        fs::metadata(self.file()).ok().map(|metadata| seen(&metadata)) != self.seen
    }

    /// Under the lock. After an error the file is as it was. Nothing is put in place after the deadline, when the caller has
    /// stopped waiting and has told that the change failed.
    pub(super) fn write(&mut self, state: &State, deadline: Instant) -> Result<(), OverlayError> {
        let before = self.bytes().ok().map(|(bytes, _)| bytes);
        let new = self.folder.join("rules.json.new");
        let placed = self.place(&new, &format::write(state), Some(deadline));
        if let Err(error) = placed {
            drop(fs::remove_file(&new));
            return Err(self.unwritable(error));
        }
        if let Err(error) = self.step(Step::SyncFolder).and_then(|()| File::open(&self.folder)?.sync_all()) {
            // It is in place, and may not be there after a power cut: so it must not be there now.
            let restored = match before {
                Some(bytes) => self.place(&new, &bytes, None),
                None => fs::remove_file(self.file()),
            };
            drop(restored);
            return Err(self.unwritable(error));
        }
        self.seen = fs::metadata(self.file()).ok().map(|metadata| seen(&metadata));
        Ok(())
    }

    fn place(&self, new: &Path, bytes: &[u8], deadline: Option<Instant>) -> io::Result<()> {
        self.step(Step::Create)?;
        let mut file = files::create(new)?;
        self.step(Step::Write)?;
        file.write_all(bytes)?;
        self.step(Step::Sync)?;
        file.sync_all()?;
        self.step(Step::Rename)?;
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the disk took too long"));
        }
        fs::rename(new, self.file())
    }

    /// Renames the file out of the way.
    pub(super) fn set_aside(&mut self) -> Result<PathBuf, String> {
        let aside = self.aside();
        fs::rename(self.file(), &aside).map(|()| aside).map_err(|error| error.to_string())
    }

    /// Keeps a copy of the file that was read, for what is about to be dropped of it. `None` if that has been done.
    pub(super) fn copy_aside(&mut self) -> Option<Result<PathBuf, String>> {
        if self.copied.is_some() && self.copied == self.seen {
            return None;
        }
        self.copied = self.seen;
        let aside = self.aside();
        let copy = || -> io::Result<()> {
            let content = files::read(&self.file(), MAX_FILE)?;
            files::create(&aside)?.write_all(&content.bytes)
        };
        let copied = copy().map_err(|error| error.to_string());
        Some(copied.map(|()| aside))
    }

    fn aside(&self) -> PathBuf {
        let names = (1..u32::MAX).map(|number| self.folder.join(format!("rules.json.broken-{number}")));
        let free = names.into_iter().find(|path| !path.exists());
        free.unwrap_or_else(|| self.folder.join("rules.json.broken"))
    }

    /// Where tests make a write fail.
    #[cfg(test)]
    fn step(&self, step: Step) -> io::Result<()> {
        if self.fail_at == Some(step) { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "it is not so in tests")]
    fn step(&self, _: Step) -> io::Result<()> {
        Ok(())
    }
}

fn seen(metadata: &Metadata) -> Seen {
    (metadata.dev(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec(), metadata.size())
}
