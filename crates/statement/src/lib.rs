//! What the text of a statement says, found from its bytes: which connections it would kill and which locks it takes
//! or gives back. Later also its class and fingerprint, on the same lexer.
//!
//! It never parses a whole grammar, never allocates on the common path, never decides anything, and never panics on
//! any input. Text is `&[u8]`, in whatever ASCII-compatible character set the client uses; under GBK-like sets, where
//! a backslash may be half a character, the caller should not ask. Start with [`Lexer`].
#![forbid(unsafe_code)]

mod class;
mod fingerprint;
mod lexer;
mod shape;
mod starts;

pub mod kill;
pub mod locks;

pub use class::{Class, UnknownClass};
pub use fingerprint::{Fingerprint, NotAFingerprint};
pub use lexer::{Extent, Kind, Lexer, Mode, Server, Token};
pub use shape::Shapes;
