//! Which shapes a query or a change has: what stands in the outermost SELECT, in each arm of a UNION of them, or in UPDATE
//! and DELETE themselves. Subqueries do not count.

use crate::Shapes;

#[derive(Debug, Clone, Default)]
pub(super) struct Arms {
    state: State,
    shapes: Shapes,
    /// An arm of the same parentheses has a table and, so far, no LIMIT.
    unlimited: bool,
    /// An arm whose parentheses are closed had none, and was this deep: a LIMIT outside of them may follow.
    unlimited_inside: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default)]
enum State {
    /// Nothing to see here: neither a query nor a change.
    #[default]
    Nothing,
    /// An arm may begin, in any number of parentheses.
    Expected,
    /// Among the definitions of WITH at this depth: the next SELECT, UPDATE or DELETE of the same depth begins an arm.
    Definitions { depth: u32 },
    /// In an arm.
    Arm { depth: u32, list: bool, table: bool, filtered: bool },
}

impl Arms {
    /// From here on an arm may begin: at the start, and after UNION and its like.
    pub(super) fn expect(&mut self) {
        self.finish_arm();
        self.state = State::Expected;
    }

    /// No arm can begin any more: the text is an INSERT … VALUES, or none that has shapes.
    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, State::Nothing)
    }

    /// VALUES and SET of an INSERT: what follows are no arms.
    pub(super) fn expect_none(&mut self) {
        if matches!(self.state, State::Expected) {
            self.state = State::Nothing;
        }
    }

    pub(super) fn with(&mut self, depth: u32) {
        if matches!(self.state, State::Expected) {
            self.state = State::Definitions { depth };
        }
    }

    pub(super) fn select(&mut self, depth: u32) {
        if self.begins_here(depth) {
            self.state = State::Arm { depth, list: true, table: false, filtered: false };
        }
    }

    /// UPDATE and DELETE.
    pub(super) fn change(&mut self, depth: u32) {
        if self.begins_here(depth) {
            self.state = State::Arm { depth, list: false, table: true, filtered: false };
            self.unlimited = true;
        }
    }

    /// TABLE t, which is SELECT * FROM t.
    pub(super) fn table(&mut self, depth: u32) {
        if self.begins_here(depth) {
            self.state = State::Arm { depth, list: false, table: true, filtered: false };
            self.unlimited = true;
            self.shapes |= Shapes::SELECT_STAR;
        }
    }

    pub(super) fn set_operation(&mut self, depth: u32) {
        if let State::Arm { depth: arm, .. } = self.state
            && depth <= arm
        {
            self.expect();
        }
    }

    /// FROM something that is a table.
    pub(super) fn tables_begin(&mut self, at: u32) {
        if let State::Arm { depth, list, table, .. } = &mut self.state
            && *depth == at
        {
            *list = false;
            *table = true;
            self.unlimited = true;
        }
    }

    /// FROM DUAL.
    pub(super) fn list_ends(&mut self, at: u32) {
        if let State::Arm { depth, list, .. } = &mut self.state
            && *depth == at
        {
            *list = false;
        }
    }

    pub(super) fn filter(&mut self, at: u32) {
        if let State::Arm { depth, filtered, .. } = &mut self.state
            && *depth == at
        {
            *filtered = true;
        }
    }

    pub(super) fn limit(&mut self, at: u32) {
        if let State::Arm { depth, .. } = self.state
            && at <= depth
        {
            self.unlimited = false;
            self.unlimited_inside = self.unlimited_inside.filter(|&inside| inside <= at);
        }
    }

    /// LIMIT ROWS EXAMINED limits the work, not the rows.
    pub(super) fn no_limit(&mut self, at: u32) {
        if let State::Arm { depth, table, .. } = self.state
            && at <= depth
        {
            self.unlimited |= table;
        }
    }

    /// A `*` where an expression begins.
    pub(super) fn star(&mut self, at: u32) {
        if let State::Arm { depth, list: true, .. } = self.state
            && depth == at
        {
            self.shapes |= Shapes::SELECT_STAR;
        }
    }

    /// `) (` among definitions: the query itself, in parentheses.
    pub(super) fn reopen(&mut self, at: u32) {
        if matches!(self.state, State::Definitions { depth } if depth == at) {
            self.state = State::Expected;
        }
    }

    /// A `)`, after which the depth is `at`.
    pub(super) fn close(&mut self, at: u32) {
        if let State::Arm { depth, .. } = self.state
            && at < depth
            && std::mem::take(&mut self.unlimited)
        {
            self.unlimited_inside = Some(self.unlimited_inside.map_or(depth, |inside| inside.min(depth)));
        }
    }

    pub(super) fn end(mut self) -> Shapes {
        self.finish_arm();
        if self.unlimited || self.unlimited_inside.is_some() {
            self.shapes |= Shapes::NO_LIMIT;
        }
        self.shapes
    }

    fn begins_here(&self, at: u32) -> bool {
        match self.state {
            State::Expected => true,
            State::Definitions { depth } => depth == at,
            State::Nothing | State::Arm { .. } => false,
        }
    }

    fn finish_arm(&mut self) {
        if let State::Arm { table: true, filtered: false, .. } = self.state {
            self.shapes |= Shapes::NO_WHERE;
        }
        self.state = State::Nothing;
    }
}
