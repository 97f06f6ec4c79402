//! A disk that is full or read-only: the rule is refused with a clear error, and all goes on as it was.

#[path = "../../../tests/e2e/harness/skipped.rs"]
mod skipped;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use config::overlay::{Overlay, OverlayError};
use rules::{Rule, Timestamp};
use skipped::skipped;
use tempfile::TempDir;

const NOW: Timestamp = Timestamp(1_776_765_930_000);

fn rule(number: usize) -> Rule {
    let json = serde_json::json!({
        "id": format!("r{number}"), "match": { "user": format!("u{number}") }, "do": { "hold": true },
        "reason": "x".repeat(400),
    });
    config::rule::from_json(&json, &[], NOW).expect("a good rule")
}

/// Adds rules until one is refused; then what is in memory is what is on the disk.
fn add_until_refused(folder: &Path) -> (Overlay, String) {
    let (mut overlay, notes) = Overlay::open(folder, []);
    assert!(notes.is_empty(), "{notes:?}");
    for number in 0..10_000 {
        let before = overlay.rules().len();
        let Err(error) = overlay.add(rule(number), NOW) else { continue };
        assert!(matches!(error, OverlayError::NotKept { .. }), "{error}");
        assert_eq!(overlay.rules().len(), before);
        let (again, notes) = Overlay::open(folder, []);
        assert!(notes.is_empty(), "{notes:?}");
        assert_eq!(again.rules(), overlay.rules());
        assert!(!folder.join("rules.json.new").exists());
        return (overlay, error.to_string());
    }
    panic!("nothing was refused");
}

/// The child, whose files may not grow beyond some size.
#[test]
#[ignore = "it is started by the test below"]
fn child() {
    let folder = PathBuf::from(std::env::var_os("OVERLAY").expect("the folder"));
    let (overlay, error) = add_until_refused(&folder);
    println!("\nrefused after {} rules: {error}", overlay.rules().len());
}

#[test]
fn a_file_that_may_not_grow() {
    let folder = tempfile::tempdir().expect("a folder");
    // Without the signal, which would end the process, a write beyond the limit is an error.
    let script = "trap '' XFSZ; ulimit -f 40; exec \"$0\" --exact child --ignored --nocapture";
    let output = Command::new("sh")
        .args(["-c", script])
        .arg(std::env::current_exe().expect("this test"))
        .env("OVERLAY", folder.path())
        .output()
        .expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let refused = said.lines().find(|line| line.starts_with("refused after")).expect("a refusal");
    assert!(refused.contains("could not be kept") && refused.contains("rules.json: File too large"), "{refused}");
    // Without the limit it goes on.
    let (mut overlay, _) = Overlay::open(folder.path(), []);
    let before = overlay.rules().len();
    assert!(before > 10);
    overlay.add(rule(20_000), NOW).expect("there is room again");
    assert_eq!(overlay.rules().len(), before + 1);
}

/// A small file system of its own, if this user may mount one.
struct Tiny(TempDir);

impl Tiny {
    fn mount() -> Option<Tiny> {
        let folder = tempfile::tempdir().expect("a folder");
        let mounted = mount(&["-t", "tmpfs", "-o", "size=128k", "tollgate-test"], folder.path());
        mounted.then(|| Tiny(folder))
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

fn mount(options: &[&str], folder: &Path) -> bool {
    let status = Command::new("mount").args(options).arg(folder).stderr(std::process::Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

#[test]
fn a_full_disk() {
    let Some(tiny) = Tiny::mount() else {
        skipped("a full disk", "only root may mount a small one; `a_file_that_may_not_grow` is the like for others");
        return;
    };
    let filler = tiny.0.path().join("filler");
    fs::write(&filler, vec![0; 64 * 1024]).expect("half of it");
    let (mut overlay, error) = add_until_refused(tiny.0.path());
    assert!(error.contains("No space left on device"), "{error}");
    assert!(overlay.rules().len() > 5);
    fs::remove_file(&filler).expect("room");
    overlay.add(rule(20_000), NOW).expect("there is room again");
}

#[test]
fn a_read_only_disk() {
    let (folder, tiny) = match Tiny::mount() {
        Some(tiny) => (tiny.0.path().to_owned(), Some(tiny)),
        None => (tempfile::tempdir().expect("a folder").keep(), None),
    };
    let (mut overlay, _) = Overlay::open(&folder, []);
    overlay.add(rule(1), NOW).expect("still writable");
    if tiny.is_some() {
        assert!(mount(&["-o", "remount,ro"], &folder));
    } else {
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).expect("ours");
        if fs::write(folder.join("probe"), "").is_ok() {
            skipped("a read-only disk", "root may write everywhere, and may not mount one");
            return;
        }
    }
    let error = overlay.add(rule(2), NOW).expect_err("nothing can be written").to_string();
    assert!(error.contains("could not be kept"), "{error}");
    assert!(overlay.end("r1", NOW).is_err());
    assert_eq!(overlay.rules().len(), 1);
    // A proxy that starts on it has its rules.
    let (mut again, notes) = Overlay::open(&folder, []);
    assert!(notes.is_empty(), "{notes:?}");
    assert_eq!(again.rules(), overlay.rules());
    assert!(again.add(rule(2), NOW).is_err());
}
