//! What the statement under way changes in the session, if it succeeds.

use statement::{Charset, CharsetChange, Scan};

use super::named::{Change, Named};
use crate::unit::Facts;

#[derive(Debug, Default)]
pub(super) struct UnderWay {
    schema: Option<Box<[u8]>>,
    charset: Option<Charset>,
    named: Option<Change>,
    held: Option<Facts>,
}

impl UnderWay {
    #[inline]
    pub(super) fn clear(&mut self) {
        *self = UnderWay::default();
    }

    #[inline]
    pub(super) fn read(&mut self, sql: &[u8], scan: &Scan) {
        if let Some(range) = &scan.schema {
            self.use_schema(sql.get(range.clone()).unwrap_or_default());
        }
        self.charset = scan.charset.map(|change| match change {
            CharsetChange::Plain => Charset::Plain,
            // What nobody knows is read both ways.
            CharsetChange::Ambiguous | CharsetChange::Unknown => Charset::Ambiguous,
        });
    }

    pub(super) fn use_schema(&mut self, name: &[u8]) {
        let bare = match name {
            [b'`', inner @ .., b'`'] | [b'"', inner @ .., b'"'] => inner,
            _ => name,
        };
        self.schema = Some(bare.into());
    }

    pub(super) fn rename(&mut self, change: Change) {
        self.named = Some(change);
    }

    pub(super) fn hold(&mut self, facts: Facts) {
        self.held = Some(facts);
    }

    pub(super) fn take_held(&mut self) -> Option<Facts> {
        self.held.take()
    }

    #[inline]
    pub(super) fn apply(&mut self, schema: &mut Option<Box<[u8]>>, charset: &mut Charset, named: &mut Named) {
        if let Some(new) = self.schema.take() {
            *schema = Some(new);
        }
        if let Some(new) = self.charset.take() {
            *charset = new;
        }
        if let Some(change) = self.named.take() {
            named.apply(change);
        }
    }
}
