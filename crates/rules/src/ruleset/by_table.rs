//! Rules on tables. They are judged table by table, and the strictest outcome stands: so a rule that favours one table does
//! not favour a statement that also touches another, nor shield it from what that other table's rule says.

use std::ops::ControlFlow;

use statement::Table;

use super::{Case, Matched, RuleSet};
use crate::compiled::CompiledRule;
use crate::judgement::Judgement;
use crate::possible::PossibleClaim;
use crate::query::{Certainty, Query};
use crate::rule::{Mode, UnknownTables};
use crate::standing::Standing;
use crate::tables::{fit_whole, may_fit_one};

impl RuleSet {
    /// Whether a rule on tables could change what `standing`, the rules without them, say.
    pub(super) fn tables_matter<Q: Query>(&self, case: &Case<'_, Q>, standing: &Standing<'_>) -> bool {
        let favour_matters = case.query.exemption_matters() || !standing.is_free();
        let classes = case.query.classes();
        if self.index.tables.can_restrict(classes) || (favour_matters && self.index.tables.can_favour(classes)) {
            return true;
        }
        let change = self.each_found_otherwise(case, |found, mode| {
            let (rule, changes) = match &found {
                Matched::Certain(claim) => (claim.rule, standing.would_change(claim, mode)),
                Matched::Possible(claim) => (claim.rule(), claim.would_change(standing, mode)),
            };
            let matters = (favour_matters || rule.restricts()) && changes;
            if matters { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        change.is_break()
    }

    /// `standing` with the rules on tables.
    pub(super) fn judge_tables<'s, Q: Query>(&'s self, case: &Case<'_, Q>, standing: &Standing<'s>) -> Judgement<'s> {
        let Some((tables, certainty)) = case.query.tables().known() else {
            return self.judge_any_table(case, standing, standing.clone().judgement(), |_| true);
        };
        let judgement = self.judge_each_table(case, standing, tables, certainty);
        if !case.query.tables_in_doubt() {
            return judgement;
        }
        let takes_doubt = |rule: &CompiledRule| rule.unknown_tables == UnknownTables::Match && rule.restricts();
        self.judge_any_table(case, standing, judgement, takes_doubt)
    }

    fn judge_each_table<'s, Q: Query>(
        &'s self,
        case: &Case<'_, Q>,
        standing: &Standing<'s>,
        tables: &[Table],
        certainty: Certainty,
    ) -> Judgement<'s> {
        let schema = case.query.schema();
        let in_doubt = case.query.tables_in_doubt();
        // A name that is no known table may be that of a view: it favours nothing, unless the operator says so.
        let counts = |rule: &CompiledRule| {
            !in_doubt
                || rule.restricts()
                || rule.holds().tables.is_none()
                || rule.unknown_tables == UnknownTables::Match
        };
        let mut whole = standing.clone();
        self.each_found(case, tables, |found, mode| match found {
            Matched::Certain(claim) if counts(claim.rule) && fit_whole(claim.rule, tables, schema, certainty) => {
                whole.add(claim, mode);
            }
            Matched::Certain(_) | Matched::Possible(_) => {}
        });
        let mut judgement = whole.judgement();
        for table in tables {
            let mut one = standing.clone();
            self.each_found(case, std::slice::from_ref(table), |found, mode| match found {
                Matched::Certain(claim) if may_fit_one(claim.rule, table, tables, schema, certainty) => {
                    one.add(claim, mode);
                }
                Matched::Possible(claim) if may_fit_one(claim.rule(), table, tables, schema, certainty) => {
                    judgement = claim.stricter(standing, std::mem::take(&mut judgement), mode);
                }
                Matched::Certain(_) | Matched::Possible(_) => {}
            });
            judgement = judgement.stricter(one.judgement());
        }
        judgement
    }

    /// `judgement`, and each rule that counts tried by itself, since nothing is known: whatever one of them favours hides nothing of
    /// another's.
    fn judge_any_table<'s, Q: Query>(
        &'s self,
        case: &Case<'_, Q>,
        standing: &Standing<'s>,
        mut judgement: Judgement<'s>,
        counts: impl Fn(&CompiledRule) -> bool,
    ) -> Judgement<'s> {
        let mut alone = |found: Matched<'s>, mode| {
            let claim = match found {
                Matched::Certain(claim) => PossibleClaim::new(claim),
                Matched::Possible(claim) => claim,
            };
            if !counts(claim.rule()) {
                return;
            }
            judgement = claim.stricter(standing, std::mem::take(&mut judgement), mode);
        };
        let found: ControlFlow<()> = self.each_found_otherwise(case, |found, mode| {
            alone(found, mode);
            ControlFlow::Continue(())
        });
        debug_assert!(found.is_continue());
        let by_table = self.index.tables.rules.iter().filter_map(|rule| self.matched(case, *rule, None));
        by_table.for_each(|(found, mode)| alone(found, mode));
        judgement
    }

    /// The rules on tables that match but for them, and that these tables could find. One may come more than once.
    fn each_found<'s, Q: Query>(
        &'s self,
        case: &Case<'_, Q>,
        tables: &[Table],
        mut found: impl FnMut(Matched<'s>, Mode),
    ) {
        let _: ControlFlow<()> = self.each_found_otherwise(case, |matched, mode| {
            found(matched, mode);
            ControlFlow::Continue(())
        });
        for rule in tables.iter().flat_map(|table| self.index.tables.find(&table.name)) {
            if let Some((matched, mode)) = self.matched(case, *rule, None) {
                found(matched, mode);
            }
        }
    }

    /// The rules on tables that match but for them, and that another key finds.
    fn each_found_otherwise<'s, Q: Query>(
        &'s self,
        case: &Case<'_, Q>,
        mut found: impl FnMut(Matched<'s>, Mode) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let known = case.candidates.with_tables.iter().map(|candidate| (candidate.rule, Some(candidate.exactness)));
        let by_query = case.lists.iter().flat_map(|list| &list.with_tables);
        for (rule, exactness) in known.chain(by_query.map(|rule| (*rule, None))) {
            if let Some((matched, mode)) = self.matched(case, rule, exactness) {
                found(matched, mode)?;
            }
        }
        ControlFlow::Continue(())
    }
}
