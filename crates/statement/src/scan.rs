//! What a text asks for, in one pass over its bytes.

use crate::{CharsetChange, Class, Mode, Shapes};
use std::ops::Range;

/// Everything that a verdict needs to know of a text. All ranges are of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scan {
    /// The strictest of all statements of the text.
    pub class: Class,
    /// Nothing in the text is ever delayed: control, the SETs and SELECT @@… of a connect, SELECTs without a table whose
    /// functions are all on the written list.
    pub free: bool,
    pub shapes: Shapes,
    pub transaction: TransactionEffect,
    /// A transaction begins or ends in the text, and a data statement follows: `COMMIT; BEGIN; UPDATE …`.
    pub crosses_boundary: bool,
    /// Some statement commits what was open before it: DDL and the others of the manual's list.
    pub commits_implicitly: bool,
    /// How many, empty ones aside. It stops at 255.
    pub statements: u8,
    /// What stands before the first token: white space, `;` and comments. Empty where two readings of the text differ.
    pub leading: Range<usize>,
    /// What stands after the last token of the last statement: white space, `;` and comments.
    pub trailing: Range<usize>,
    /// The inside of the first plain comment between the first token and the last: `insert /* gh-ost … */ ignore into`.
    pub infix: Option<Range<usize>>,
    pub doubt: Doubt,
    /// PREPARE, EXECUTE or DEALLOCATE as the only statement of the text.
    pub named: Option<NamedStatement>,
    /// The name in USE x as the only statement, with its quotes if it has any.
    pub schema: Option<Range<usize>>,
    /// What the text sets the client's character set to.
    pub charset: Option<CharsetChange>,
    /// GET_LOCK, LOCK TABLES, FLUSH … WITH READ LOCK and the like: such a text is at least `write`.
    pub takes_lock: bool,
}

/// What the last transaction control of a text does, if all of the text succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum TransactionEffect {
    #[default]
    None,
    Begins,
    Ends,
}

/// What the scanner cannot settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Doubt {
    #[default]
    None,
    /// A word before `(` that is neither a keyword nor one of the server's own functions: ask the parser.
    Functions,
}

/// Text that names another text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NamedStatement {
    Prepare {
        name: Range<usize>,
        from: Source,
    },
    /// The class is `unparsed`; whoever remembers what was prepared under the name knows better.
    Execute {
        name: Range<usize>,
    },
    Deallocate {
        name: Range<usize>,
    },
}

/// Where the text that is prepared comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A string, with its quotes.
    Literal(Range<usize>),
    /// A variable or, in MariaDB, any expression.
    Variable,
}

/// One pass, no allocation, never panics.
pub fn scan(sql: &[u8], mode: Mode) -> Scan {
    let _ = mode;
    Scan {
        class: Class::Unparsed,
        free: false,
        shapes: Shapes::empty(),
        transaction: TransactionEffect::None,
        crosses_boundary: false,
        commits_implicitly: false,
        statements: 1,
        leading: 0..0,
        trailing: sql.len()..sql.len(),
        infix: None,
        doubt: Doubt::None,
        named: None,
        schema: None,
        charset: None,
        takes_lock: false,
    }
}
