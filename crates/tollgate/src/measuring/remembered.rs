//! What the replicas were seen to bear, kept over a restart: a first overload is small if the rate is known.
//!
//! It is only an estimate: a file that cannot be read or written costs a little, and is said once.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use admission::gates::Gates;
use files::Helper;
use tracing::warn;

use super::asked::START_TIME;

const EVERY: Duration = Duration::from_secs(30);
/// Far more than all gates take.
const LARGEST: u64 = 1024 * 1024;
/// What changed by less is not worth a write.
const MUCH: f64 = 0.2;

#[derive(Debug)]
pub(super) struct Remembered {
    path: PathBuf,
    known: BTreeMap<String, f64>,
    last: Option<Instant>,
    /// Writes, so that the gates do not wait for the disk.
    helper: Helper,
    complained: Arc<AtomicBool>,
}

impl Remembered {
    pub(super) fn open(state_dir: &Path) -> Remembered {
        let path = state_dir.join("borne.json");
        let helper = Helper::default();
        let work = path.clone();
        let content = helper.run(&path, START_TIME, move || files::read(&work, LARGEST)).ok().and_then(Result::ok);
        let known = content.and_then(|content| serde_json::from_slice(&content.bytes).ok());
        Remembered { path, known: known.unwrap_or_default(), last: None, helper, complained: Arc::default() }
    }

    pub(super) fn tell(&self, gates: &Gates) {
        self.known.iter().for_each(|(gate, borne)| gates.remember(gate, *borne));
    }

    pub(super) fn keep(&mut self, gates: &Gates, now: Instant) {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) < EVERY) {
            return;
        }
        // Not at once: what was just told is no news.
        if self.last.replace(now).is_none() {
            return;
        }
        let borne: BTreeMap<String, f64> =
            gates.borne().into_iter().map(|(gate, borne)| (gate.to_string(), borne)).collect();
        let differs = |(gate, borne): (&String, &f64)| {
            self.known.get(gate).is_none_or(|known| (borne / known - 1.0).abs() > MUCH)
        };
        if !borne.iter().any(differs) {
            return;
        }
        let (path, new) = (self.path.clone(), borne.clone());
        let complained = Arc::clone(&self.complained);
        let begun = self.helper.start(&self.path, move || {
            if let Err(error) = write(&path, &new) {
                complain(&path, &error, &complained);
            }
        });
        match begun {
            Ok(()) => self.known = borne,
            // The one before hangs; the next turn tries again.
            Err(error) => complain(&self.path, &error.into(), &self.complained),
        }
    }
}

fn complain(path: &Path, error: &std::io::Error, complained: &AtomicBool) {
    if !complained.swap(true, Ordering::Relaxed) {
        warn!(%error, path = %path.display(), "what the replicas bear cannot be remembered over a restart");
    }
}

/// Whole or not at all.
fn write(path: &Path, borne: &BTreeMap<String, f64>) -> std::io::Result<()> {
    let beside = path.with_extension("json.new");
    let mut file = files::create(&beside)?;
    file.write_all(&serde_json::to_vec(borne)?)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_borne_is_read_again_and_nonsense_is_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("borne.json");
        write(&path, &BTreeMap::from([("replication_lag".to_owned(), 420.0)])).unwrap();
        assert_eq!(Remembered::open(folder.path()).known["replication_lag"], 420.0);
        std::fs::write(&path, "{\"replication_lag\": ").unwrap();
        assert!(Remembered::open(folder.path()).known.is_empty());
        assert!(Remembered::open(Path::new("/nowhere")).known.is_empty());
    }
}
