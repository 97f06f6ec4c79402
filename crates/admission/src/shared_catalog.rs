//! The upstream's catalogue as every session sees it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arc_swap::{ArcSwap, Guard};
use catalog::Catalog;
use statement::{Class, Classes, Defines};
use tokio::time::Instant;

use crate::recent_changes::{ChangeUnderWay, RecentChanges};

/// The latest snapshot. What every statement must know of it is one byte.
#[derive(Debug)]
pub(crate) struct SharedCatalog {
    latest: ArcSwap<Catalog>,
    recent: Arc<RecentChanges>,
    /// The classes of which the catalogue may know better than a text.
    tells_of: AtomicU8,
}

const CALLS: u8 = 1;
const READS: u8 = 1 << 1;
/// Views, routines and triggers have changed since it was read.
const CHANGED: u8 = 1 << 2;

impl SharedCatalog {
    pub(crate) fn unknown() -> SharedCatalog {
        let latest = ArcSwap::from_pointee(Catalog::unknown());
        SharedCatalog { latest, recent: Arc::default(), tells_of: AtomicU8::new(0) }
    }

    /// The catalogue as it was read from this moment on.
    pub(crate) fn store(&self, catalog: Arc<Catalog>, read_from: Instant) {
        let calls = if catalog.is_known() { CALLS } else { 0 };
        let reads = if catalog.is_known() && catalog.reads_may_write() { READS } else { 0 };
        // First the snapshot, so that whoever is told to look finds it.
        self.latest.store(catalog);
        let changed = if self.recent.seen_from(read_from) { CHANGED } else { 0 };
        self.tells_of.store(calls | reads | changed, Ordering::Release);
    }

    /// A statement that defines views, routines or triggers goes upstream.
    pub(crate) fn begin_change(&self, defines: Defines, names: Option<HashSet<Box<str>>>) -> ChangeUnderWay {
        let under_way = self.recent.begin(defines, names);
        self.tells_of.fetch_or(CHANGED, Ordering::AcqRel);
        under_way
    }

    /// Changes that the catalogue does not show yet, if there are any and there is a catalogue.
    pub(crate) fn recent_changes(&self) -> Option<&RecentChanges> {
        let tells_of = self.tells_of.load(Ordering::Acquire);
        (tells_of & CALLS != 0 && tells_of & CHANGED != 0).then_some(&*self.recent)
    }

    pub(crate) fn load(&self) -> Guard<Arc<Catalog>> {
        self.latest.load()
    }

    /// Whether the classes could be others by the catalogue.
    #[inline]
    pub(crate) fn may_tell(&self, classes: Classes) -> bool {
        let tells_of = self.tells_of.load(Ordering::Acquire);
        let reads = tells_of & READS != 0 || tells_of & (CALLS | CHANGED) == CALLS | CHANGED;
        (tells_of & CALLS != 0 && classes.contains(Class::Call)) || (reads && classes.contains(Class::Read))
    }
}
