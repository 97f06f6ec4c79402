//! Whole sessions, by the paused clock.

mod claims;
mod dice;
mod limits;
mod named;
mod same_verdict;
mod session;
mod transactions;
mod warn;
