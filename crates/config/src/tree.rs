//! The YAML text as a tree, and the names of the places in it.
//!
//! Reading the text into a tree first, and the tree into the raw structs after, lets a bad value be stepped over, so that
//! all that is wrong is found in one go. The tree has no line numbers; `locate` finds them when something is wrong.

mod depth;
mod parse;
mod path;
mod reader;
mod trouble;

pub(crate) use depth::DEEPEST;
pub(crate) use parse::{Unparsed, is_too_deep};
pub(crate) use path::{KeyPath, Step};
pub(crate) use reader::{read, read_at};
pub(crate) use trouble::{At, Complaint, Trouble};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    Null,
    Bool(bool),
    Whole(u64),
    Negative(i64),
    Fraction(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
    /// `!name value`: nothing in our file has a use for it.
    Tagged,
}
