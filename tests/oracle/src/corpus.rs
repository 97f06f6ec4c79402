//! The packets that are always run first: one file each.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::case::Case;

/// The corpus of the repository.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// All cases, in the order of their file names.
pub fn load(folder: &Path) -> Result<Vec<(String, Case)>> {
    let mut cases = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "txt") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        cases.push((name, Case::from_file(&text).with_context(|| path.display().to_string())?));
    }
    cases.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(cases)
}

/// Keeps a case under a name made of the failure and the packet; an existing file stays as it is.
pub fn keep(folder: &Path, prefix: &str, case: &Case, comment: &str) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    case.hash(&mut hasher);
    let path = folder.join(format!("{prefix}-{:08x}.txt", hasher.finish() & 0xFFFF_FFFF));
    if !path.exists() {
        fs::create_dir_all(folder)?;
        fs::write(&path, case.to_file(comment))?;
    }
    Ok(path)
}
