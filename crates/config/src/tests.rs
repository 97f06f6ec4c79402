//! Whole files in, plans or printed errors out.

mod accepted;
mod accepted_gates;
mod accepted_policy;
mod documented;
mod refused;
mod surroundings;
mod warned;

use std::path::Path;

use rules::Timestamp;

use crate::load::Surroundings;
use crate::problem::{ConfigError, Problem};
use crate::warnings::Exposure;
use crate::{Plan, load};

/// When the tests take place.
pub(crate) fn now() -> Timestamp {
    Timestamp::parse("2026-04-21T10:05:30Z").unwrap()
}

/// Loads a text as proxy.yaml of the working folder, in an environment with nothing but `PASSWORD=from-env`.
fn load_text(text: &str) -> Result<(Plan, Vec<Problem>), ConfigError> {
    let environment = |name: &str| (name == "PASSWORD").then(|| "from-env".into());
    let around = Surroundings {
        exposure: Exposure::Everyone,
        environment: &environment,
        now: now(),
        ..Surroundings::of_process()
    };
    load::load(text, Path::new("proxy.yaml"), &around)
}

#[track_caller]
pub(crate) fn plan(text: &str) -> Plan {
    match load_text(text) {
        Ok((plan, _)) => plan,
        Err(error) => panic!("refused:\n{error}"),
    }
}
