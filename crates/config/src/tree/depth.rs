//! Deep nesting in brackets, found before the YAML reader sees it.
//!
//! The reader refuses values nested deeper than [`DEEPEST`], but only after it has read the whole text; and for each token
//! its scanner walks over all open brackets (the simple keys of libyaml), so a text of nothing but brackets takes quadratic
//! time. This scan takes linear time and finds the bracket that goes too deep, and the reader is given the text up to there.

mod cursor;
mod scan;

use scan::Scan;

/// Levels of lists and maps that the reader accepts.
pub(crate) const DEEPEST: usize = 128;

/// The length of the shortest beginning of the text that is nested too deep in brackets, if there is one.
pub(super) fn too_deep(text: &str) -> Option<usize> {
    let mut scan = Scan::new(text);
    while scan.token() {
        if scan.depth() > DEEPEST {
            return Some(scan.position());
        }
    }
    None
}

#[cfg(test)]
mod tests;
