//! What is remembered of a prepared text, so that its executions get the verdict that the text would get.

use std::sync::Arc;

use identity::Kept;
use statement::{Class, Doubt, Fingerprint, Mode, ParseCache, Parsed, Shapes};

use crate::unit::Facts;

/// Never the SQL itself.
#[derive(Debug)]
pub struct Note {
    pub(crate) facts: Facts,
    pub(crate) shapes: Shapes,
    /// `None`: of a text that nobody saw.
    pub(crate) known: Option<(Fingerprint, Arc<Parsed>)>,
    /// What its comments said of who asks.
    pub(crate) said: Option<Kept>,
}

impl Note {
    /// Of a text that nobody saw, as in `PREPARE s FROM @v`.
    pub fn unknown() -> Note {
        let facts = Facts { class: Class::Unparsed, free: false, ..Facts::FREE };
        Note { facts, shapes: Shapes::empty(), known: None, said: None }
    }

    pub(crate) fn of(sql: &[u8], mode: Mode, cache: &ParseCache) -> Note {
        let scan = statement::scan(sql, mode);
        let fingerprint = statement::fingerprint(sql, mode);
        let parsed = cache.get_or_parse(fingerprint, sql, mode);
        let class = if scan.doubt == Doubt::None { scan.class } else { scan.class.or_stricter(parsed.class) };
        let said = crate::question::comments(sql, &scan);
        Note {
            facts: Facts {
                class,
                free: scan.free,
                transaction: scan.transaction,
                crosses_boundary: scan.crosses_boundary,
                commits_implicitly: scan.commits_implicitly,
            },
            shapes: scan.shapes,
            known: Some((fingerprint, parsed)),
            said: said.map(|said| said.to_owned()),
        }
    }
}
