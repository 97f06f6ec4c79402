//! Regular files only, without waiting for whatever else may stand in their place.

use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// A file that was read whole.
#[derive(Debug)]
pub struct Content {
    pub bytes: Vec<u8>,
    pub metadata: Metadata,
}

/// Reads a regular file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> io::Result<Content> {
    let (file, metadata) = open(path)?;
    let expected = metadata.len().min(limit).saturating_add(1);
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {limit} bytes")));
    }
    Ok(Content { bytes, metadata })
}

/// Opens a regular file for reading; symbolic links are followed.
///
/// The type is checked twice: before the open, because opening a device or a pipe has effects on it, and after it, because
/// the file may have been replaced in between. `O_NONBLOCK` makes the open of a pipe return in that case.
pub fn open(path: &Path) -> io::Result<(File, Metadata)> {
    require_regular(fs::metadata(path)?.file_type())?;
    let file = OpenOptions::new().read(true).custom_flags(never_wait()).open(path)?;
    let metadata = file.metadata()?;
    require_regular(metadata.file_type())?;
    Ok((file, metadata))
}

/// Creates a file for writing in place of whatever is there, which is removed and not opened.
pub fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// Opens a regular file for writing and keeps its content; creates it if it does not exist.
pub fn open_or_create(path: &Path) -> io::Result<File> {
    if let Ok(metadata) = fs::metadata(path) {
        require_regular(metadata.file_type())?;
    }
    let file = OpenOptions::new().write(true).create(true).truncate(false).custom_flags(never_wait()).open(path)?;
    require_regular(file.metadata()?.file_type())?;
    Ok(file)
}

fn never_wait() -> i32 {
    (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()
}

fn require_regular(found: FileType) -> io::Result<()> {
    let (kind, what) = match () {
        () if found.is_file() => return Ok(()),
        () if found.is_dir() => (io::ErrorKind::IsADirectory, "a folder"),
        () if found.is_fifo() => (io::ErrorKind::InvalidInput, "a named pipe (FIFO)"),
        () if found.is_socket() => (io::ErrorKind::InvalidInput, "a socket"),
        () if found.is_char_device() => (io::ErrorKind::InvalidInput, "a character device"),
        () if found.is_block_device() => (io::ErrorKind::InvalidInput, "a block device"),
        () => (io::ErrorKind::InvalidInput, "no regular file"),
    };
    Err(io::Error::new(kind, format!("it is {what}; put a regular file in its place")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    use super::*;

    fn error(path: &Path) -> String {
        read(path, 100).expect_err("not a regular file").to_string()
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        assert!(Command::new("mkfifo").arg(at("pipe")).status().expect("mkfifo").success());
        let _socket = UnixListener::bind(at("socket")).expect("a socket");
        symlink(at("pipe"), at("link-to-pipe")).expect("a link");
        for (path, expected) in [
            (at("pipe"), "named pipe (FIFO)"),
            (at("link-to-pipe"), "named pipe (FIFO)"),
            (at("socket"), "a socket"),
            (folder.path().to_owned(), "a folder"),
            ("/dev/zero".into(), "character device"),
        ] {
            let said = error(&path);
            assert!(said.contains(expected) && said.contains("put a regular file"), "{}: {said}", path.display());
        }
        fs::write(at("file"), "text").expect("a file");
        symlink(at("file"), at("link")).expect("a link");
        assert_eq!(read(&at("link"), 4).expect("a regular file").bytes, b"text");
    }

    #[test]
    fn size_over_the_limit_is_an_error() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, [b'x'; 101]).expect("a file");
        assert_eq!(read(&path, 100).expect_err("too large").kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(read(&path, 101).expect("large enough").bytes.len(), 101);
    }

    #[test]
    fn create_replaces_a_pipe_without_opening_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new");
        assert!(Command::new("mkfifo").arg(&path).status().expect("mkfifo").success());
        drop(create(&path).expect("a file"));
        assert!(fs::metadata(&path).expect("it is there").is_file());
        drop(create(&path).expect("a file again"));
    }
}
