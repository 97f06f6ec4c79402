//! A folder on a mount that hangs when a test says so, for one program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::skipped;

const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/e2e/harness/hung_mount.c");

pub(crate) struct HungMount {
    folder: tempfile::TempDir,
    library: PathBuf,
}

impl HungMount {
    /// `None`: it cannot be simulated here, which is reported.
    pub(crate) fn new(whose: &str) -> Option<HungMount> {
        let folder = tempfile::tempdir().expect("a folder");
        let library = folder.path().join("hung_mount.so");
        let compiled =
            Command::new("cc").args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).args([SOURCE, "-ldl"]).output();
        if !cfg!(target_os = "linux") || !compiled.is_ok_and(|output| output.status.success()) {
            skipped(whose, "a simulated mount needs Linux and a C compiler (gcc, libc6-dev)");
            return None;
        }
        let mount = HungMount { folder, library };
        fs::create_dir(mount.path()).expect("the mount");
        Some(mount)
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("mount")
    }

    pub(crate) fn hang(&self) {
        fs::write(self.marker(), "").expect("the marker");
    }

    pub(crate) fn recover(&self) {
        fs::remove_file(self.marker()).expect("the marker");
    }

    fn marker(&self) -> PathBuf {
        self.folder.path().join("hangs")
    }

    /// The words before the program that has the mount.
    pub(crate) fn program(&self) -> Vec<String> {
        let variable = |name: &str, path: &Path| format!("{name}={}", path.display());
        vec![
            "env".to_owned(),
            variable("LD_PRELOAD", &self.library),
            variable("TOLLGATE_TEST_MOUNT", &self.path()),
            variable("TOLLGATE_TEST_HANG", &self.marker()),
        ]
    }
}
