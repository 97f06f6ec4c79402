//! A differential fuzzer of our reading of SQL, with real servers as the judge.
//!
//! It generates packets ([`grammar`]), runs each directly on a server ([`worker`]), learns from the server's performance schema
//! what happened ([`evidence`]), and compares that with our reading ([`reading`], [`verdict`]). A reading that is milder than
//! what the server did is a failure; it is minimised and kept in the corpus.
//!
//! It is no part of the proxy. Start with [`campaign`].
#![forbid(unsafe_code)]

pub mod campaign;
pub mod case;
pub mod client;
pub mod corpus;
pub mod coverage;
pub mod evidence;
pub mod grammar;
pub mod known;
pub mod minimize;
pub mod proxy;
pub mod random;
pub mod reading;
pub mod verdict;
pub mod worker;
pub mod world;
