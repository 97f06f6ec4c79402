//! What the file looks like, seen through links.

use std::fs::Metadata;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::disk::Disk;
use crate::load::MAX_FILE;

/// A change within the clock tick of the file system, or one that a network file system does not tell at once, shows only in
/// the content: so that is looked at as often.
const READ_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Look {
    File(Stamp),
    Missing,
    /// Also of what is no file (a folder, a pipe) and of a hung file system.
    Unreadable(io::ErrorKind),
}

/// Two files that are alike in all of this are the same file with the same content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    pub device: u64,
    pub inode: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, i64),
    pub changed: (i64, i64),
    pub size: u64,
    /// A hash of it.
    pub content: u64,
}

/// Looks at one path again and again.
#[derive(Debug)]
pub struct Looker {
    path: PathBuf,
    disk: Disk,
    last: Option<(Stamp, Instant)>,
}

impl Looker {
    pub(super) fn new(path: &Path, disk: Disk) -> Self {
        Looker { path: path.to_owned(), disk, last: None }
    }

    /// Asks the file system, and reads the content if that may have changed.
    pub fn look(&mut self, now: Instant) -> Look {
        let seen = self.try_look(now);
        match seen {
            Ok(stamp) => Look::File(stamp),
            Err(error) => {
                self.last = None;
                match error.kind() {
                    io::ErrorKind::NotFound => Look::Missing,
                    kind => Look::Unreadable(kind),
                }
            }
        }
    }

    fn try_look(&mut self, now: Instant) -> io::Result<Stamp> {
        let metadata = self.disk.metadata(&self.path)?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        if !metadata.is_file() {
            // To open a pipe would be to wait for whoever writes to it.
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if let Some((last, at)) = &self.last
            && *last == stamp(&metadata, last.content)
            && now.saturating_duration_since(*at) < READ_EVERY
        {
            return Ok(last.clone());
        }
        let seen = stamp(&metadata, self.hash_content()?);
        self.last = Some((seen.clone(), now));
        Ok(seen)
    }

    fn hash_content(&self) -> io::Result<u64> {
        // What is too large is refused when it is read as a configuration.
        let bytes = match self.disk.read(&self.path, MAX_FILE) {
            Ok(content) => content.bytes,
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        Ok(hasher.finish())
    }
}

fn stamp(metadata: &Metadata, content: u64) -> Stamp {
    Stamp {
        device: metadata.dev(),
        inode: metadata.ino(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
        size: metadata.size(),
        content,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn looker(path: &Path) -> Looker {
        Looker::new(path, Disk::while_running())
    }

    fn soon(start: Instant, step: u32) -> Instant {
        start + Duration::from_millis(100) * step
    }

    #[test]
    fn whatever_changes_the_file_changes_its_look() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let path = at("proxy.yaml");
        let mut looker = looker(&path);
        let start = Instant::now();
        let mut looks = vec![looker.look(start)];
        let mut next = |change: &dyn Fn()| {
            change();
            let step = u32::try_from(looks.len()).unwrap();
            let look = looker.look(soon(start, 2 * step));
            assert_eq!(looker.look(soon(start, 2 * step + 1)), look, "nothing has changed since");
            assert_ne!(looks.last(), Some(&look), "step {step}");
            looks.push(look);
        };
        next(&|| fs::write(&path, "a").unwrap());
        next(&|| fs::write(&path, "b").unwrap());
        next(&|| {
            fs::write(at("new"), "b").unwrap();
            fs::rename(at("new"), &path).unwrap();
        });
        next(&|| fs::remove_file(&path).unwrap());
        next(&|| fs::create_dir(&path).unwrap());
        next(&|| fs::remove_dir(&path).unwrap());
        // As Kubernetes does it: the file is a link into a folder that is itself a link, and that one is swapped.
        next(&|| {
            for version in ["..1", "..2"] {
                fs::create_dir(at(version)).unwrap();
                fs::write(at(version).join("proxy.yaml"), "same").unwrap();
            }
            symlink("..1", at("..data")).unwrap();
            symlink("..data/proxy.yaml", &path).unwrap();
        });
        next(&|| {
            symlink("..2", at("..data_tmp")).unwrap();
            fs::rename(at("..data_tmp"), at("..data")).unwrap();
        });
        next(&|| fs::remove_file(at("..2/proxy.yaml")).unwrap());
        assert_eq!(looks.last(), Some(&Look::Missing));
        assert!(looks.contains(&Look::Unreadable(io::ErrorKind::IsADirectory)));
    }

    #[test]
    fn the_content_is_read_again_even_if_nothing_tells_of_a_change() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("proxy.yaml");
        fs::write(&path, "a").unwrap();
        let mut looker = looker(&path);
        let start = Instant::now();
        let first = looker.look(start);
        // Another content in what was kept, as if the file system had not told.
        if let Some((stamp, _)) = &mut looker.last {
            stamp.content += 1;
        }
        assert_ne!(looker.look(soon(start, 9)), first);
        assert_eq!(looker.look(soon(start, 10)), first);
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        assert_eq!(looker(Path::new("/dev/null")).look(Instant::now()), Look::Unreadable(io::ErrorKind::InvalidInput));
    }
}
