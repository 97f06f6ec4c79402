//! A program's wall clock, which a test sets while the program runs.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::skipped;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/e2e/harness/wall_clock.c");

pub(crate) struct WallClock {
    offset: File,
    path: PathBuf,
    library: PathBuf,
    /// Removed with it.
    _folder: tempfile::TempDir,
}

impl WallClock {
    /// `None`: there is no way to set it here, which is said.
    pub(crate) fn new(whose: &str) -> Option<WallClock> {
        let folder = tempfile::tempdir().expect("a folder");
        let Some(library) = library(folder.path()) else {
            skipped(whose, "what sets it for one program needs Linux and a C compiler (gcc, libc6-dev)");
            return None;
        };
        let path = folder.path().join("clock");
        let offset = File::create(&path).expect("a file");
        let clock = WallClock { offset, path, library, _folder: folder };
        clock.is_ahead_by(0);
        Some(clock)
    }

    /// By seconds, from now on; negative where it is behind.
    pub(crate) fn is_ahead_by(&self, seconds: i64) {
        self.offset.write_all_at(&seconds.to_ne_bytes(), 0).expect("writing the clock's file");
    }

    /// What the program must be started with.
    pub(crate) fn environment(&self) -> [(String, String); 2] {
        let variable = |name: &str, path: &PathBuf| (name.to_owned(), path.display().to_string());
        [variable("LD_PRELOAD", &self.library), variable("TOLLGATE_TEST_CLOCK", &self.path)]
    }
}

/// `None`: it cannot be made.
fn library(folder: &Path) -> Option<PathBuf> {
    let made = folder.join("wall_clock.so");
    let compiled =
        Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&made).args([SOURCE, "-ldl"]).output();
    let is_made = cfg!(target_os = "linux") && compiled.is_ok_and(|output| output.status.success());
    is_made.then_some(made)
}
