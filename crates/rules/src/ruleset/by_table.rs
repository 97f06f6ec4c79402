//! Rules on tables. They are judged table by table, and the strictest outcome stands: so a rule that favours one table does
//! not favour a statement that also touches another, nor shield it from what that other table's rule says.

use std::ops::ControlFlow;

use statement::Table;

use super::{Case, RuleSet};
use crate::compiled::CompiledRule;
use crate::judgement::Judgement;
use crate::query::{Certainty, Query};
use crate::rule::{Mode, UnknownTables};
use crate::specificity::Claim;
use crate::standing::Standing;
use crate::tables::{fit_whole, may_fit_one};

impl RuleSet {
    /// Whether a rule on tables could change what `standing`, the rules without them, say.
    pub(super) fn tables_matter<Q: Query>(&self, case: &Case<'_, Q>, standing: &Standing<'_>) -> bool {
        let favour_matters = case.query.exemption_matters() || !standing.is_free();
        let class = case.query.class();
        if self.index.tables.can_restrict(class) || (favour_matters && self.index.tables.can_favour(class)) {
            return true;
        }
        let change = self.each_found_otherwise(case, |claim, mode| {
            let matters = (favour_matters || claim.rule.restricts()) && standing.would_change(&claim, mode);
            if matters { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        change.is_break()
    }

    /// `standing` with the rules on tables.
    pub(super) fn judge_tables<'s, Q: Query>(&'s self, case: &Case<'_, Q>, standing: &Standing<'s>) -> Judgement<'s> {
        let Some((tables, certainty)) = case.query.tables().known() else {
            return self.judge_any_table(case, standing, standing.judgement(), |_| true);
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
        let mut whole = *standing;
        self.each_found(case, tables, |claim, mode| {
            if fit_whole(claim.rule, tables, schema, certainty) {
                whole.add(claim, mode);
            }
        });
        let mut judgement = whole.judgement();
        for table in tables {
            let mut one = *standing;
            self.each_found(case, std::slice::from_ref(table), |claim, mode| {
                if may_fit_one(claim.rule, table, tables, schema, certainty) {
                    one.add(claim, mode);
                }
            });
            judgement = judgement.stricter(one.judgement());
        }
        judgement
    }

    /// `judgement` with each rule that counts tried by itself, since nothing is known: whatever one of them favours hides nothing of another's.
    fn judge_any_table<'s, Q: Query>(
        &'s self,
        case: &Case<'_, Q>,
        standing: &Standing<'s>,
        mut judgement: Judgement<'s>,
        counts: impl Fn(&CompiledRule) -> bool,
    ) -> Judgement<'s> {
        let mut alone = |claim: Claim<'s>, mode| {
            if !counts(claim.rule) {
                return;
            }
            let mut one = *standing;
            one.add(claim, mode);
            judgement = judgement.stricter(one.judgement());
        };
        let found: ControlFlow<()> = self.each_found_otherwise(case, |claim, mode| {
            alone(claim, mode);
            ControlFlow::Continue(())
        });
        debug_assert!(found.is_continue());
        let by_table = self.index.tables.rules.iter().filter_map(|rule| self.claim(case, *rule, None));
        by_table.for_each(|(claim, mode)| alone(claim, mode));
        judgement
    }

    /// The rules on tables that match but for them, and that these tables could find. One may come more than once.
    fn each_found<'s, Q: Query>(
        &'s self,
        case: &Case<'_, Q>,
        tables: &[Table],
        mut found: impl FnMut(Claim<'s>, Mode),
    ) {
        let _: ControlFlow<()> = self.each_found_otherwise(case, |claim, mode| {
            found(claim, mode);
            ControlFlow::Continue(())
        });
        for rule in tables.iter().flat_map(|table| self.index.tables.find(&table.name)) {
            if let Some((claim, mode)) = self.claim(case, *rule, None) {
                found(claim, mode);
            }
        }
    }

    /// The rules on tables that match but for them, and that another key finds.
    fn each_found_otherwise<'s, Q: Query>(
        &'s self,
        case: &Case<'_, Q>,
        mut found: impl FnMut(Claim<'s>, Mode) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let known = case.candidates.with_tables.iter().map(|candidate| (candidate.rule, Some(candidate.exactness)));
        let by_query = case.lists.into_iter().flatten().flat_map(|list| &list.with_tables);
        for (rule, exactness) in known.chain(by_query.map(|rule| (*rule, None))) {
            if let Some((claim, mode)) = self.claim(case, rule, exactness) {
                found(claim, mode)?;
            }
        }
        ControlFlow::Continue(())
    }
}
