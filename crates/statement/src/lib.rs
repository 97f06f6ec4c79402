//! What the text of a statement says, found from its bytes: what it asks for ([`scan`]), the name of all texts like it
//! ([`fingerprint`]), which connections it would kill and which locks it takes. What only a parser can tell, tables above all,
//! comes from [`ParseCache`].
//!
//! It knows no identity and no rule, never decides anything, and never panics on any input. Only the parser allocates. Text is
//! `&[u8]`, in whatever ASCII-compatible character set the client uses; where bytes can be read in more than one way,
//! the stricter reading stands. Start with [`Scan`]; under it is the [`Lexer`], which splits where the server does.
//!
//! What no text shows: that a view or a trigger calls a function or changes a table, and what a procedure does.
#![forbid(unsafe_code)]

mod charset;
mod class;
mod fingerprint;
mod lexer;
mod literal;
mod normal;
mod normalize;
mod packed;
mod parse;
mod scan;
mod shape;
mod starts;
mod words;

pub mod kill;
pub mod locks;
pub mod program;

pub use charset::{Charset, CharsetChange, mentions_file};
pub use class::{Class, Classes, UnknownClass};
pub use fingerprint::{Fingerprint, Fingerprints, NotAFingerprint, fingerprint};
pub use lexer::{Extent, Kind, Lexer, Mode, Server, Token};
pub use literal::unquote;
pub use normalize::normalize;
pub use parse::{Outcome, ParseCache, Parsed, Table};
pub use scan::{
    Defines, Doubts, ModeDependence, NamedStatement, Scan, Source, SqlModeChange, TransactionEffect, scan,
    scan_in_any_sql_mode,
};
pub use shape::Shapes;
