//! The rules whose limit counts for one unit or one session.

use smallvec::SmallVec;

use crate::compiled::CompiledRule;
use crate::rule::Origin;

/// Limits that are kept without an allocation: few clients match more.
const INLINE: usize = 4;

/// The matching rules that set a limit, each once, in the order of their [`RuleSet`](crate::RuleSet). All of them count:
/// a unit needs a place under each, so adding a limit never loosens another.
#[derive(Debug, PartialEq, Default)]
pub struct MatchingLimits<'a> {
    rules: SmallVec<[&'a CompiledRule; INLINE]>,
}

/// A copy of the bytes, where the derived one would go through the rules one by one.
impl Clone for MatchingLimits<'_> {
    fn clone(&self) -> Self {
        MatchingLimits { rules: SmallVec::from_slice(&self.rules) }
    }
}

impl<'a> MatchingLimits<'a> {
    pub fn iter(&self) -> impl Iterator<Item = &'a CompiledRule> + use<'a, '_> {
        self.rules.iter().copied()
    }

    pub fn len(&self) -> usize {
        self.rules.len()
    }

    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    pub fn contains(&self, rule: &CompiledRule) -> bool {
        let known = self.position(rule).ok().and_then(|at| self.rules.get(at));
        known.is_some_and(|known| *known == rule)
    }

    pub(crate) fn add(&mut self, rule: &'a CompiledRule) {
        if let Err(at) = self.position(rule) {
            self.rules.insert(at, rule);
        }
    }

    pub(crate) fn joined(mut self, other: MatchingLimits<'a>) -> MatchingLimits<'a> {
        if self.is_empty() {
            return other;
        }
        other.iter().for_each(|rule| self.add(rule));
        self
    }

    pub(crate) fn without_file(mut self) -> MatchingLimits<'a> {
        self.rules.retain(|rule| rule.origin != Origin::File);
        self
    }

    fn position(&self, rule: &CompiledRule) -> Result<usize, usize> {
        self.rules.binary_search_by_key(&rule.index(), |known| known.index())
    }
}
