//! A `match` without a rule: whom a gate concerns.

use identity::Identity;
use statement::Fingerprint;

use crate::compiled::Conditions;
use crate::matching::Match;
use crate::query::{Certainty, Query};
use crate::tables::Touch;

/// In doubt it concerns: what is not known makes nobody free of a gate.
#[derive(Debug)]
pub struct Matcher {
    holds: Conditions,
    not: Conditions,
    matches_nothing: bool,
}

impl Matcher {
    /// `digests` gives the fingerprint that was learnt for a digest as MySQL prints it.
    pub fn new(matching: &Match, digests: &dyn Fn(&str) -> Option<Fingerprint>) -> Matcher {
        let holds = Conditions::new(&matching.conditions, digests);
        let not = Conditions::new(&matching.not, digests);
        Matcher { matches_nothing: holds.has_an_empty_one(), holds, not }
    }

    /// Whether it concerns this client and what it asks. A client that makes claims is asked for twice, as it claims and as
    /// it is known, and is concerned if it is once.
    ///
    /// Of `table`, one that the statement may touch is enough; to be left out by `not`, it must surely touch one.
    pub fn concerns(&self, identity: &Identity, query: &impl Query) -> bool {
        self.fits_identity(identity)
            && self.holds.asked.iter().all(|asked| asked.holds(query).is_possible())
            && self.not.asked.iter().all(|asked| asked.holds(query).negated().is_possible())
            && self.may_fit_tables(query)
    }

    /// Whether it concerns a login. What only a statement shows is not known then: it concerns if it may.
    pub fn concerns_login(&self, identity: &Identity, schema: Option<&[u8]>) -> bool {
        use crate::compiled::Asked;
        let fits = |asked: &Asked, unknown: bool| match asked {
            Asked::Schema(schemas) => schema.is_some_and(|schema| schemas.contain(schema)),
            Asked::Class(_) | Asked::Shape(_) | Asked::Fingerprint(_) => unknown,
        };
        self.fits_identity(identity)
            && self.holds.asked.iter().all(|asked| fits(asked, true))
            && !self.not.asked.iter().any(|asked| fits(asked, false))
    }

    /// Only `table` makes anybody look at the tables of a statement.
    pub fn needs_tables(&self) -> bool {
        self.holds.tables.is_some() || self.not.tables.is_some()
    }

    fn fits_identity(&self, identity: &Identity) -> bool {
        !self.matches_nothing
            && self.holds.facts.iter().all(|fact| fact.fit(identity).is_some())
            && !self.not.facts.iter().any(|fact| fact.fit(identity).is_some())
    }

    fn may_fit_tables(&self, query: &impl Query) -> bool {
        if !self.needs_tables() {
            return true;
        }
        let Some((tables, certainty)) = query.tables().known() else { return true };
        let schema = query.schema();
        let touched = self.holds.tables.as_ref().is_none_or(|set| set.touch_any(tables, schema) != Touch::No);
        let left_out = self
            .not
            .tables
            .as_ref()
            .is_some_and(|set| certainty == Certainty::Known && set.touch_any(tables, schema) == Touch::Yes);
        touched && !left_out
    }
}

#[cfg(test)]
mod tests;
