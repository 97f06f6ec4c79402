//! The probes before real servers, as the user that `grants` makes.

mod harness;

mod catalogue;
mod custom;
mod failures;
mod group;
mod heartbeat;
mod mariadb;
mod primary;
mod replica;
