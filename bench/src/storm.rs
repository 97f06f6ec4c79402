//! The storm: dozens of writers through Tollgate, before a real primary and a replica that can apply less than the
//! primary can commit. How far does the replica fall behind, what do the writers get, and does the foreground notice?
//!
//! Read [`plan`] first (what a run is), then [`servers`] (how the replica is slowed) and [`run`]. Nothing of it asks
//! Tollgate how large the lag is: [`observer`] has a heartbeat of its own.

pub mod options;
pub mod plan;

pub mod calibration;
pub mod foreground;
pub mod load;
pub mod observer;
pub mod proxy;
pub mod run;
pub mod servers;

pub mod plot;
pub mod record;
pub mod report;
pub mod series;
pub mod summary;
pub mod svg;
