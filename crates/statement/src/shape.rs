//! Properties of a statement that operators dislike.

use bitflags::bitflags;

bitflags! {
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub struct Shapes: u8 {
        /// A SELECT with a table, UPDATE or DELETE without WHERE.
        const NO_WHERE = 1;
        /// A SELECT with a table, UPDATE or DELETE without LIMIT.
        const NO_LIMIT = 1 << 1;
        /// `*` or `t.*` in the list of the outermost SELECT.
        const SELECT_STAR = 1 << 2;
    }
}

impl Shapes {
    pub const NAMES: [(&'static str, Shapes); 3] =
        [("no_where", Shapes::NO_WHERE), ("no_limit", Shapes::NO_LIMIT), ("select_star", Shapes::SELECT_STAR)];

    /// One shape by the name that rules use.
    pub fn named(name: &str) -> Option<Shapes> {
        Shapes::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, shape)| shape)
    }
}
