//! The upstream's catalogue as every session sees it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arc_swap::{ArcSwap, Guard};
use catalog::Catalog;
use statement::{Class, Classes};

/// The latest snapshot. What every statement must know of it is one byte.
#[derive(Debug)]
pub(crate) struct SharedCatalog {
    latest: ArcSwap<Catalog>,
    /// The classes of which the catalogue may know better than a text.
    tells_of: AtomicU8,
}

const CALLS: u8 = 1;
const READS: u8 = 1 << 1;

impl SharedCatalog {
    pub(crate) fn unknown() -> SharedCatalog {
        SharedCatalog { latest: ArcSwap::from_pointee(Catalog::unknown()), tells_of: AtomicU8::new(0) }
    }

    pub(crate) fn store(&self, catalog: Arc<Catalog>) {
        let calls = if catalog.is_known() { CALLS } else { 0 };
        let reads = if catalog.is_known() && catalog.reads_may_write() { READS } else { 0 };
        // First the snapshot, so that whoever is told to look finds it.
        self.latest.store(catalog);
        self.tells_of.store(calls | reads, Ordering::Release);
    }

    pub(crate) fn load(&self) -> Guard<Arc<Catalog>> {
        self.latest.load()
    }

    /// Whether the classes could be others by the catalogue.
    #[inline]
    pub(crate) fn may_tell(&self, classes: Classes) -> bool {
        let tells_of = self.tells_of.load(Ordering::Acquire);
        (tells_of & CALLS != 0 && classes.contains(Class::Call))
            || (tells_of & READS != 0 && classes.contains(Class::Read))
    }
}
