//! Rules that may match: in some reading of the statement, or one of several statements.
//!
//! Nothing outside this file gets at the claim, so that it cannot be added to the owners as if it were certain: it can make a
//! judgement stricter, and never favours, nor shields from what another rule says.

use crate::compiled::CompiledRule;
use crate::judgement::Judgement;
use crate::rule::Mode;
use crate::specificity::Claim;
use crate::standing::Standing;

#[derive(Debug, Clone, Copy)]
pub(crate) struct PossibleClaim<'a>(Claim<'a>);

impl<'a> PossibleClaim<'a> {
    pub(crate) fn new(claim: Claim<'a>) -> PossibleClaim<'a> {
        PossibleClaim(claim)
    }

    pub(crate) fn rule(&self) -> &'a CompiledRule {
        self.0.rule
    }

    /// Whether it would own something if it matched.
    pub(crate) fn would_change(&self, standing: &Standing<'_>, mode: Mode) -> bool {
        standing.would_change(&self.0, mode)
    }

    /// The stricter of a judgement and of what these owners would say if this rule matched too.
    pub(crate) fn stricter(self, standing: &Standing<'a>, judgement: Judgement<'a>, mode: Mode) -> Judgement<'a> {
        let mut one = standing.clone();
        one.add(self.0, mode);
        let mut one = one.judgement();
        if mode != Mode::Enforce {
            // A rule that only warns changes nothing that is in force.
            one.with_warned.get_or_insert_with(|| one.enforced.clone());
            one.enforced = judgement.enforced.clone();
        }
        judgement.stricter(one)
    }
}
