//! Views, routines and triggers that statements have just defined, and that the catalogue does not show yet.
//!
//! A statement that touches one of their names may touch anything, until the catalogue has been read from after the
//! definition had ended.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use catalog::Expansion;
use statement::{Defines, Table};
use tokio::time::Instant;

/// Names that are remembered; beyond them every name counts as one of them.
const MOST_NAMES: usize = 16_384;

#[derive(Debug, Default)]
pub(crate) struct RecentChanges {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    changes: Vec<Change>,
    next: u64,
}

#[derive(Debug)]
struct Change {
    number: u64,
    defines: Defines,
    /// `None`: any name.
    names: Option<HashSet<Box<str>>>,
    /// `None`: the statement has not ended.
    ended: Option<Instant>,
}

/// A definition under way; it has ended when this is dropped.
#[derive(Debug)]
pub(crate) struct ChangeUnderWay {
    changes: Arc<RecentChanges>,
    number: u64,
}

impl RecentChanges {
    /// `names`: all names in the statement, in lower case. `None`: they are not known.
    pub(crate) fn begin(self: &Arc<Self>, defines: Defines, names: Option<HashSet<Box<str>>>) -> ChangeUnderWay {
        let mut state = self.lock();
        let known: usize = state.changes.iter().filter_map(|change| change.names.as_ref()).map(HashSet::len).sum();
        let names = names.filter(|names| known + names.len() <= MOST_NAMES);
        let number = state.next;
        state.next += 1;
        // Any name is any name, once.
        if names.is_none() {
            state.changes.retain(|change| change.names.is_some() || change.ended.is_none());
        }
        state.changes.push(Change { number, defines, names, ended: None });
        ChangeUnderWay { changes: Arc::clone(self), number }
    }

    /// The catalogue has been read from this moment on. Whether changes are left.
    pub(crate) fn seen_from(&self, moment: Instant) -> bool {
        let mut state = self.lock();
        state.changes.retain(|change| change.ended.is_none_or(|ended| ended >= moment));
        !state.changes.is_empty()
    }

    /// Whether a statement that touches all this, by its text and by the catalogue, may touch more by now.
    pub(crate) fn concern(
        &self,
        tables: &Expansion<'_>,
        calls: &Expansion<'_>,
        called: &[&Table],
        is_expanded: bool,
        writes: bool,
    ) -> bool {
        let state = self.lock();
        let named = || {
            let touched = tables.tables.iter().chain(calls.tables.iter());
            touched.chain(called.iter().copied()).map(|table| &*table.name)
        };
        state.changes.iter().any(|change| {
            // Which routines are behind views and triggers is not told apart.
            let may_be_behind = change.defines == Defines::Routines && is_expanded;
            if change.defines == Defines::Triggers && !writes {
                return false;
            }
            may_be_behind || change.names.as_ref().is_none_or(|names| named().any(|name| names.contains(name)))
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The list is whole between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ChangeUnderWay {
    fn drop(&mut self) {
        let mut state = self.changes.lock();
        if let Some(change) = state.changes.iter_mut().find(|change| change.number == self.number) {
            change.ended = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::time::Duration;

    use super::*;

    fn names(names: &[&str]) -> Option<HashSet<Box<str>>> {
        Some(names.iter().map(|name| (*name).into()).collect())
    }

    fn touches<'a>(names: &[&str]) -> Expansion<'a> {
        let table = |name: &&str| Table { schema: None, name: (**name).into() };
        Expansion {
            tables: Cow::Owned(names.iter().map(table).collect()),
            writes: false,
            ddl: false,
            dynamic: false,
            locks: false,
            calls_unknown: false,
            unknown_names: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn names_count_until_the_catalogue_is_read_after_the_end() {
        let changes = Arc::new(RecentChanges::default());
        let concern = |name: &str| changes.concern(&touches(&[name]), &touches(&[]), &[], false, false);
        assert!(!concern("v"));
        let under_way = changes.begin(Defines::Views, names(&["v", "f"]));
        assert!(concern("v") && !concern("t"));
        assert!(changes.seen_from(Instant::now()), "it has not ended");
        tokio::time::advance(Duration::from_millis(1)).await;
        drop(under_way);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(
            changes.seen_from(Instant::now() - Duration::from_millis(2)) && concern("v"),
            "read from before its end"
        );
        assert!(!changes.seen_from(Instant::now()) && !concern("v"));
    }

    #[test]
    fn routines_may_be_behind_every_view() {
        let changes = Arc::new(RecentChanges::default());
        let _under_way = changes.begin(Defines::Routines, names(&["f"]));
        let concern = |is_expanded| changes.concern(&touches(&["v"]), &touches(&[]), &[], is_expanded, false);
        assert!(concern(true) && !concern(false));
        let f = Table { schema: None, name: "f".into() };
        assert!(changes.concern(&touches(&[]), &touches(&[]), &[&f], false, false));
    }

    #[test]
    fn triggers_are_behind_writes_only() {
        let changes = Arc::new(RecentChanges::default());
        let _under_way = changes.begin(Defines::Triggers, names(&["t", "copy"]));
        let concern = |writes| changes.concern(&touches(&["t"]), &touches(&[]), &[], false, writes);
        assert!(concern(true) && !concern(false));
    }

    #[test]
    fn too_many_names_are_any_name() {
        let changes = Arc::new(RecentChanges::default());
        let many: Vec<String> = (0..=MOST_NAMES).map(|number| format!("v{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let _under_way = changes.begin(Defines::Views, names(&many));
        assert!(changes.concern(&touches(&["t"]), &touches(&[]), &[], false, false));
    }
}
