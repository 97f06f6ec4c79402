//! Whole sessions, by the paused clock.

mod changed_gates;
mod charges;
mod claims;
mod dice;
mod gates;
mod interleavings;
mod limits;
mod named;
mod permits;
mod same_verdict;
mod session;
mod transactions;
mod warn;
mod weights;
