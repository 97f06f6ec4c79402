//! What the text of a statement says, found from its bytes: which connections it would kill and which locks it takes
//! or gives back. Later also its class and fingerprint, on the same lexer.
//!
//! It never parses a whole grammar, never allocates on the common path, never decides anything, and never panics on
//! any input. Text is `&[u8]`, in whatever ASCII-compatible character set the client uses; under GBK-like sets, where
//! a backslash may be half a character, the caller should not ask. Start with [`Lexer`].
#![forbid(unsafe_code)]

mod charset;
mod class;
mod fingerprint;
mod lexer;
mod literal;
mod parse;
mod scan;
mod shape;
mod starts;
mod words;

pub mod kill;
pub mod locks;

pub use charset::{Charset, CharsetChange};
pub use class::{Class, UnknownClass};
pub use fingerprint::{Fingerprint, NotAFingerprint, fingerprint, normalize};
pub use lexer::{Extent, Kind, Lexer, Mode, Server, Token};
pub use literal::unquote;
pub use parse::{Outcome, ParseCache, Parsed, Table, parse};
pub use scan::{Doubt, NamedStatement, Scan, Source, TransactionEffect, scan};
pub use shape::Shapes;
